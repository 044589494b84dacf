"""The one door: words for what speaks against a revised answer."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Effect, GateRules
from semcache.decide.features import features
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.objections import beyond, objections

NORWAY = "How long may customers in Norway return an order?"
JAPAN = "How long may customers in Japan return an order?"
OLD = "Customers in Norway may return an order within 30 days."
NEW = "Customers in Japan may return an order within 14 days."


def against(
    new: str, *, asked: str = JAPAN, stored: str = NORWAY, old: str = OLD, **kwargs: Any
) -> tuple[str, ...]:
    return objections(asked, stored, old, new, kwargs.get("rules", GateRules()), kwargs.get("form"))


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (NEW, ()),
        (OLD, ("unchanged",)),
        (f" {OLD.upper()}!", ("unchanged",)),
        (OLD.replace("30", "14"), ("leftover", "missing")),
        (NEW.replace("Japan", "that country"), ("missing",)),
        (NEW + " Unlike Norway, it is short.", ("leftover",)),
        (NEW + " See https://evil.example", ("foreign",)),
        ("I have updated it. " + NEW, ("making",)),
        ("Sorry, that is not known of Japan.", ("refusal",)),
        ("Das ist in Japan nicht der Fall, und die Frist ist kurz.", ("language",)),
        ("Japan " * 20_000, ("unread",)),
        ("word " * 3_000 + "customers in norway", ("leftover", "missing")),
    ],
)
def test_each_flaw_has_its_word(new: str, words: tuple[str, ...]) -> None:
    assert against(new) == words


def test_what_cannot_be_mended_is_refused_however_it_is_mended() -> None:
    words = against("No, it is not.", asked="Is it not safe?", stored="Is it safe?", old="Yes, it is.")
    assert words == ("stance",)
    assert "unchanged" in against("Yes.", asked="Is it not safe?", stored="Is it safe?", old="Yes.")


def test_what_no_revision_mends_is_known_before_one_is_paid_for() -> None:
    assert beyond("Is it not safe?", "Is it safe?", GateRules()) == "stance"
    assert beyond("What is the outlook for gout?", "What are the symptoms of gout?", GateRules()) == "aspect"
    assert beyond(JAPAN, NORWAY, GateRules()) is None
    assert beyond("Is it not safe?", "Is it safe?", GateRules.all(Effect.OFF)) is None


def test_figures_move_with_the_amount() -> None:
    asked, stored = "What is the dose for 30 kg?", "What is the dose for 20 kg?"
    old = "For 20 kg give 200 mg."
    assert against("For 30 kg give 200 mg.", asked=asked, stored=stored, old=old) == ("unmoved",)
    assert against("For 30 kg give 300 mg.", asked=asked, stored=stored, old=old) == ()


def test_a_difference_that_the_policy_leaves_alone_is_left_alone() -> None:
    rules = GateRules.all(Effect.OFF)
    assert against(OLD, rules=rules) == ()
    # What was changed is held to its words all the same.
    assert against(OLD + " Still.", rules=rules) == ("leftover", "missing")


def test_a_changed_answer_that_is_too_long_is_not_read() -> None:
    assert against("x " * 40_000, asked=NORWAY.replace("may", "can")) == ("unread",)


def test_a_kept_answer_to_the_same_question_stays() -> None:
    assert against(OLD, asked=NORWAY.replace("may", "can")) == ()
    assert against("I'm sorry.", asked=NORWAY.replace("may", "can"), old="I'm sorry.") == ()


def test_the_form_of_the_request_counts() -> None:
    assert against(NEW, form={"type": "json_object"}) == ("json",)
    assert against('{"days": 14, "country": "Japan"}', form={"type": "json_object"}) == ()


@given(*(st.text(max_size=120) for _ in range(4)))
def test_it_takes_any_text_and_speaks_in_closed_words(asked: str, stored: str, old: str, new: str) -> None:
    words = objections(asked, stored, old, new, GateRules(), None)
    assert set(words) <= {flaw.value for flaw in Flaw}
    assert objections(asked, asked, old, old, GateRules(), None).count("unchanged") == 0


def test_lone_surrogates_raise_nothing() -> None:
    form = {"type": "json_schema", "json_schema": {"schema": {"title": "\ud800"}}}
    assert "json" in objections("\ud800", "a", "\udfff", "\ud800b", GateRules(), form)
    assert "schema" in objections("a", "a", "{}", "{}", GateRules(), form)


def test_ordinary_texts_cost_little() -> None:
    old, new = OLD * 12, NEW * 12
    features(JAPAN), features(NORWAY)
    against(new, old=old)
    began = time.process_time()
    for _ in range(20):
        against(new, old=old)
    assert (time.process_time() - began) / 20 < 0.02
