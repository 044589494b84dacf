"""Random requests of the responses API, and what of them is the same request in another spelling."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from semcache.embed.fingerprint import IRRELEVANT_FIELDS
from tests.dialects.answers import texts

SAME = IRRELEVANT_FIELDS - {"messages", "model"}
"""Top-level fields that cannot change an answer."""
ids = st.sampled_from(("a1", "b2", "c3"))
cache_marks = st.sampled_from(({}, {"prompt_cache_breakpoint": {"mode": "explicit"}}))


def objects(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def part(kind: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return objects({"type": st.just(kind), **fields}, {})


said_in = st.one_of(
    part("input_text", text=texts),
    objects(
        {"type": st.just("input_image"), "image_url": texts},
        {"detail": st.sampled_from(("auto", "low", "high"))},
    ),
    part("input_file", filename=texts, file_data=texts),
    part("input_audio", input_audio=st.just({"data": "AAAA", "format": "wav"})),
)
token = st.just({"token": "x", "logprob": -0.5, "bytes": [120], "top_logprobs": []})
said_out = st.one_of(
    objects(
        {"type": st.just("output_text"), "text": texts},
        {"annotations": st.just([]), "logprobs": st.lists(token, max_size=1)},
    ),
    part("refusal", refusal=texts),
)
status = st.sampled_from(("completed", "incomplete"))
told = objects(
    {
        "role": st.sampled_from(("user", "system", "developer")),
        "content": texts | st.lists(said_in, min_size=1, max_size=3),
    },
    {"type": st.just("message"), "status": status},
)
answered = objects(
    {"role": st.just("assistant"), "content": texts | st.lists(said_out, min_size=1, max_size=2)},
    {
        "type": st.just("message"),
        "id": ids.map("msg_".__add__),
        "status": status,
        "phase": st.sampled_from(("commentary", "final_answer")),
    },
)
called = objects(
    {
        "type": st.just("function_call"),
        "call_id": ids,
        "name": texts,
        "arguments": st.just('{"a": 1}') | texts,
    },
    {"id": ids.map("fc_".__add__), "status": status, "namespace": texts},
)
custom = objects(
    {"type": st.just("custom_tool_call"), "call_id": ids, "name": texts, "input": texts}, {"id": ids}
)
gave = objects(
    {
        "type": st.sampled_from(("function_call_output", "custom_tool_call_output")),
        "call_id": ids,
        "output": texts | st.lists(said_in, min_size=1, max_size=2),
    },
    {"id": ids, "status": status},
)
thought = st.one_of(
    objects(
        {
            "type": st.just("reasoning"),
            "id": ids,
            "summary": st.lists(part("summary_text", text=texts), max_size=2),
        },
        {"encrypted_content": texts, "status": status},
    ),
    objects(
        {
            "type": st.just("reasoning"),
            "id": ids,
            "summary": st.just([]),
            "content": st.lists(part("reasoning_text", text=texts), min_size=1, max_size=2),
        },
        {},
    ),
)
other = st.one_of(
    part("item_reference", id=ids),
    part("web_search_call", id=ids, status=status),
    objects({"type": st.just("x_vendor"), "said": texts}, {}),
)
items = st.lists(st.one_of(told, answered, called, custom, gave, thought, other), min_size=1, max_size=5)
schema = st.just({"type": "object", "properties": {"city": {"type": "string"}}})
tools = st.lists(
    st.one_of(
        objects(
            {"type": st.just("function"), "name": texts},
            {
                "description": texts,
                "parameters": schema,
                "strict": st.booleans(),
                "defer_loading": st.booleans(),
            },
        ),
        objects(
            {"type": st.just("custom"), "name": texts},
            {
                "description": texts,
                "format": st.sampled_from(
                    ({"type": "text"}, {"type": "grammar", "syntax": "lark", "definition": "start: x"})
                ),
            },
        ),
        objects({"type": st.sampled_from(("web_search", "mcp", "file_search"))}, {"server_label": texts}),
    ),
    min_size=1,
    max_size=3,
)
choices = st.one_of(
    st.sampled_from(("none", "auto", "required")),
    st.fixed_dictionaries({"type": st.sampled_from(("function", "custom")), "name": texts}),
    st.just({"type": "web_search"}),
    st.just({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}),
)
forms = st.one_of(
    st.sampled_from(({"type": "text"}, {"type": "json_object"})),
    objects(
        {"type": st.just("json_schema"), "name": texts, "schema": schema},
        {"strict": st.booleans(), "description": texts},
    ),
)
bodies = objects(
    {"model": st.just("m-2026"), "input": texts | items},
    {
        "instructions": texts,
        "tools": tools,
        "tool_choice": choices,
        "parallel_tool_calls": st.booleans(),
        "text": objects({}, {"format": forms, "verbosity": st.sampled_from(("low", "high"))}),
        "reasoning": objects(
            {},
            {"effort": st.sampled_from(("low", "high")), "summary": st.just("auto"), "mode": st.just("pro")},
        ),
        "include": st.lists(
            st.sampled_from(("message.output_text.logprobs", "reasoning.encrypted_content", "x")), max_size=2
        ),
        "max_output_tokens": st.integers(1, 99),
        "temperature": st.sampled_from((0, 0.5, 1)),
        "top_p": st.sampled_from((0.1, 1)),
        "top_logprobs": st.integers(0, 5),
        "truncation": st.sampled_from(("auto", "disabled")),
        "store": st.booleans(),
        "metadata": st.just({"a": "b"}),
        "user": texts,
        "background": st.booleans(),
        "previous_response_id": ids,
        "conversation": ids | st.just({"id": "conv_1"}),
        "prompt": st.just({"id": "pmpt_1", "version": "2"}),
        "max_tool_calls": st.integers(1, 9),
        "service_tier": st.just("flex"),
        "moderation": st.just({"model": "omni"}),
        "context_management": st.just([{"type": "compaction"}]),
        "stream": st.booleans(),
    },
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the place of everything inside a JSON value."""
    found = [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found += places(item, (*path, key))
    return found


@st.composite
def changed(draw: st.DrawFn, body: dict[str, Any]) -> dict[str, Any]:
    """Draw the same request with one thing different somewhere in it."""
    after = copy.deepcopy(body)
    path = draw(st.sampled_from(places(after)[1:]))
    holder = after
    for key in path[:-1]:
        holder = holder[key]
    last = path[-1]
    value = holder[last]
    ways = ["drop", "other"]
    ways += ["field"] if isinstance(value, dict) else []
    ways += ["again", "turn"] if isinstance(value, list) and value else []
    way = draw(st.sampled_from(ways))
    if way == "drop":
        del holder[last]
    elif way == "field":
        value[draw(st.sampled_from(NAMES))] = draw(st.sampled_from((1, "x", True, [], {"a": 1})))
    elif way == "again":
        value.append(copy.deepcopy(value[0]))
    elif way == "turn":
        value.reverse()
    else:
        holder[last] = draw(st.sampled_from(OTHERS))
    return after


NAMES = ("x_vendor", "id", "status", "name", "type", "text", "role", "content", "tool_calls", "function", "responses_item",
         "responses_fields", "part", "messages", "n", "stop", "response_format", "max_completion_tokens", "unknown",
         "instructions", "cache_control", "strict", "phase", "encrypted_content", "reasoning_content", "tool_call_id")  # fmt: skip
OTHERS = (0, 1, 1.5, "auto", "other", "text", "input_text", "output_text", "image_url", "refusal", "function_call",
          "user", "assistant", "completed", "responses_part", "responses_tool", True, False, [], {}, ["x"],
          {"type": "text", "text": "x"}, {"type": "responses_part", "part": 1},
          [{"type": "function", "function": {"name": "f"}}], [{"role": "assistant", "content": "x"}])  # fmt: skip
