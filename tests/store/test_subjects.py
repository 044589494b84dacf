"""Texts say whose they are, and are the same when that is taken off again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semcache.store.subjects import mark_of, marked, unmarked

subjects = st.sampled_from(["", "ab" * 12])


@given(subjects, st.text(max_size=200) | st.text("\x1eab", max_size=80))
def test_what_is_marked_is_read_back(subject: str, text: str) -> None:
    assert unmarked(marked(subject, text)) == (subject if text else "", text)


@given(st.text("\x1eabc", max_size=200))
def test_any_text_can_be_read(stored: str) -> None:
    subject, text = unmarked(stored)
    assert stored in (text, mark_of(subject) + text)


def test_most_texts_are_kept_as_they_are() -> None:
    assert marked("", "plain") == "plain"
    assert marked("ab", "") == ""
