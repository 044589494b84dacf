"""Prompts that begin alike have marks in common, whatever stands behind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.batching.marks import MOST, SIZE, common, marks_of


def body(*texts: str, **more: Any) -> dict[str, Any]:
    """Each text is made long enough to matter."""
    return {"model": "m", "messages": [{"role": "user", "content": text + LONG} for text in texts], **more}


LONG = "." * 600


def test_what_they_share_is_counted_by_messages() -> None:
    one, other = marks_of(body("shared", "one")), marks_of(body("shared", "other"))
    assert common(one, other) == 1
    assert common(one, one) == 3


def test_a_shared_document_within_one_message_counts() -> None:
    document = "x" * 20_000
    one, other = marks_of(body(document + "one?")), marks_of(body(document + "other?"))
    assert 19 <= common(one, other) <= 21


@pytest.mark.parametrize("other", [{"model": "n"}, {"tools": [{"type": "function"}]}])
def test_another_model_or_other_tools_share_nothing(other: dict[str, Any]) -> None:
    assert common(marks_of(body("a", "b")), marks_of(body("a", "b") | other)) == 0


def test_sampling_is_no_part_of_a_prompt() -> None:
    assert marks_of(body("a", temperature=0.1)) == marks_of(body("a", temperature=0.9))


def test_what_is_short_is_shared_with_nobody() -> None:
    assert marks_of({"model": "m", "messages": [{"role": "user", "content": "short"}]}) == b""


def test_there_are_never_too_many() -> None:
    assert len(marks_of(body("x" * 10**6))) == MOST * SIZE


texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=6)


@given(texts, texts, texts)
def test_equal_beginnings_give_equal_marks(shared: list[str], one: list[str], other: list[str]) -> None:
    left, right = marks_of(body(*shared, *one)), marks_of(body(*shared, *other))
    assert common(left, right) >= len(shared)
    assert (common(left, right) * SIZE == len(left) == len(right)) == (one == other)
