from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.review.web.diff import Kind, diff
from semcache.review.web.marks import Mark, Segment, plain, shown, visible


def test_what_cannot_be_seen_is_named() -> None:
    assert visible("a\u202eb\x00") == (
        Segment("a"),
        Segment("", control="U+202E"),
        Segment("b"),
        Segment("", control="U+0000"),
    )


@pytest.mark.parametrize("char", list("\u200b\u2066\ufeff\u00ad\x1b\x7f\r\U000e0041\ud800\u2028\u3164"))
def test_every_hidden_character_is_named(char: str) -> None:
    assert visible(f"a{char}b")[1] == Segment("", control=f"U+{ord(char):04X}")


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\tand a tab",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "中文",
        "",
    ],
)
def test_ordinary_writing_stays_one_piece(text: str) -> None:
    assert visible(text) == ((Segment(text),) if text else ())


def test_rules_point_at_places_across_changes() -> None:
    pieces = diff("give 10 mg now", "give 20 mg now")
    segments = shown(pieces, Kind.NEW, [Mark(5, 10, "numbers")])
    assert segments == (
        Segment("give "),
        Segment("20", Kind.NEW, ("numbers",)),
        Segment(" mg", rules=("numbers",)),
        Segment(" now"),
    )


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.lists(st.tuples(st.integers(-3, 50), st.integers(-3, 50)), max_size=4),
)
def test_no_text_is_lost(old: str, new: str, spans: list[tuple[int, int]]) -> None:
    marks = [Mark(start, end, "names") for start, end in spans]
    for side, whole in ((Kind.GONE, old), (Kind.NEW, new)):
        segments = shown(diff(old, new), side, marks)
        assert "".join(chr(int(s.control[2:], 16)) if s.control else s.text for s in segments) == whole


def test_plain_is_one_line() -> None:
    assert plain("a\nb\u202ec") == "a b[U+202E]c"
    assert plain("ab") == "ab"
