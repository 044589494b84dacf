"""The written scenes: well-formed chats, labels that mean something, and nothing of what measures."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.verifier.chats.scenes import Pair, all_pairs, lines, scenes  # noqa: E402

SHARED = ROOT.parent / "shared" / "data"
MEASURED = ("fow_conversations_en.jsonl", "written_chats.jsonl")
_LONG = 30


@lru_cache(maxsize=1)
def made() -> tuple[Pair, ...]:
    return tuple(all_pairs())


def test_there_are_many_of_each_kind() -> None:
    counts = Counter((pair.category, pair.same) for pair in made())
    assert counts.total() > 2_000
    assert min(counts.values()) >= 30
    assert made() == tuple(all_pairs())


def test_chats_alternate_and_end_with_the_user() -> None:
    for pair in made():
        for chat in (pair.one, pair.other):
            assert [role for role, _ in chat] == [("user", "assistant")[i % 2] for i in range(len(chat))]
            assert chat[-1][0] == "user"
            assert all(text.strip() and "[" not in text and "|" not in text for _, text in chat)


def test_traps_differ_from_what_they_are_traps_for() -> None:
    assert all(pair.one != pair.other for pair in made() if not pair.same)


@pytest.mark.parametrize("name", ["support", "world", "zh"])
def test_both_tellings_have_the_same_choices(name: str) -> None:
    for scene in scenes(name):
        for number in scene.choices():
            for telling in ((0,), (1,)):
                assert scene.told(telling) != scene.told(telling, number), (scene.name, number, telling)


@pytest.mark.parametrize("name", MEASURED)
def test_nothing_of_what_measures_is_in_it(name: str) -> None:
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"{name} is not here")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    measured = {
        turn["content"].lower() for row in rows for side in ("turns_a", "turns_b") for turn in row[side]
    }
    own = {text.lower() for pair in made() for chat in (pair.one, pair.other) for _, text in chat}
    own |= {line.lower() for file in ("small", "facts", "inline") for line in lines(file)}
    assert {text for text in own & measured if len(text) > _LONG} == set()
