"""Words for what speaks against a revised answer where the verifier is sure of it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Effect, GateRules
from semcache.decide.revision.flaws import Flaw
from tests.decide.revision.judged import NEW, NORWAY, OLD, against


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (NEW, ()),
        (OLD, ("unchanged", "gate")),
        (f" {OLD.upper()}!", ("unchanged", "gate")),
        (OLD.replace("30", "14"), ("leftover", "gate")),
        (NEW.replace("Japan", "that country"), ("gate",)),
        (NEW + " Unlike Norway, it is short.", ("leftover", "gate")),
        (NEW + " See https://evil.example.", ("foreign",)),
        ("I have updated it. " + NEW, ("making",)),
        ("Sorry, that is not known of Japan.", ("refusal",)),
        ("Das ist in Japan nicht der Fall, und die Frist ist kurz.", ("language",)),
        ("Japan. " * 20_000, ("size",)),
        ("word " * 300 + "customers in norway.", ("leftover", "gate")),
    ],
)
def test_each_flaw_has_its_word(new: str, words: tuple[str, ...]) -> None:
    assert against(new) == words


def test_what_cannot_be_mended_is_refused_however_it_is_mended() -> None:
    words = against("No, it is not.", asked="Is it not safe?", stored="Is it safe?", old="Yes, it is.")
    assert words == ("opposite",)
    assert against("Yes.", asked="Is it not safe?", stored="Is it safe?", old="Yes.") == ("opposite",)


def test_figures_move_with_the_amount() -> None:
    asked, stored = "What is the dose for 30 kg?", "What is the dose for 20 kg?"
    old = "For 20 kg give 200 mg."
    assert against("For 30 kg one gives 200 mg.", asked=asked, stored=stored, old=old) == ("unmoved",)
    assert against("For 30 kg give 300 mg.", asked=asked, stored=stored, old=old) == ()


def test_a_difference_that_the_policy_leaves_alone_is_left_alone() -> None:
    rules = GateRules.all(Effect.OFF)
    assert against(OLD, rules=rules) == ()
    # What was changed is held to its words all the same.
    assert against(OLD + " Still.", rules=rules) == ("leftover",)


def test_a_changed_answer_that_cannot_be_read_to_its_end_may_hold_anything() -> None:
    old = f"Customers may return it. {chr(0xFDFA) * 2000} So it is."
    assert against(old + " Now.", asked=NORWAY.replace("may", "can"), old=old) == ("leftover",)


def test_a_kept_answer_to_the_same_question_stays() -> None:
    assert against(OLD, asked=NORWAY.replace("may", "can")) == ()


def test_another_spelling_is_held_to_no_words() -> None:
    asked, stored = "How do I cancel my order?", "How do I cancel my subscription?"
    old = "Send an e-mail about your subscription to us."
    assert against(old.replace("e-mail", "email"), asked=asked, stored=stored, old=old) == ()
    assert against(old.replace("e-mail", "letter"), asked=asked, stored=stored, old=old) != ()


def test_the_form_of_the_request_counts() -> None:
    assert against(NEW, form={"type": "json_object"}) == ("form",)
    assert against('{"days": 14, "country": "Japan"}', form={"type": "json_object"}) == ()


@given(*(st.text(max_size=120) for _ in range(4)))
def test_it_takes_any_text_and_speaks_in_closed_words(asked: str, stored: str, old: str, new: str) -> None:
    assert set(against(new, asked=asked, stored=stored, old=old)) <= set(Flaw)
    assert Flaw.UNCHANGED not in against(old, asked=asked, stored=asked, old=old)


def test_lone_surrogates_raise_nothing() -> None:
    form = {"type": "json_schema", "json_schema": {"schema": {"title": "\ud800"}}}
    assert "form" in against("\ud800b", asked="\ud800", stored="a", old="\udfff", form=form)
    assert "form" in against("{}", asked="a", stored="a", old="{}", form=form)


def test_ordinary_texts_cost_little() -> None:
    old, new = OLD * 12, NEW * 12
    against(new, old=old)
    began = time.process_time()
    for _ in range(20):
        against(new, old=old)
    assert (time.process_time() - began) / 20 < 0.02
