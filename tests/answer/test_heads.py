"""Heads of requests: where they end, what tells them apart, and what is too short, too long or private."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.answer.heads import LONGEST, RENDERED, Head, Reach, heads_of
from semcache.core import TenantId
from semcache.engine.schema import ChatBody
from semcache.policy.prefix import RENDERED_INTO_THE_HEAD

ACME = TenantId("acme")
LONG = "You work for the house and answer questions about its products. " * 4
SYSTEM = {"role": "system", "content": LONG}
DOCUMENT = {"role": "user", "content": "Chapter one. " * 20}
NOTED = {"role": "assistant", "content": "Noted. " * 30}
QUESTION = {"role": "user", "content": "Who is it?"}

STEERING = {
    "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "seed", "stop",
    "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "response_format",
    "prediction", "modalities", "top_k", "min_p", "cache_salt", "prefix_cache",
}  # fmt: skip
"""What the engine reads of a body that cannot change the tokens of a prompt."""


def heads(messages: list[Any], shared: int = 99, **fields: Any) -> list[Head]:
    return list(heads_of(ACME, {"model": "m", "messages": messages, **fields}, Reach(shared)))


def cuts(messages: list[Any], shared: int = 99, **fields: Any) -> list[int]:
    return [len(head.messages) for head in heads(messages, shared, **fields)]


def test_every_field_that_the_engine_reads_is_known_to_shape_the_prompt_or_not() -> None:
    assert set(ChatBody.model_fields) - STEERING - set(RENDERED) == {"messages"}
    assert set(RENDERED_INTO_THE_HEAD) <= set(RENDERED)


@pytest.mark.parametrize(
    ("messages", "shared", "ends"),
    [
        ([SYSTEM, QUESTION], 99, [1]),
        ([SYSTEM, DOCUMENT, QUESTION], 99, [1, 2]),
        ([SYSTEM, DOCUMENT, NOTED, QUESTION], 99, [1, 2, 3]),
        ([SYSTEM, DOCUMENT, NOTED, QUESTION, NOTED, QUESTION], 99, [1, 2, 5]),
        ([DOCUMENT, NOTED, QUESTION], 99, [1, 2]),
        ([SYSTEM, SYSTEM, QUESTION], 99, [2]),
        ([QUESTION], 99, []),
        ([SYSTEM], 99, []),
        # The rest is one user's own.
        ([SYSTEM, DOCUMENT, NOTED, QUESTION], 1, [1]),
        ([SYSTEM, DOCUMENT, NOTED, QUESTION], 0, []),
        ([SYSTEM, DOCUMENT, QUESTION], 2, [1, 2]),
        # Too short to be worth it.
        ([{"role": "system", "content": "Be brief."}, QUESTION], 99, []),
    ],
)
def test_where_heads_end(messages: list[Any], shared: int, ends: list[int]) -> None:
    assert cuts(messages, shared) == ends


def test_no_head_is_longer_than_the_bound() -> None:
    huge = {"role": "user", "content": "x" * LONGEST}
    assert cuts([SYSTEM, huge, NOTED, QUESTION]) == [1]
    assert cuts([SYSTEM, *[QUESTION] * 600]) == []


def test_a_head_is_what_the_template_reads_and_nothing_that_only_steers() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    (head,) = heads([SYSTEM, QUESTION], tools=tools, temperature=0.7, seed=3, user="ann", max_tokens=5)
    assert json.loads(head.dumps()) == {"model": "m", "messages": [SYSTEM], "tools": tools}
    (same,) = heads([SYSTEM, {"role": "user", "content": "Other?"}], tools=tools, temperature=0.1)
    (other,) = heads([SYSTEM, QUESTION])
    assert head.key == same.key
    assert head.key != other.key


def test_what_one_caller_shares_with_nobody_is_told_apart_but_not_what_is_public() -> None:
    def made(owner: str) -> list[Head]:
        body = {"model": "m", "messages": [SYSTEM, DOCUMENT, QUESTION]}
        return list(heads_of(ACME, body, Reach(9, 1, owner)))

    (public, mine), (same, theirs) = made("f" * 64), made("e" * 64)
    assert public == same
    assert (public.owner, mine.owner, theirs.owner) == ("", "f" * 64, "e" * 64)
    assert mine.key != theirs.key


def test_the_order_of_keys_in_a_message_tells_nothing() -> None:
    turned = dict(reversed(SYSTEM.items()))
    assert heads([turned, QUESTION])[0].key == heads([SYSTEM, QUESTION])[0].key


@given(
    st.lists(st.sampled_from([SYSTEM, DOCUMENT, NOTED, QUESTION]), min_size=1, max_size=8), st.integers(0, 9)
)
def test_equal_keys_are_equal_beginnings(messages: list[Any], shared: int) -> None:
    for head in heads(messages, shared):
        assert 0 < len(head.messages) <= min(shared, len(messages) - 1)
        assert head.messages == messages[: len(head.messages)]
        for other in heads([*messages[: len(head.messages)], NOTED, QUESTION], 99):
            same = orjson.dumps(head.messages) == orjson.dumps(other.messages)
            assert (head.key == other.key) == same


def test_text_that_is_no_unicode_is_refused_by_name() -> None:
    with pytest.raises(TypeError):
        heads([{"role": "system", "content": "\ud800" * 200}, QUESTION])
