"""Which differences a revision may mend."""

from __future__ import annotations

import pytest

from semcache.core import GateRules
from semcache.decide.features import features
from semcache.decide.gate import compare
from semcache.decide.reasons import Veto
from semcache.decide.revision.stance import REVISABLE, is_beyond


def beyond(asked: str, stored: str) -> bool:
    one, other = features(asked), features(stored)
    vetoes = compare(one, other, GateRules()).vetoes
    assert vetoes
    return is_beyond(one, other, vetoes)


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Is it safe to fly?", "Is it not safe to fly?"),
        ("How do I enable dark mode?", "How do I disable dark mode?"),
        ("Which has more sugar than honey?", "Which has less sugar than honey?"),
        ("Are all snakes deadly?", "Are some snakes deadly?"),
        ("How do I get from Oslo to Bergen?", "How do I get from Bergen to Oslo?"),
        ("How do I make bread?", "Wie mache ich ein Brot mit der Hand?"),
        ("Translate to French: good morning", "Translate to French: good night"),
        ("What is 7 + 5?", "What is 7 * 5?"),
        ("Who is the mayor of Oslo?", "Who was the mayor of Oslo?"),
        ("Explain gravity for kids", "Explain gravity as a poem"),
    ],
)
def test_what_turns_an_answer_round_is_never_revised(asked: str, stored: str) -> None:
    assert beyond(asked, stored)
    assert beyond(stored, asked)


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What is the capital of Norway?", "What is the capital of Japan?"),
        ("What is the dose for 20 kg?", "What is the dose for 30 kg?"),
        ("Are you open on Monday?", "Are you open on Sunday?"),
        ("How do I sort in Java?", "How do I sort in Python?"),
        ("List the planets as a table", "List the planets"),
        ("Is coffee good for my son?", "Is coffee good for my daughter?"),
    ],
)
def test_what_an_answer_names_may_be_revised(asked: str, stored: str) -> None:
    assert not beyond(asked, stored)


def test_what_the_docstring_calls_never_is_never() -> None:
    never = {"negation", "antonyms", "comparison", "quantifiers", "order", "question", "language"}
    assert {veto.value for veto in Veto} - {veto.value for veto in REVISABLE} == never | {
        "payload", "long", "fragment", "unread",
    }  # fmt: skip
    one = features("anything")
    assert all(is_beyond(one, one, (veto.value,)) is (veto not in REVISABLE) for veto in Veto)
