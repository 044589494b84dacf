"""Random requests in Ollama's own words, and every way to change them a little."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.dialects.answers import TOOL, texts

plain_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | texts,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(texts.map(lambda t: t[:5]), inner, max_size=2)
    ),
    max_leaves=5,
)
images = st.lists(st.sampled_from(("iVBORw0KGgo=", "/9j/4AAQ", "QUJD")), max_size=2)
calls = st.lists(
    st.fixed_dictionaries(
        {
            "function": st.fixed_dictionaries(
                {
                    "name": st.sampled_from(("f", "g")),
                    "arguments": st.dictionaries(texts, plain_json, max_size=2),
                },
                optional={"index": st.integers(0, 2)},
            )
        },
        optional={"id": st.sampled_from(("call_0", "call_1", "x"))},
    ),
    max_size=2,
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(("system", "user", "assistant", "tool"))},
    optional={
        "content": texts | st.just("") | plain_json,
        "images": images | plain_json,
        "thinking": texts | plain_json,
        "tool_calls": calls | plain_json,
        "tool_name": st.sampled_from(("f", "g")),
        "tool_call_id": st.sampled_from(("call_0", "call_1")),
        "x_new": plain_json,
    },
)
options = st.dictionaries(
    st.sampled_from(
        (
            "top_p", "seed", "stop", "num_predict", "top_k", "min_p", "num_ctx", "mirostat", "repeat_penalty",
            "presence_penalty", "frequency_penalty", "num_keep", "x_new",
        )
    ),
    st.integers(-2, 5) | st.floats(0, 1) | st.lists(texts, max_size=2) | plain_json,
    max_size=4,
)  # fmt: skip
common: dict[str, Any] = {
    "options": options
    | st.tuples(options, st.sampled_from((0, 0.7))).map(lambda p: {**p[0], "temperature": p[1]}),
    "format": st.sampled_from(("", "json", "xml", {"type": "object"})),
    "think": st.sampled_from((True, False, "low", "high", "none")),
    "logprobs": st.booleans(),
    "top_logprobs": st.integers(0, 3),
    "truncate": st.booleans(),
    "x_new": plain_json,
    "messages_": plain_json,
    "user": plain_json,
    "metadata": plain_json,
    "n": st.integers(0, 2),
    "tool_choice": st.sampled_from(("auto", "none")),
    "extra": plain_json,
}
chats = st.fixed_dictionaries(
    {"model": st.sampled_from(("llama3", "qwen3")), "messages": st.lists(messages, min_size=1, max_size=4)},
    optional={**common, "tools": st.lists(st.just(TOOL), max_size=1) | plain_json},
)
generates = st.fixed_dictionaries(
    {"model": st.sampled_from(("llama3", "qwen3")), "prompt": texts},
    optional={
        **common,
        "system": texts | st.just(""),
        "images": images,
        "suffix": texts,
        "template": texts,
        "raw": st.booleans(),
        "context": st.lists(st.integers(0, 9), max_size=3),
        "messages": plain_json,
    },
)


def said(value: Any) -> Any:
    """Leave away what says nothing, as Ollama's server reads it: absent fields, empty texts and lists."""
    match value:
        case dict():
            return {
                name: plain for name, item in value.items() if (plain := said(item)) not in (None, "", [], {})
            }
        case list():
            return [said(item) for item in value]
        case _:
            return value
