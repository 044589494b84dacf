"""What only the older question named must be gone from a revised answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.features import features
from semcache.decide.revision.remains import MOST, NOTHING, are_left, are_unmoved, gone, read_whole


def left(asked: str, stored: str, answer: str) -> bool | None:
    texts = read_whole(answer)
    return None if texts is None else are_left(asked, stored, texts)


PAIRS = [
    ("Is Madrid a good place to live?", "Is Paris a good place to live?", "Paris is lively.", "Madrid is lively."),
    ("Who is Amy Nguyen?", "Who is Jeremy Rogers?", "Jeremy Rogers paints.", "Amy Nguyen paints."),
    ("What is the dose for 20 kg?", "What is the dose for 30 kg?", "For 30 kilograms: 300 mg.", "For 20 kg: 200 mg."),
    ("What does it cost for $50?", "What does it cost for $40?", "You pay 40 dollars.", "You pay 50 dollars."),
    ("Are you open on Monday?", "Are you open on Sunday?", "We are open on Sundays.", "We are open on Mondays."),
    ("Is it warm there in July?", "Is it warm there in March?", "It rains in March.", "In July it is dry."),
    ("Is there a train at 14:00?", "Is there a train at 15:00?", "One leaves at 3 pm.", "One leaves at 2 pm."),
    ("How do I sort a list in Java?", "How do I sort a list in Python?", "In python use sorted.", "In Java use sort."),
    ("What does `df.groupby` do?", "What does `df.pivot` do?", "Call df.pivot() to turn it.", "df.groupby splits."),
    ("What does `ls -h` show?", "What does `ls -l` show?", "With -l it is long.", "With -h it is short."),
    ("Is vitamin D good for bones?", "Is vitamin C good for bones?", "Take vitamin C.", "Take vitamin D."),
    ("去日本旅游要签证吗？", "去挪威旅游要签证吗？", "去挪威需要申根签证。", "去日本需要短期签证。"),
    ("狗能吃巧克力吗？", "猫能吃巧克力吗？", "猫不能吃。", "狗不能吃。"),
    ("How far is it in kilometers?", "How far is it in miles?", "It is far: ten miles.", "It is far: 16 km."),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "stored", "half", "whole"), PAIRS)
def test_what_was_named_is_gone_or_is_seen(asked: str, stored: str, half: str, whole: str) -> None:
    assert left(asked, stored, half) is True
    assert left(asked, stored, whole) is False
    assert left(asked, asked, half) is False


def test_it_is_found_anywhere_in_a_long_answer() -> None:
    asked, stored = "Is Madrid a good place to live?", "Is Paris a good place to live?"
    for before in (0, 870, 905, 915, 925, 993, 998, 1000, 5000):
        assert left(asked, stored, "x" * before + " Paris " + "y" * 2000) is True, before
        assert left(asked, stored, "某" * before + "巴黎" + "人" * 2000) is True, before
        assert left(asked, stored, "word " * before + "Madrid" + " word" * 200) is False, before


def test_an_answer_that_cannot_be_read_to_its_end_is_not_judged() -> None:
    asked, stored = "Is Madrid a good place to live?", "Is Paris a good place to live?"
    assert left(asked, stored, "x " * MOST) is None
    assert left(asked, stored, "\ufdfa" * 2000) is None


def test_markers_of_lists_and_small_words_are_no_remains() -> None:
    asked, stored = "How do I update to version 7?", "How do I update to version 2?"
    assert left(asked, stored, "1. Back up.\n2. Install version 7.\n3. Restart.") is False
    assert left(asked, stored, "1. Back up.\n2. Install version 2.\n3. Restart.") is True
    asked, stored = "What does UNICEF do?", "What does WHO do?"
    assert left(asked, stored, "UNICEF helps children who need it.") is False
    assert left(asked, stored, "The WHO helps children.") is True


def test_figures_that_all_stay_are_told() -> None:
    asked, stored = "What is the dose for 30 kg?", "What is the dose for 20 kg?"
    assert are_unmoved(asked, stored, "20 kg: give 200 mg.", "30 kg: give 200 mg.")
    assert not are_unmoved(asked, stored, "20 kg: give 200 mg, 3 times.", "30 kg: give 300 mg, 3 times.")
    assert not are_unmoved(asked, stored, "1. Weigh.\n2. Ask for 20 kg.", "1. Weigh.\n2. Ask for 30 kg.")


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=400))
def test_any_text_is_judged(asked: str, stored: str, answer: str) -> None:
    assert left(asked, stored, answer) in (True, False, None)
    assert gone(features(asked), features(asked), frozenset(("names", "places", "numbers"))) == NOTHING
