"""Bodies of every dialect, sound and hostile, as the text that a model reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.linting.prompt import Prompt, Tool, Turn, dumped, prompt_of

TOOL = {"type": "function", "function": {"name": "find", "parameters": {"b": 1, "a": 2}}}
FLAT = {"name": "find", "input_schema": {}, "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        (
            {
                "tools": [TOOL],
                "messages": [
                    {"role": "system", "content": "One."},
                    {"role": "developer", "content": [{"type": "text", "text": "Two."}]},
                    {"role": "user", "content": "Hi"},
                    {"role": "system", "content": "Later."},
                ],
            },
            Prompt(
                (Tool("find", dumped(TOOL)),),
                "One.\nTwo.",
                (Turn("user", "Hi", "messages[2]"), Turn("system", "Later.", "messages[3]")),
            ),
        ),
        (
            {
                "system": [{"type": "text", "text": "One.", "cache_control": {"type": "ephemeral"}}],
                "tools": [FLAT],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {}}]},
                    {
                        "role": "assistant",
                        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes"}],
                    },
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "content": [{"type": "text", "text": "7"}]}],
                    },
                ],
            },
            Prompt(
                (Tool("find", '{"name":"find","input_schema":{}}'),),
                "One.",
                (
                    Turn("user", "Hi", "messages[0]"),
                    Turn("assistant", "\nYes", "messages[1]"),
                    Turn("user", "7", "messages[2]"),
                ),
            ),
        ),
        (
            {
                "instructions": "One.",
                "input": [
                    {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
                    {"type": "reasoning", "summary": []},
                    {"type": "function_call", "name": "find", "arguments": "{}"},
                ],
            },
            Prompt(
                (),
                "One.",
                (
                    Turn("user", "Hi", "input[0]"),
                    Turn(
                        "function_call", '{"type":"function_call","name":"find","arguments":"{}"}', "input[2]"
                    ),
                ),
            ),
        ),
        ({"instructions": "One.", "input": "Hi"}, Prompt((), "One.", (Turn("user", "Hi", "input"),))),
        ({"prompt": "Once"}, Prompt((), "", (Turn("user", "Once", "prompt"),))),
        ({"system": "One.", "prompt": ["Once", 7]}, Prompt((), "One.", (Turn("user", "Once", "prompt"),))),
        ({}, Prompt()),
    ],
)
def test_every_dialect(body: dict[str, Any], prompt: Prompt) -> None:
    assert prompt_of(body) == prompt


def test_marks_of_caches_are_no_text_and_key_order_is() -> None:
    def text(part: dict[str, Any]) -> str:
        return prompt_of({"messages": [{"role": "user", "content": [part]}]}).turns[0].text

    call = {"type": "tool_use", "name": "f", "input": {"b": 1, "a": 2}}
    assert text(call) == text({**call, "cache_control": {"type": "ephemeral"}})
    assert text(call) != text({**call, "input": {"a": 2, "b": 1}})


def test_calls_and_pictures_are_part_of_a_message() -> None:
    calls = [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    assert '"c1"' in prompt_of({"messages": [message]}).turns[0].text
    pictures = [{"type": "image_url", "image_url": {"url": f"data:{n}" * 9000}} for n in (1, 2, 1)]
    texts = [prompt_of({"messages": [{"role": "user", "content": [one]}]}).turns[0].text for one in pictures]
    assert texts[0] == texts[2] != texts[1]
    assert len(texts[0]) < 40
    assert not any(map(str.isdigit, texts[0]))


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "name", "function", "tool_calls", "cache_control", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
bodies = st.dictionaries(
    st.sampled_from(["messages", "input", "prompt", "system", "instructions", "tools", "functions", "model"]),
    _json,
)


@given(bodies)
def test_nothing_is_too_odd_to_be_read(body: dict[str, Any]) -> None:
    prompt = prompt_of(body)
    assert all(isinstance(turn.text, str) and isinstance(turn.role, str) for turn in prompt.turns)
    assert prompt == prompt_of(body)


def test_depth_and_lone_surrogates() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [{"type": "tool_result", "content": deep}]
    assert prompt_of(
        {"messages": [{"role": "user", "content": deep}], "tools": [{"name": "\ud800", "x": deep}]}
    )
    assert "\\ud800" in prompt_of({"tools": [{"name": "\ud800"}]}).tools[0].text
