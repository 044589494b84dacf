"""Chats that may share an answer and chats that may not, kind by kind, both languages."""

from __future__ import annotations

from collections import Counter

import pytest

from semcache.decide.context import agree
from tests.decide.context.build import pairs, reading
from tests.decide.context.cases_same import SAME
from tests.decide.context.cases_trap import TRAPS

_LEAST_SERVED = 0.8


@pytest.mark.parametrize(("kind", "one", "other"), list(pairs(TRAPS)))
def test_a_trap_is_never_served_whatever_vectors_say(kind: str, one: str, other: str) -> None:
    for apart in (None, 0.0):
        assert agree(reading(one, apart=apart), reading(other, apart=apart))


def test_most_of_what_may_be_served_is() -> None:
    cases = list(pairs(SAME))
    served = Counter(
        kind for kind, one, other in cases if not agree(reading(one, apart=0.0), reading(other, apart=0.0))
    )
    assert served.total() >= _LEAST_SERVED * len(cases), served


@pytest.mark.parametrize(("kind", "one", "other"), [*pairs(SAME), *pairs(TRAPS)])
def test_agreement_is_symmetric_and_every_chat_agrees_with_itself(kind: str, one: str, other: str) -> None:
    left, right = reading(one), reading(other)
    assert set(agree(left, right)) == set(agree(right, left))
    assert agree(left, reading(one)) == ()


@pytest.mark.parametrize(("kind", "one", "other"), list(pairs(SAME)))
def test_another_system_prompt_never_agrees(kind: str, one: str, other: str) -> None:
    assert agree(reading(one, "You are brief."), reading(one, "You are a pirate."))
