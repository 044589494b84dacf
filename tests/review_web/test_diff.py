from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.review.web.diff import Kind, Piece, diff

TEXTS = st.text(st.sampled_from("ab \n\t我退货0.5'-é\u200b\x00"), max_size=40) | st.text(max_size=60)


def told(old: str, new: str) -> str:
    marks = {Kind.SAME: "{}", Kind.GONE: "[-{}-]", Kind.NEW: "[+{}+]"}
    return "".join(marks[piece.kind].format(piece.text) for piece in diff(old, new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("same", "same", "same"),
        ("", "new", "[+new+]"),
        ("gone", "", "[-gone-]"),
        ("a dose for adults?", "a dose for children?", "a dose for [-adults-][+children+]?"),
        ("one two three four", "one 2 3 four", "one [-two three-][+2 3+] four"),
        ("take 12.5 mg", "take 12.6 mg", "take [-12.5-][+12.6+] mg"),
        ("I can", "I can't", "I can[+'t+]"),
        ("退货期限是多少天?", "换货期限是几天?", "[-退-][+换+]货期限是[-多少-][+几+]天?"),
        ("用Python写", "用Java写", "用[-Python-][+Java+]写"),
    ],
)
def test_tells_words_and_characters(old: str, new: str, expected: str) -> None:
    assert told(old, new) == expected


@given(TEXTS, TEXTS)
def test_both_texts_come_out_again(old: str, new: str) -> None:
    pieces = diff(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind is not Kind.NEW) == old
    assert "".join(piece.text for piece in pieces if piece.kind is not Kind.GONE) == new
    assert all(piece.text for piece in pieces)


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert all(piece.kind is Kind.SAME for piece in diff(text, text))


def _timed(count: int) -> float:
    """Compare texts of so many words that have none in common; gives seconds of CPU."""
    old = " ".join(f"a{i}" for i in range(count))
    new = " ".join(f"b{i + count}" for i in range(count))
    began = time.process_time()
    pieces = diff(f"head {old} tail", f"head {new} tail")
    taken = time.process_time() - began
    assert pieces[0] == Piece(Kind.SAME, "head ")
    assert pieces[-1] == Piece(Kind.SAME, " tail")
    return taken


def test_work_is_bounded() -> None:
    """Twenty times the words take about twenty times as long, whatever the machine; by pairs it would be 400 times."""
    assert _timed(100_000) < 60 * _timed(5_000)
