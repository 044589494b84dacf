"""Which differences a revision may mend."""

from __future__ import annotations

import pytest

from semcache.core import Effect, GateRules
from semcache.decide.reasons import Veto
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.stance import REVISABLE, unmendable, vetoes


def beyond(asked: str, stored: str) -> Flaw | None:
    assert vetoes(asked, stored, GateRules())
    return unmendable(asked, stored, GateRules())


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
        ("List the planets as a table", "List the planets"),
        ("Is coffee good for my son?", "Is coffee good for my daughter?"),
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
    ],
)
def test_what_an_answer_names_may_be_revised(asked: str, stored: str) -> None:
    assert not beyond(asked, stored)


def test_what_the_docstring_calls_never_is_never() -> None:
    never = {"negation", "antonyms", "comparison", "quantifiers", "order", "question", "language", "persons"}
    assert {veto.value for veto in Veto} - {veto.value for veto in REVISABLE} == never | {
        "payload", "long", "fragment", "unread", "format", "length",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "stored", "flaw"),
    [
        ("Translate to French: good morning", "Translate to French: good morning", Flaw.PAYLOAD),
        ("Is it not safe?", "Is it safe?", Flaw.OPPOSITE),
        ("Are all snakes deadly?", "Are some snakes deadly?", Flaw.GATE),
        ("What is 7 + 5?", "What is 7 * 5?", Flaw.STANCE),
        ("What is the outlook for gout?", "What are the symptoms of gout?", Flaw.ASPECT),
        ("Where is gout treated?", "Where is gout treated?", None),
    ],
)
def test_it_says_why(asked: str, stored: str, flaw: Flaw | None) -> None:
    assert unmendable(asked, stored, GateRules()) is flaw


def test_a_difference_that_the_policy_leaves_alone_speaks_against_nothing() -> None:
    assert unmendable("Is it not safe?", "Is it safe?", GateRules.all(Effect.OFF)) is None
