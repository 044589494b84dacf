"""Random chat answers and requests: everything that a stored answer may hold, and what clients ask."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

CLUSTERS = (
    "👨‍👩‍👧",
    "🇩🇪",
    "e\u0301",
    "雪",
    "नमस्ते",
    "😀",
    "👍🏽",
    "한",
    "\u200b",
    "x",
    " ",
    "\n",
    '"',
    "\\",
    "data: ",
)
"""Characters of several code points, pairs of surrogates in JSON's escapes, and what framings trip over."""
words = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.lists(st.sampled_from(CLUSTERS), max_size=30).map("".join),
    st.sampled_from(("The capital of France is Paris. ", "word " * 60)),
)
texts = words.map(lambda text: "x" + text)
"""Texts that are not empty."""
names = st.sampled_from(("get_weather", "f", "look-up_2"))
arguments = st.dictionaries(
    texts.map(lambda text: text[:8]),
    st.one_of(texts, st.integers(-9, 9), st.booleans(), st.none(), st.lists(texts, max_size=2)),
    max_size=3,
)


def call(number: int, name: str, given: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(given, ensure_ascii=False, separators=(",", ":"))}
    return {"id": f"call_{number}", "type": "function", "function": function}


calls = st.lists(st.tuples(names, arguments), min_size=1, max_size=3).map(
    lambda several: [call(number, *one) for number, one in enumerate(several)]
)


def token(text: str, probability: float, others: list[str]) -> dict[str, Any]:
    ranked = [{"token": other, "logprob": probability - 1, "bytes": list(other.encode())} for other in others]
    return {"token": text, "logprob": probability, "bytes": list(text.encode()), "top_logprobs": ranked}


tokens = st.lists(
    st.builds(token, texts, st.sampled_from((-0.5, -1.25, 0.0)), st.lists(texts, max_size=2, unique=True)),
    min_size=1,
    max_size=4,
)


@st.composite
def choices(draw: st.DrawFn, index: int, features: frozenset[str]) -> dict[str, Any]:
    """Draw a finished choice that has exactly these features: `tools`, `reasoning`, `logprobs`, `unknown`, `only-tools`."""
    message: dict[str, Any] = {"role": "assistant", "content": draw(texts)}
    choice: dict[str, Any] = {"index": index, "message": message, "logprobs": None, "finish_reason": "stop"}
    if "reasoning" in features:
        message["reasoning_content"] = draw(texts)
    if "tools" in features or "only-tools" in features:
        message["tool_calls"] = draw(calls)
        choice["finish_reason"] = "tool_calls"
    if "only-tools" in features:
        message["content"] = None
    if "logprobs" in features:
        found = draw(tokens)
        message["content"] = "".join(one["token"] for one in found)
        choice["logprobs"] = {"content": found, "refusal": None}
    if "unknown" in features:
        message["vendor_note"] = {"mark": draw(texts)}
    return choice


FEATURES = ("tools", "only-tools", "reasoning", "logprobs", "unknown", "choices")
"""What an answer may hold beside one text."""


@st.composite
def documents(draw: st.DrawFn, features: frozenset[str]) -> dict[str, Any]:
    """Draw a `chat.completion` as it is stored, with exactly these features."""
    count = draw(st.integers(2, 3)) if "choices" in features else 1
    used = {"prompt_tokens": draw(st.integers(0, 99)), "completion_tokens": draw(st.integers(1, 99))}
    return {
        "object": "chat.completion",
        "model": draw(st.sampled_from(("m-2026", "vendor/model:free"))),
        "choices": [draw(choices(number, features)) for number in range(count)],
        "usage": {**used, "total_tokens": sum(used.values())},
    }


feature_sets = st.frozensets(st.sampled_from(FEATURES), max_size=3)
any_document = feature_sets.flatmap(documents)

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a chat request."""
    turns: list[dict[str, Any]] = []
    if draw(st.booleans()):
        turns.append({"role": "system", "content": draw(texts)})
    for _ in range(draw(st.integers(0, 2))):
        turns.append({"role": "user", "content": draw(texts)})
        turns.append({"role": "assistant", "content": draw(texts)})
    with_tools = draw(st.booleans())
    if with_tools and draw(st.booleans()):
        turns.append({"role": "user", "content": draw(texts)})
        turns.append(
            {"role": "assistant", "content": None, "tool_calls": [call(7, "get_weather", {"city": "x"})]}
        )
        turns.append({"role": "tool", "tool_call_id": "call_7", "content": draw(texts)})
    turns.append({"role": "user", "content": draw(texts)})
    body: dict[str, Any] = {"model": "m-2026", "messages": turns, "max_tokens": draw(st.integers(1, 999))}
    optional = {
        "temperature": st.sampled_from((0, 0.2, 1)),
        "top_p": st.sampled_from((0.5, 1)),
        "stop": st.lists(texts, min_size=1, max_size=2),
        "stream": st.just(True),
    }
    for name, values in optional.items():
        if draw(st.booleans()):
            body[name] = draw(values)
    return {**body, "tools": [TOOL], "tool_choice": "auto"} if with_tools else body


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the plainest chat request: one question."""
    body: dict[str, Any] = {
        "model": "m-2026",
        "messages": [{"role": "user", "content": draw(texts)}],
        "max_tokens": draw(st.integers(1, 999)),
    }
    return {**body, "temperature": draw(st.sampled_from((0, 0.5)))} if draw(st.booleans()) else body
