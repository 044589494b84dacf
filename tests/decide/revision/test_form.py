"""Whether an answer has the language and form asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.revision.form import has_form, is_spoken


def speaks(asked: str, new: str, *, old: str = "It is so.", stored: str = "What is it to me?") -> bool:
    return is_spoken(asked, stored, old, new)


GERMAN = "Das ist der Fluss, und er ist nicht der längste im Land."
ENGLISH = "It is the river, and it is not the longest of the country."


@pytest.mark.parametrize(
    ("asked", "good", "bad"),
    [
        ("What is the Rhine to me?", ENGLISH, GERMAN),
        ("What is the Rhine to me?", ENGLISH, "这是一条河流。"),
        ("莱茵河是什么？", "这是一条河流。", ENGLISH),
        ("Describe the Rhine in German", GERMAN, ENGLISH),
        ("请用德语介绍莱茵河", GERMAN, "这是一条河流。"),
    ],
)
def test_the_language_asked_for_is_looked_for(asked: str, good: str, bad: str) -> None:
    assert speaks(asked, good)
    assert not speaks(asked, bad)


@pytest.mark.parametrize(
    ("asked", "good", "bad"),
    [
        ("List the planets as JSON", '```json\n["Mars"]\n```', "Mars, Venus"),
        ("List the planets in a table", "| a | b |\n|---|---|\n| 1 | 2 |", "Mars, Venus"),
        ("Name the planets in bullet points", "- Mars\n- Venus", "Mars, Venus"),
        ("List the planets as CSV", "a,b\nc,d", "Mars"),
        ("What is Mars in one sentence?", "It is a planet.", "It is a planet. It is red."),
        ("用表格列出行星", "| a |\n| b |", "火星"),
        ("Give me 3 tips for sleep", "1. a\n2. b\n3. c", "1. a\n2. b\n3. c\n4. d"),
        ("List five ways to rest", "- a\n- b\n- c\n- d\n- e", "- a\n- b"),
        ("推荐三本书", "1. 甲\n2. 乙\n3. 丙", "1. 甲\n2. 乙"),
        ("What is sleep? Use at most 10 words", "It is rest.", "It is rest " * 8),
        ("Explain sleep in 100 words", "word " * 95, "word " * 30),
        ("Explain sleep in two sentences", "One. Two.", "One. Two. Three."),
        ("介绍睡眠，50字以内", "睡眠是休息。", "睡眠" * 40),
    ],
)
def test_what_is_asked_for_is_looked_for(asked: str, good: str, bad: str) -> None:
    assert has_form(asked, None, good)
    assert not has_form(asked, None, bad)


def test_an_answer_may_stay_in_the_language_that_such_answers_are_in() -> None:
    asked, stored = "What is it that she said to me?", "What is it that he said to me?"
    assert speaks(asked, GERMAN, old=GERMAN, stored=stored)
    assert not speaks(asked, GERMAN, old=GERMAN, stored="莱茵河是什么？")


def test_prose_is_not_held_to_a_number_of_items() -> None:
    assert has_form("Give me 3 tips for sleep", None, "Rest, eat and walk.")


@pytest.mark.parametrize(
    ("form", "new", "fits"),
    [
        (None, "x", True),
        ({"type": "text"}, "x", True),
        ({"type": "json_object"}, '{"a": 1}', True),
        ({"type": "json_object"}, "[1]", False),
        ({"type": "json_object"}, '```json\n{"a": 1}\n```', False),
        ({"type": "json_object"}, "\ud800", False),
        ({"type": "grammar"}, "x", False),
        ({}, "x", False),
        ({"type": "json_schema"}, "{}", False),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}, "x", False),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}, "{}", True),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "array"}}}, "{}", False),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "null"}}}, "null", True),
    ],
)
def test_the_request_has_its_form(form: dict[str, object] | None, new: str, fits: bool) -> None:
    assert has_form("What is it?", form, new) is fits


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_looked_at(asked: str, new: str) -> None:
    assert has_form(asked, None, new) in (True, False)
    assert speaks(asked, new) in (True, False)
