"""Words in which questions of one build differ; sides that questions ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Effect, GateRules
from semcache.decide.hidden import hidden
from semcache.decide.revision.aspects import differ
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.remains import read_whole
from semcache.decide.revision.stance import unmendable
from semcache.decide.revision.wording import Differences, Said, differences, is_reordered, said
from tests.decide.revision.judged import against


def heard(answer: str) -> Said:
    texts = read_whole(answer)
    assert texts is not None
    return said(texts)


@pytest.mark.parametrize(
    ("asked", "stored", "words"),
    [
        ("How do I cancel my order?", "How do I cancel my subscription?", {"subscription"}),
        ("How do I cancel the orders?", "How do I cancel the order?", set()),
        ("怎么取消我的订单？", "怎么取消我的会员？", {"会员"}),
        ("How do I cancel my order?", "What is the way to end a subscription?", set()),
        ("x " * 300, "y " * 300, set()),
    ],
)
def test_words_of_questions_built_alike(asked: str, stored: str, words: set[str]) -> None:
    assert differences(asked, stored).lost == words


def test_a_word_stands_in_an_answer_whatever_its_ending() -> None:
    assert heard("All subscriptions end.").holds(frozenset(("subscription",)))
    assert heard("x " * 5000 + "subscription").holds(frozenset(("subscription",)))
    assert heard("取消会员。").holds(frozenset(("会员",)))
    assert not heard("Press the border.").holds(frozenset(("order",)))
    assert not heard("anything").holds(frozenset())


def test_what_the_new_question_says_instead_must_be_there() -> None:
    asked, stored = (
        "How do I cancel a rental in the garden app?",
        "How do I cancel a purchase in the travel app?",
    )
    assert differences(asked, stored).come == (frozenset(("rental",)), frozenset(("garden",)))
    old = "Open the travel app and end the purchase."
    half, whole = "Open the app and end the rental.", "Open the garden app, and end the rental within a day."
    assert against(half, asked=asked, stored=stored, old=old) == ("missing",)
    assert against(whole, asked=asked, stored=stored, old=old) == ()


def test_a_changed_answer_is_held_to_its_words() -> None:
    asked, stored = "How do I cancel my order?", "How do I cancel my subscription?"
    old = "Open your subscription and press Cancel. The subscription ends."
    half, whole = (
        old.replace("your subscription", "your order"),
        "Open your order and press Cancel. It stops.",
    )
    assert against(half, asked=asked, stored=stored, old=old) == ("leftover",)
    assert against(whole, asked=asked, stored=stored, old=old) == ()
    assert against(old, asked=asked, stored=stored, old=old) == ()


def test_the_same_words_in_another_order_leave_nothing_to_put_in() -> None:
    asked = "After Hasan fled, Omar was caught by guards."
    stored = "After Omar fled, Hasan was caught by guards."
    assert is_reordered(asked, stored)
    assert not is_reordered(asked, asked.replace(",", ""))
    assert not is_reordered("How do I cancel?", "How do I pay?")
    asked, stored = "Are quiet dogs or loud cats better pets?", "Are quiet cats or loud dogs better pets?"
    old = "Cats are."
    assert against("Dogs, surely.", asked=asked, stored=stored, old=old) == ("reordered",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What are the symptoms of gout?", "What are the treatments for gout?"),
        ("What is gout?", "What causes gout?"),
        ("How common is gout?", "Is gout inherited?"),
        ("痛风有什么症状？", "痛风怎么治？"),
        ("痛风是什么？", "痛风怎么预防？"),
    ],
)
def test_sides_of_a_thing(one: str, other: str) -> None:
    assert differ(one, other)
    assert differ(other, one)
    assert unmendable(one, other, GateRules.all(Effect.OFF)) is Flaw.ASPECT


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is gout?", "Explain gout to me"),
        ("How is gout treated?", "What are the treatments for gout?"),
        ("What are the signs of gout?", "What symptoms does gout have?"),
        ("What are symptoms and causes of gout?", "What causes gout?"),
        ("How do I pay?", "How can I pay?"),
        ("cause " * 200, "What is gout?"),
    ],
)
def test_questions_for_one_side(one: str, other: str) -> None:
    assert not differ(one, other)


_SEEN = st.text(max_size=200).filter(lambda text: not hidden(text))
"""What hides something is read by no rule."""


@given(_SEEN, _SEEN)
def test_any_text_is_taken(one: str, other: str) -> None:
    assert differences(one, one) == Differences()
    assert not is_reordered(one, one)
    assert not differ(one, one)
    assert differ(one, other) is differ(other, one)
    lost = differences(one, other).lost
    assert heard(other).holds(lost) is bool(lost)
