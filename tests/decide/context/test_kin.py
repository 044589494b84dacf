"""Chats told in other words, with the shipped dictionary and verifier; and what no dictionary may settle."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files

import pytest

from semcache.decide.context import Kin, Nearness, Wording, agree
from semcache.decide.context.kin import are_kin, plain_words, without_counterpart
from semcache.decide.verify.lexicon import Relation, read_lexicon
from semcache.decide.verify.traits import Lexica
from semcache.decide.verify.verifier import open_verifier
from tests.decide.context.build import pairs, reading
from tests.decide.context.cases_same import SAME
from tests.decide.context.cases_trap import TRAPS
from tests.decide.context.cases_triples import TRIPLES

NEARNESS = Nearness(0.8, 0.8)
_LEAST_SERVED = 0.6


@pytest.fixture(scope="module")
def kin() -> Kin:
    with as_file(files("semcache.decide.verify") / "weights") as folder:
        lexica = Lexica(read_lexicon(folder / "lexicon_en.npz"), read_lexicon(folder / "lexicon_zh.npz"))
    return Wording(lexica, open_verifier())


def triples() -> Iterator[tuple[str, str, str, str]]:
    for name, table in TRIPLES.items():
        for block in table.strip().split("\n\n"):
            one, same, trap = block.split("\n")
            yield name, one, same, trap


TRAP_PAIRS = [
    *pairs(TRAPS),
    *((name, one, trap) for name, one, _, trap in triples()),
    *((name, same, trap) for name, _, same, trap in triples()),
]


@pytest.mark.parametrize(("kind", "one", "other"), TRAP_PAIRS)
def test_no_trap_agrees_with_a_dictionary_either(kin: Kin, kind: str, one: str, other: str) -> None:
    for apart in (None, 0.2):
        assert agree(reading(one, apart=apart), reading(other, apart=apart), NEARNESS, kin)


def test_most_chats_told_in_other_words_agree(kin: Kin) -> None:
    cases = [(one, other) for _, one, other in pairs(SAME)] + [(one, same) for _, one, same, _ in triples()]
    served = sum(
        not agree(reading(one, apart=0.0), reading(other, apart=0.0), NEARNESS, kin) for one, other in cases
    )
    assert served >= _LEAST_SERVED * len(cases)


@pytest.mark.parametrize(("kind", "one", "same", "trap"), list(triples()))
def test_agreement_with_a_dictionary_is_symmetric(
    kin: Kin, kind: str, one: str, same: str, trap: str
) -> None:
    for other in (same, trap):
        left, right = reading(one), reading(other)
        assert bool(agree(left, right, NEARNESS, kin)) == bool(agree(right, left, NEARNESS, kin))


class _Stub:
    """Knows that a zip is a zipper and north is not south, and thinks of everything the same."""

    def __init__(self, score: float | None) -> None:
        self._score = score

    def relation(self, one: str, other: str) -> Relation:
        found = {one, other}
        return Relation(
            float(found == {"zip", "zipper"}),
            0.0,
            0.0,
            0.0,
            float(found == {"north", "south"}),
            0.9,
            0.0,
            0.0,
        )

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        return self._score


ONE = "The zipper on my tent broke. | Oh no. | How do I repair it?"
OTHER = "The zip on my tent broke. | Oh no. | How do I repair it?"


@pytest.mark.parametrize(
    ("score", "nearness", "agrees"),
    [
        (0.9, NEARNESS, True),
        (0.1, NEARNESS, False),
        (None, NEARNESS, False),
        (float("nan"), NEARNESS, False),
        (0.9, Nearness(0.1, 0.9), False),
        (0.9, Nearness(float("nan"), 0.9), False),
        (0.9, Nearness(0.9, 0.1), False),
        (0.1, None, True),
    ],
)
def test_the_judge_has_the_last_word(score: float | None, nearness: Nearness | None, agrees: bool) -> None:
    assert (agree(reading(ONE), reading(OTHER), nearness, _Stub(score)) == ()) is agrees
    assert agree(reading(ONE), reading(OTHER), nearness)


def test_opposites_are_no_kin_however_near() -> None:
    assert are_kin("zip", "zipper", _Stub(1.0))
    assert not are_kin("north", "south", _Stub(1.0))


def test_a_word_that_both_sides_have_stands_for_no_other() -> None:
    known = frozenset(("tent",))
    others = plain_words(("My tent has a zip.",), known)
    assert others == ("zip",)
    assert without_counterpart("The zipper of the tent.", known, others, _Stub(1.0)) == frozenset()
