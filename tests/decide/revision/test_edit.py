"""Edits: read from whatever a model says, applied where they fit in one way only."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.revision.edit import (
    Keep,
    Replace,
    Rewrite,
    Unreadable,
    apply_edit,
    read_edit,
)

TEXT = "Returns take 30 days. Write to us."


@pytest.mark.parametrize(
    ("said", "edit"),
    [
        ('{"edit":"keep"}', Keep()),
        ('Sure!\n```json\n{"edit": "keep"}\n```\nHope {that} helps.', Keep()),
        ('{"edit":[{"old":"30 days","new":"14 days"}]}', Replace((("30 days", "14 days"),))),
        ('{"replace":[["30","14"],["us","you"]]}', Replace((("30", "14"), ("us", "you")))),
        ('{"edit":{"replace":[["30","14"]]}}', Replace((("30", "14"),))),
        ('{"edit":{"answer":"A \\"new\\"\\nanswer: {}"}}', Rewrite('A "new"\nanswer: {}')),
        ('{"answer":"line one\nline two"}', Rewrite("line one\nline two")),
        ('{"answer":"\\u4f60\\ud83d\\ude00"}', Rewrite("你😀")),
    ],
)
def test_edits_are_read_as_models_write_them(said: str, edit: object) -> None:
    assert read_edit(said) == edit


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "form"),
        ("I would keep it.", "form"),
        ('{"edit":"keep"', "form"),
        ('{"edit":"keep"} {"answer":"no, this"}', "form"),
        ('{"edit":"keep","answer":"x"}', "form"),
        ('{"edit":"delete"}', "form"),
        ('{"edit":[]}', "count"),
        ('{"edit":[{"old":"a","new":"b"}' + ',{"old":"a","new":"b"}' * 32 + "]}", "count"),
        ('{"edit":[{"old":"","new":"b"}]}', "empty"),
        ('{"edit":[{"old":"a"}]}', "form"),
        ('{"replace":[["a","b","c"]]}', "form"),
        ('{"replace":[["a",3]]}', "form"),
        ('{"answer":"  \\n"}', "empty"),
        ('{"answer":"\\ud800"}', "form"),
        ('{"answer":"a\\u0000b"}', "form"),
        ("{" * 100_000, "form"),
        ('{"answer":' * 5_000, "form"),
        ('{"edit":' + "9" * 10_000 + "}", "form"),
        ('{"answer":"' + "x" * (1 << 18) + '"}', "size"),
    ],
)
def test_what_is_no_single_edit_is_unreadable(said: str, why: str) -> None:
    assert read_edit(said) == Unreadable(why)


@pytest.mark.parametrize(
    ("pairs", "made"),
    [
        ((("30 days", "14 days"),), "Returns take 14 days. Write to us."),
        ((("us.", "me."), ("30", "14")), "Returns take 14 days. Write to me."),
        (((" Write to us.", ""),), "Returns take 30 days."),
        ((("60", "14"),), Unreadable("absent")),
        ((("t", "T"),), Unreadable("twice")),
        ((("30 days", "14 days"), ("days. Write", "weeks. Mail")), Unreadable("overlap")),
        (((TEXT, " "),), Unreadable("empty")),
        ((("", "x"),), Unreadable("empty")),
        ((), Unreadable("count")),
        ((("30", "x" * (1 << 17)),), Unreadable("size")),
    ],
)
def test_each_old_part_must_fit_in_one_way(pairs: tuple[tuple[str, str], ...], made: object) -> None:
    assert apply_edit(TEXT, Replace(pairs)) == made


def test_overlapping_occurrences_of_itself_count_twice() -> None:
    assert apply_edit("aaa", Replace((("aa", "b"),))) == Unreadable("twice")


def test_a_new_part_is_never_searched_for_old_ones() -> None:
    assert apply_edit("A and B", Replace((("A", "B"), ("B", "C")))) == "B and C"


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    read_edit(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["edit", "replace", "answer", "old", "new"]), inner)
        ),
    ),
    st.text(),
)
def test_reading_and_applying_any_json_never_raises(value: object, answer: str) -> None:
    edit = read_edit(json.dumps(value))
    if not isinstance(edit, Unreadable):
        made = apply_edit(answer, edit)
        assert isinstance(made, Unreadable) or made.strip() or isinstance(edit, Keep)


@given(st.text())
def test_keeping_is_the_identity(answer: str) -> None:
    assert apply_edit(answer, Keep()) == answer


@given(st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=8), st.data())
def test_disjoint_replacements_commute(news: list[str], data: st.DataObject) -> None:
    answer = " ".join(f"<{number}>" for number in range(len(news)))
    pairs = [(f"<{number}>", new) for number, new in enumerate(news)]
    shuffled = data.draw(st.permutations(pairs))
    expected = " ".join(news)
    assert apply_edit(answer, Replace(tuple(pairs))) == expected
    assert apply_edit(answer, Replace(tuple(shuffled))) == expected
