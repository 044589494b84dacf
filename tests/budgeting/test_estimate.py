"""What is set aside before a call: never less than what is likely, whatever the body looks like."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.budgeting.estimate import input_at_most, output_at_most, usage_at_most
from semcache.tokens import tokens_of


def chat(content: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": content}], **fields}


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({}, 1024),
        ({"max_tokens": 7}, 7),
        ({"max_completion_tokens": 9, "max_tokens": 7}, 9),
        ({"max_output_tokens": 5}, 5),
        ({"max_tokens": 7, "n": 3}, 21),
        ({"n": 3}, 3072),
        ({"max_tokens": 7, "best_of": 4, "n": 2}, 28),
        ({"max_tokens": None}, 1024),
        ({"max_tokens": 0}, 1024),
        ({"max_tokens": -5}, 1024),
        ({"max_tokens": "7"}, 1024),
        ({"max_tokens": True}, 1024),
        ({"max_tokens": 1.5, "n": float("nan")}, 1024),
        ({"max_tokens": 10**30, "n": 10**30}, 10_000_000),
    ],
)
def test_output_is_what_the_request_allows(fields: dict[str, Any], tokens: int) -> None:
    assert output_at_most(chat("x", **fields), 1024) == tokens


def test_tools_and_schemas_are_input() -> None:
    plain, tools = (
        chat("hello"),
        [{"type": "function", "function": {"name": "f", "description": "word " * 300}}],
    )
    assert input_at_most({**plain, "tools": tools}) > input_at_most(plain) + 300
    assert input_at_most({**plain, "response_format": {"x": "word " * 300}}) > input_at_most(plain) + 300


@given(st.text(max_size=400))
def test_input_is_never_below_the_usual_guess(text: str) -> None:
    assert input_at_most(chat(text)) >= tokens_of(text)


def test_scripts_without_spaces_count_by_the_character() -> None:
    assert input_at_most(chat("语" * 5000)) >= 5000


def test_pictures_are_not_read_as_text() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 900_000}}
    with_text = chat([{"type": "text", "text": "what is it?"}, picture, picture])
    assert 8000 < input_at_most(with_text) < 9000
    assert (
        input_at_most(
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "A" * 90_000}]}]}
        )
        < 5000
    )


def test_what_is_no_json_counts_by_its_bytes() -> None:
    assert input_at_most(chat("\ud800" * 3000)) >= 3000
    assert input_at_most({}, raw=b"x" * 3000) >= 1000


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=12,
    )
)
def test_any_json_has_a_size(value: Any) -> None:
    used = usage_at_most({"messages": value, "max_tokens": value, "n": value, "input": value}, 100)
    assert 1 <= used.prompt_tokens <= 10_000_000
    assert 1 <= used.completion_tokens <= 10_000_000


def test_embeddings_write_nothing() -> None:
    assert usage_at_most({"input": "text"}, 100, "/v1/embeddings").completion_tokens == 0
    assert usage_at_most({"input": "text"}, 100, "/v1/completions").completion_tokens == 100
