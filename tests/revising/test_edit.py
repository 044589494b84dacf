"""Edits: read from whatever a model says, applied only where they fit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.revising.edit import Made, edit_format, edited
from tests.revising.edits import change, keep, rewrite

TEXT = "Returns take 30 days. Refunds take 7 days."


@pytest.mark.parametrize(
    ("reply", "made"),
    [
        (keep(), Made(TEXT, "kept")),
        (change(("30 days", "14 days")), Made("Returns take 14 days. Refunds take 7 days.", "edited")),
        (
            change(("7 days", "a week"), ("Returns", "In Japan returns")),
            Made("In Japan returns take 30 days. Refunds take a week.", "edited"),
        ),
        (change((" Refunds take 7 days.", "")), Made("Returns take 30 days.", "edited")),
        (change(("30", "30")), Made(TEXT, "kept")),
        (rewrite("Never."), Made("Never.", "rewritten")),
        (f"Here you are:\n```json\n{keep()}\n```", Made(TEXT, "kept")),
        ('{"edit": "keep"}', Made(TEXT, "kept")),
    ],
)
def test_what_fits_is_applied(reply: str, made: Made) -> None:
    assert edited(TEXT, reply) == made


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "null",
        "[]",
        "{}",
        "keep",
        '{"edit": "delete"}',
        '{"edit": "keep", "answer": "something else"}',
        '{"edit": "keep", "changes": [{"old": "30", "new": "14"}]}',
        change(),
        change(("days", "weeks")),
        change(("take 30", "take 14"), ("30 days", "14 days")),
        change(("30 days", "14 days"), ("30 days", "15 days")),
        change(("", "14 days")),
        change(("90 days", "14 days")),
        '{"edit": "change", "changes": [{"old": 30, "new": "14"}]}',
        '{"edit": "change", "changes": ["30"]}',
        '{"edit": "change", "changes": {"old": "30", "new": "14"}}',
        json.dumps({"edit": "change", "changes": [{"old": "30", "new": "14"}] * 65}),
        rewrite(" "),
        '{"edit": "rewrite", "answer": "Never.", "changes": [{"old": "30", "new": "14"}]}',
        keep() + keep(),
        "{" * 5000,
    ],
)
def test_what_does_not_is_no_edit(reply: str) -> None:
    assert edited(TEXT, reply) is None


def test_an_overlap_with_itself_is_twice() -> None:
    assert edited("aaa", change(("aa", "b"))) is None


@given(st.text(min_size=1), st.text(), st.data())
def test_a_change_of_words_that_stand_there_once_is_a_replacement(
    text: str, new: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    reply = json.dumps({"edit": "change", "changes": [{"old": old, "new": new}]})
    once = sum(text.startswith(old, at) for at in range(len(text))) == 1
    made = edited(text, reply)
    if not once:
        assert made is None
    else:
        assert made is not None
        assert made.text == text.replace(old, new)


@given(st.text())
def test_nothing_that_is_said_raises(reply: str) -> None:
    made = edited(TEXT, reply)
    assert made is None or made.text


def test_the_form_is_strict_as_apis_want_it() -> None:
    schema = edit_format()["json_schema"]["schema"]
    assert schema["required"] == ["edit", "changes", "answer"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["changes"]["items"]["additionalProperties"] is False
