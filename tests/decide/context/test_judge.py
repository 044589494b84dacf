"""Whole chats before the shipped judge: told in other words, with talk by the way, with another detail."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from semcache.decide.context import ChatJudge, Judge, Nearness, agree, open_judge, open_texts
from semcache.decide.context.comparing import NAMES
from semcache.decide.context.dropping import DROPPING, dropping
from semcache.decide.context.kin import are_kin
from semcache.decide.verify.lexicon import Relation
from semcache.decide.verify.verifier import open_verifier
from semcache.errors import EncoderError
from tests.decide.context.build import pairs, reading
from tests.decide.context.cases_same import SAME
from tests.decide.context.cases_trap import TRAPS
from tests.decide.context.cases_triples import TRIPLES

NEARNESS = Nearness(0.85, 0.85)
_LEAST_SERVED, _MOST_WRONG = 0.4, 0.03


@pytest.fixture(scope="module")
def judge() -> ChatJudge:
    return open_judge(open_verifier())


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
GOOD_PAIRS = [(one, other) for _, one, other in pairs(SAME)] + [(one, same) for _, one, same, _ in triples()]


def serves(judge: Judge, one: str, other: str) -> bool:
    return not agree(reading(one, apart=0.2), reading(other, apart=0.2), NEARNESS, judge)


def test_hardly_a_trap_agrees(judge: Judge) -> None:
    """The judge has never seen these; vectors are made to look near, and nothing counts as small talk."""
    wrong = [(one, other) for _, one, other in TRAP_PAIRS if serves(judge, one, other)]
    assert len(wrong) <= _MOST_WRONG * len(TRAP_PAIRS), wrong


def test_many_chats_told_in_other_words_agree(judge: Judge) -> None:
    served = sum(serves(judge, one, other) for one, other in GOOD_PAIRS)
    assert served >= _LEAST_SERVED * len(GOOD_PAIRS), served / len(GOOD_PAIRS)


@pytest.mark.parametrize(("kind", "one", "same", "trap"), list(triples())[::3])
def test_the_judge_is_symmetric(judge: Judge, kind: str, one: str, same: str, trap: str) -> None:
    for other in (same, trap):
        assert serves(judge, one, other) is serves(judge, other, one)
        assert set(open_texts(reading(one), reading(other), judge)) == set(
            open_texts(reading(other), reading(one), judge)
        )


class Stub:
    """Finds everything to be one case with the given chance, and small talk likely where it is told so."""

    def __init__(self, chance: float, drop: float = 1.0) -> None:
        self.chance, self.drop = chance, drop
        self.rows: list[NDArray[np.float32]] = []

    def relation(self, one: str, other: str) -> Relation:
        found = {one, other}
        zip_ = float(found == {"zip", "zipper"})
        opposite = float(found == {"north", "south"})
        return Relation(zip_, 0.0, 0.0, 0.0, opposite, 0.9 * max(zip_, opposite), 0.0, 0.0)

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        return None

    def one_case(self, row: NDArray[np.float32]) -> float:
        self.rows.append(row)
        return self.chance

    def may_drop(self, row: NDArray[np.float32]) -> float:
        return self.drop

    def small_talk(self, encoder: str, vector: NDArray[np.float32]) -> float | None:
        return None


ONE = "The zipper on my tent broke. | Oh no. | How do I repair it?"
OTHER = "The zip on my tent broke. | Oh no. | How do I repair it?"


@pytest.mark.parametrize(
    ("chance", "nearness", "agrees"),
    [
        (0.9, NEARNESS, True),
        (0.1, NEARNESS, False),
        (float("nan"), NEARNESS, False),
        (0.9, Nearness(0.1, 0.9), False),
        (0.9, Nearness(float("nan"), 0.9), False),
        (0.9, Nearness(0.9, 0.1), False),
        (0.1, None, True),
    ],
)
def test_the_judge_has_the_last_word(chance: float, nearness: Nearness | None, agrees: bool) -> None:
    assert (agree(reading(ONE), reading(OTHER), nearness, Stub(chance)) == ()) is agrees
    assert agree(reading(ONE), reading(OTHER), nearness)


@pytest.mark.parametrize(
    "other",
    [
        "I lost my card. | Shall I block it? | No",
        "I lost my card. | Shall I block it? | Ok, the second one",
        "I lost my card. Sorry, not the card but the key. | Shall I block it? | Yes",
        "I lost my card. | Is it the black one? | No. | Shall I block it? | Yes",
    ],
)
def test_no_judge_is_asked_about_refusals_and_corrections(other: str) -> None:
    asked = Stub(1.0)
    assert agree(reading("I lost my card. | Shall I block it? | Yes"), reading(other), NEARNESS, asked)
    assert asked.rows == []


CASE = "The zipper on my tent broke. | Oh no. | How do I repair it?"
CHATTY = (
    "The zipper on my tent broke. | Oh no. | My goldfish winked at me. | Ha, enjoy! | How do I repair it?"
)


def dropped(kin: Stub, odds: float | None, chat: str = CHATTY) -> float:
    agree(reading(CASE), reading(chat), NEARNESS, kin, lambda _: odds)
    return float(kin.rows[-1][NAMES.index("dropped")])


def test_what_only_one_user_says_by_the_way_is_dropped() -> None:
    assert open_texts(reading(CASE), reading(CHATTY), Stub(1.0)) == ("My goldfish winked at me.",)
    assert dropped(Stub(1.0), 3.0) == 1.0
    assert dropped(Stub(1.0, drop=0.5), 3.0) == 0.0
    assert dropped(Stub(1.0), None) == 0.0


def test_facts_are_open_until_they_are_known_to_be_talk() -> None:
    plain = reading("I want to fly to Oslo. | Okay. | How long is the flight?")
    more = reading(
        "I want to fly to Oslo. | Okay. | My wheelchair weighs a lot. | I see. | How long is the flight?"
    )
    assert open_texts(plain, more, Stub(1.0)) == ("My wheelchair weighs a lot.",)
    assert open_texts(plain, plain, Stub(1.0)) == ()


def test_a_fact_beside_the_question_is_compared_though_all_before_is_equal() -> None:
    plain = reading("I get migraines. | I see. | What can I take for it?")
    more = reading("I get migraines. | I see. | I'm pregnant. What can I take for it?")
    reworded = reading("I get migraines. | I see. | Which pills can I take for it?")
    assert agree(plain, more, NEARNESS, Stub(0.0))
    assert agree(plain, reworded, NEARNESS, Stub(0.0)) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'm invited to a beach wedding. | How nice! | What should I wear?", "I'm invited to a job interview. | How nice! | What should I wear?"),
        ("My points expired yesterday. | Oh no. | Can I pay for a gift wrap with points?", "The scarf I got is beautiful! | Oh no. | Can I pay for a gift wrap with points?"),
    ],
)  # fmt: skip
def test_what_a_question_leans_on_or_names_is_no_talk(judge: ChatJudge, one: str, other: str) -> None:
    """However sure a line over vectors is that it sounds like small talk."""
    assert agree(reading(one), reading(other), NEARNESS, Stub(1.0), lambda _: 9.0) == ("context-detail",)
    assert agree(reading(one), reading(other), NEARNESS, judge, lambda _: 9.0)


def test_rows_are_finite_and_named() -> None:
    kin = Stub(1.0)
    agree(reading(CASE), reading(CHATTY), NEARNESS, kin, lambda _: 3.0)
    assert kin.rows[0].shape == (len(NAMES),)
    assert np.isfinite(kin.rows[0]).all()
    assert dropping("nice day", 1.0, frozenset(), social=True).shape == (len(DROPPING),)


def test_opposites_are_no_kin_however_near() -> None:
    assert are_kin("zip", "zipper", Stub(1.0))
    assert not are_kin("north", "south", Stub(1.0))


def test_too_long_chats_are_not_judged() -> None:
    crowd = " | ".join(f"My tap{i} leaks. My lid{i} is loose. | I saw tap{i} here." for i in range(20))
    one, kin = reading(f"{crowd} | What is it?"), Stub(1.0)
    assert one.kind == "bound"
    assert open_texts(one, reading(CASE), kin) == ()
    assert agree(one, reading(CASE), NEARNESS, kin) == ("context-unread",)
    assert kin.rows == []


WORDS = [
    "engine",
    "filter",
    "pump",
    "valve",
    "hose",
    "clamp",
    "bracket",
    "sensor",
    "cable",
    "relay",
    "fuse",
    "switch",
    "panel",
    "hinge",
    "gasket",
    "rotor",
]


def crowd(turns: int, other: int) -> str:
    """A long chat of many things; `other` exchanges one word in each turn."""
    said = []
    for i in range(turns):
        words = [WORDS[(i * 5 + k * 3) % len(WORDS)] for k in range(7)]
        words[i % 7] = WORDS[(i + other) % len(WORDS)]
        said.append(f"The {' '.join(words)} is loose. | I see the {words[0]} near the {words[3]}.")
    return f"{' | '.join(said)} | How do I fix it?"


@pytest.mark.parametrize("turns", [10, 20, 30])
def test_comparing_long_chats_takes_milliseconds(judge: Judge, turns: int) -> None:
    one, other = reading(crowd(turns, 1)), reading(crowd(turns, 2))
    for warm in (False, True):
        start = time.process_time()
        agree(one, other, None, judge)
        open_texts(one, other, judge)
        assert agree(one, other, NEARNESS, judge)
        assert time.process_time() - start < (0.3 if warm else 1.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My tap " + "leaks drips " * 250, "My tap " + "drips leaks " * 250),
        ("My tap | " + "leaks drips " * 250, "My tap | " + "drips leaks " * 250),
    ],
)
def test_long_clauses_are_not_judged(one: str, other: str) -> None:
    asked = Stub(1.0)
    ends = (" | How do I fix it?", " | I see. | How do I fix it?")
    left, right = (reading(chat + ends["|" not in chat]) for chat in (one, other))
    assert agree(left, right, NEARNESS, asked)
    assert asked.rows == []


def test_small_talk_is_known_of_known_encoders_only(judge: ChatJudge) -> None:
    assert set(judge.talk) == {"all-MiniLM-L6-v2", "multilingual-e5-small"}
    vector = np.zeros(384, np.float32)
    assert judge.small_talk("all-MiniLM-L6-v2", vector) is not None
    assert judge.small_talk("all-MiniLM-L6-v2", vector[:-1]) is None
    assert judge.small_talk("another", vector) is None


def test_what_is_not_a_number_is_no_case(judge: ChatJudge) -> None:
    row = np.zeros(len(NAMES), np.float32)
    row[3] = np.nan
    assert judge.one_case(row) == 0.0
    assert judge.may_drop(np.full(len(DROPPING), np.nan, np.float32)) == 0.0


@pytest.mark.parametrize("broken", ["missing", "cut", "names", "line"])
def test_broken_weights_are_an_error_with_advice(tmp_path: Path, broken: str) -> None:
    with as_file(files("semcache.decide.context") / "weights") as shipped:
        shutil.copy(shipped / "chats.npz", tmp_path / "chats.npz")
    file = tmp_path / "chats.npz"
    if broken == "missing":
        file.unlink()
    elif broken == "cut":
        file.write_bytes(file.read_bytes()[:1000])
    else:
        with np.load(file) as archive:
            arrays = {name: archive[name] for name in archive.files}
        arrays["names" if broken == "names" else "drops"] = np.zeros(3, np.uint8)
        np.savez(file, **arrays)
    with pytest.raises(EncoderError, match="Install semcache again"):
        open_judge(open_verifier(), tmp_path)
