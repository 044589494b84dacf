"""Whether an answer has the language and form asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.features import features
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.form import amiss, breaks


def wrong(asked: str, new: str, *, old: str = "It is so.", stored: str = "What is it to me?") -> set[Flaw]:
    return set(amiss(asked, features(asked), features(stored), old, new))


GERMAN = "Das ist der Fluss, und er ist nicht der längste im Land."
ENGLISH = "It is the river, and it is not the longest of the country."


@pytest.mark.parametrize(
    ("asked", "good", "bad", "flaw"),
    [
        ("What is the Rhine to me?", ENGLISH, GERMAN, Flaw.LANGUAGE),
        ("What is the Rhine to me?", ENGLISH, "这是一条河流。", Flaw.LANGUAGE),
        ("莱茵河是什么？", "这是一条河流。", ENGLISH, Flaw.LANGUAGE),
        ("Describe the Rhine in German", GERMAN, ENGLISH, Flaw.LANGUAGE),
        ("请用德语介绍莱茵河", GERMAN, "这是一条河流。", Flaw.LANGUAGE),
        ("List the planets as JSON", '```json\n["Mars"]\n```', "Mars, Venus", Flaw.FORM),
        ("List the planets in a table", "| a | b |\n|---|---|\n| 1 | 2 |", "Mars, Venus", Flaw.FORM),
        ("Name the planets in bullet points", "- Mars\n- Venus", "Mars, Venus", Flaw.FORM),
        ("List the planets as CSV", "a,b\nc,d", "Mars", Flaw.FORM),
        ("What is Mars in one sentence?", "It is a planet.", "It is a planet. It is red.", Flaw.FORM),
        ("用表格列出行星", "| a |\n| b |", "火星", Flaw.FORM),
        ("Give me 3 tips for sleep", "1. a\n2. b\n3. c", "1. a\n2. b\n3. c\n4. d", Flaw.COUNT),
        ("List five ways to rest", "- a\n- b\n- c\n- d\n- e", "- a\n- b", Flaw.COUNT),
        ("推荐三本书", "1. 甲\n2. 乙\n3. 丙", "1. 甲\n2. 乙", Flaw.COUNT),
        ("What is sleep? Use at most 10 words", "It is rest.", "It is rest " * 8, Flaw.COUNT),
        ("Explain sleep in 100 words", "word " * 95, "word " * 30, Flaw.COUNT),
        ("Explain sleep in two sentences", "One. Two.", "One. Two. Three.", Flaw.COUNT),
        ("介绍睡眠，50字以内", "睡眠是休息。", "睡眠" * 40, Flaw.COUNT),
    ],
)
def test_what_is_asked_for_is_looked_for(asked: str, good: str, bad: str, flaw: Flaw) -> None:
    assert flaw not in wrong(asked, good)
    assert flaw in wrong(asked, bad)


def test_an_answer_may_stay_in_the_language_that_such_answers_are_in() -> None:
    asked, stored = "What is it that she said to me?", "What is it that he said to me?"
    assert wrong(asked, GERMAN, old=GERMAN, stored=stored) == set()
    assert wrong(asked, GERMAN, old=GERMAN, stored="莱茵河是什么？") == {Flaw.LANGUAGE}


def test_prose_is_not_held_to_a_number_of_items() -> None:
    assert wrong("Give me 3 tips for sleep", "Rest, eat and walk.") == set()


@pytest.mark.parametrize(
    ("form", "new", "flaw"),
    [
        (None, "x", None),
        ({"type": "text"}, "x", None),
        ({"type": "json_object"}, '{"a": 1}', None),
        ({"type": "json_object"}, "[1]", Flaw.JSON),
        ({"type": "json_object"}, '```json\n{"a": 1}\n```', Flaw.JSON),
        ({"type": "json_object"}, "\ud800", Flaw.JSON),
        ({"type": "grammar"}, "x", Flaw.SCHEMA),
        ({}, "x", Flaw.SCHEMA),
        ({"type": "json_schema"}, "{}", Flaw.SCHEMA),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}, "x", Flaw.JSON),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}, "{}", None),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "array"}}}, "{}", Flaw.SCHEMA),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "null"}}}, "null", None),
    ],
)
def test_the_request_has_its_form(form: dict[str, object] | None, new: str, flaw: Flaw | None) -> None:
    assert breaks(form, new) == flaw


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_looked_at(asked: str, new: str) -> None:
    assert wrong(asked, new) <= {Flaw.LANGUAGE, Flaw.FORM, Flaw.COUNT}
