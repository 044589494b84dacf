"""Objections point at the words they rest on, in the texts as they were given."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import Effect, GateRules
from semcache.decide.gate import compare, features
from semcache.decide.spans import Objection, explain_spans
from semcache.decide.text import places, read
from tests.decide.test_gate_properties import texts
from tests.decide.test_gate_rules import REFUSED

ALL = GateRules()


def shown(asked: str, stored: str, rule: str) -> tuple[str, str]:
    found = next(item for item in explain_spans(asked, stored, ALL) if item.word == rule)
    return tuple(
        text[span[0] : span[1]] if span else ""
        for text, span in ((asked, found.asked), (stored, found.stored))
    )  # type: ignore[return-value]  # two of them


@pytest.mark.parametrize(
    ("asked", "stored", "rule", "left", "right"),
    [
        ("Is 5 mg safe?", "Is 50 mg safe?", "numbers", "5 mg", "50 mg"),
        ("Is $5 enough?", "Is $50 enough?", "money", "5", "50"),
        ("How do I enable roaming?", "How do I disable roaming?", "antonyms", "enable", "disable"),
        ("before the surgery", "after the surgery", "comparison", "before", "after"),
        ("Is it safe for adults?", "Is it safe for children?", "persons", "adults", "for children"),
        ("open on Monday?", "open on Sunday?", "dates", "Monday", "Sunday"),
        ("Is aspirin not safe?", "Is aspirin safe?", "negation", "not", ""),
        ("Don't eat that cake!", "Do eat that cake!", "negation", "Don't", ""),
        ("laws in Texas", "laws in Ohio", "places", "Texas", "Ohio"),
        ("Who founded Acme?", "Who founded Zenith?", "names", "Acme", "Zenith"),
        ("what does read_csv do", "what does read_json do", "codes", "read_csv", "read_json"),
        ("sort it in Java", "sort it in Python", "kind", "Java", "Python"),
        ("１０元够吗", "２０元够吗", "money", "１０元", "２０元"),
        ("怎麼啟用它", "怎麼禁用它", "antonyms", "啟用", "禁用"),
        ("Translate: good day", "Translate: good night", "payload", " good day", " good night"),
        ("北京到上海的火车", "上海到北京的火车", "order", "北京到上海", "上海到北京"),
        ("The ﬁrst \u00bd of 3 laws", "The ﬁrst \u00bd of 5 laws", "numbers", "3", "5"),
    ],
)
def test_the_span_is_what_differs(asked: str, stored: str, rule: str, left: str, right: str) -> None:
    assert shown(asked, stored, rule) == (left, right)
    assert shown(stored, asked, rule) == (right, left)


@pytest.mark.parametrize("rule", REFUSED)
def test_every_objection_has_a_place_in_one_of_the_texts(rule: str) -> None:
    for one, other in REFUSED[rule]:
        found = explain_spans(one, other, ALL)
        assert (
            tuple(item.word for item in found if not item.raises)
            == compare(features(one), features(other), ALL).vetoes
        )
        assert all(item.asked or item.stored for item in found), (one, other, found)


def test_a_difference_that_only_raises_says_so() -> None:
    found = explain_spans("Explain rule 3", "Explain rule 4", GateRules(numbers=Effect.RAISE))
    assert [(item.word, item.raises) for item in found] == [("numbers", True)]


def test_equal_texts_have_no_objections() -> None:
    assert explain_spans("How do I pay?", "how do I pay", ALL) == ()


@given(texts, texts)
@settings(max_examples=200, deadline=None)
def test_spans_lie_within_the_texts(one: str, other: str) -> None:
    for item in explain_spans(one, other, ALL):
        assert isinstance(item, Objection)
        for text, span in ((one, item.asked), (other, item.stored)):
            assert span is None or 0 <= span[0] < span[1] <= len(text)


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_places_follow_the_tokens_or_give_up(text: str) -> None:
    found = places(text)
    assert len(found) in (0, len(read(text).tokens))
