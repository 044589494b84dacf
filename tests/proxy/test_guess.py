"""Tokens guessed where an upstream did not say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Completion, Usage
from semcache.dialects.chat.request import parse_chat
from semcache.dialects.embeddings.wire import EMBEDDINGS
from semcache.dialects.request import request_of
from semcache.proxy.guess import avoided, guessed, input_tokens, output_limit
from tests.store.servers import entry

REQUEST = parse_chat(
    {"model": "m", "messages": [{"role": "user", "content": "x" * 4000}]}, "/v1/chat/completions"
)


def test_a_stream_is_about_a_token_an_event() -> None:
    used = guessed(REQUEST, events=7, body=0, seconds=100.0)
    assert used.completion_tokens == 7
    assert 1000 <= used.prompt_tokens <= 1030


def test_a_whole_answer_counts_by_its_bytes() -> None:
    assert guessed(REQUEST, events=0, body=400, seconds=1.0).completion_tokens == 100


def test_an_answer_that_was_read_counts_by_its_words_and_not_by_what_is_around_them() -> None:
    assert guessed(REQUEST, events=0, body=400, seconds=1.0, said="x" * 40).completion_tokens == 10
    assert guessed(REQUEST, events=3, body=400, seconds=1.0, said="x" * 40).completion_tokens == 10
    assert guessed(REQUEST, events=12, body=0, seconds=1.0, said="x" * 40).completion_tokens == 12
    assert guessed(REQUEST, events=0, body=400, seconds=1.0, said="").completion_tokens == 100


def test_vectors_are_no_tokens() -> None:
    asked = request_of(EMBEDDINGS, {"model": "m", "input": "x" * 4000}, "/v1/embeddings")
    used = guessed(asked, events=0, body=40_000, seconds=1.0)
    assert used.completion_tokens == 0
    assert 1000 <= used.prompt_tokens <= 1040


@pytest.mark.parametrize(
    ("limits", "seconds", "tokens"),
    [({}, 2.0, 100), ({"max_tokens": 10}, 2.0, 10), ({"max_tokens": 10, "n": 3}, 9.0, 30), ({}, 1e6, 4096)],
)
def test_an_answer_nobody_saw_counts_by_time_within_its_limit(
    limits: dict[str, int], seconds: float, tokens: int
) -> None:
    request = replace(REQUEST, body={**REQUEST.body, **limits})
    assert guessed(request, events=0, body=0, seconds=seconds).completion_tokens == tokens


@pytest.mark.parametrize("value", [None, -1, 0, True, 1.5, "9", 10**12, float("nan"), [1]])
def test_a_limit_that_is_none_is_not_taken_for_one(value: object) -> None:
    assert output_limit({"max_tokens": value}) is None


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(st.characters()), st.lists, max_leaves=5)
)
def test_whatever_was_sent_has_some_tokens(content: object) -> None:
    assert input_tokens({"messages": [{"content": content}]}) >= 1


def test_what_a_hit_saved_is_what_the_stored_answer_used() -> None:
    assert avoided(entry(), REQUEST) == Usage(3, 5)
    assert avoided(entry(completion=Completion(b"{}", None)), REQUEST) is None


def test_a_revised_answer_saved_more_than_its_edit_used() -> None:
    """A long answer that a few tokens of an edit were enough for would have been written whole."""
    choice = {"message": {"role": "assistant", "content": "word " * 400}}
    whole = Completion(json.dumps({"choices": [choice]}).encode(), Usage(900, 12))
    saved = avoided(entry(completion=whole, origin="draft:e0"), REQUEST)
    assert saved is not None
    assert 450 <= saved.completion_tokens <= 550
    assert 1000 <= saved.prompt_tokens <= 1030
