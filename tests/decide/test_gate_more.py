"""More of each rule, both ways: what it must refuse with which word, and the rewording it must let pass."""

from __future__ import annotations

import pytest

from semcache.core import Effect, GateRules
from semcache.decide.gate import compare, features, raised_bar, vetoes

ALL = GateRules()

REFUSED = [
    ("numbers", "Who won in '98?", "Who won in '22?"),
    ("numbers", "Is it nineteen eighty-nine?", "Is it nineteen ninety-nine?"),
    ("numbers", "三分之一的人", "三分之二的人"),
    ("numbers", "type 1 diabetes diet", "type 2 diabetes diet"),
    ("money", "Is $1.2M enough?", "Is $1.5M enough?"),
    ("dates", "下周一开门吗", "下周二开门吗"),
    ("dates", "Who is the mayor of Leeds?", "Who was the mayor of Leeds?"),
    ("dates", "Is it shut on Christmas Day?", "Is it shut on New Year's Day?"),
    ("antonyms", "upgrade my plan", "downgrade my plan"),
    ("antonyms", "怎么拉黑好友", "怎么取消拉黑好友"),
    ("antonyms", "a careful driver", "a careless driver"),
    ("quantifiers", "Can all employees vote?", "Can some employees vote?"),
    ("quantifiers", "May adults enter?", "May only adults enter?"),
    ("quantifiers", "可以申请吗", "只有会员可以申请吗"),
    ("comparison", "files older than a month", "files newer than a month"),
    ("order", "Can my landlord evict me?", "Can I evict my landlord?"),
    ("order", "Can my wife use my card?", "Can I use my wife's card?"),
    ("order", "How does inflation affect interest rates?", "How do interest rates affect inflation?"),
    ("order", "convert mp4 to mp3", "convert mp3 to mp4"),
    ("codes", "What is vitamin C for?", "What is vitamin D for?"),
    ("codes", "What is 7 - 3?", "What is 3 - 7?"),
    ("persons", "What does a nurse earn?", "What does a doctor earn?"),
    ("places", "US president", "UK president"),
    ("kind", "What does grep do?", "What does sed do?"),
    ("length", "Explain rain briefly", "Explain rain in detail"),
    ("question", "What is docker?", "How do I install docker?"),
    ("question", "什么是个人所得税", "怎么缴个人所得税"),
    ("names", "Who is the chairman of Apple?", "Who is the chairman of Microsoft?"),
]  # fmt: skip

PASSED = [
    ("5 miles to the sea", "8 km to the sea"),
    ("Bake at 350F", "Bake at 350 °F"),
    ("water at 98.6F", "water at 37C"),
    ("1 hour and 30 minutes", "90 minutes"),
    ("He is 5 ft 10 in tall", "He is 178 cm tall"),
    ("身高一米七五算高吗", "身高175厘米算高吗"),
    ("half a dozen eggs", "six eggs"),
    ("1/4 of the cake", "25% of the cake"),
    ("music of the nineties", "music of the 1990s"),
    ("open on 05.03.2024?", "open on 5 March 2024?"),
    ("open on Tuesday, March 4?", "open on 4 March?"),
    ("open Mon-Fri at noon", "open on weekdays at noon"),
    ("Is it shut on Christmas Day?", "Is it shut on December 25?"),
    ("weather in Lodnon", "weather in London"),
    ("restaurants in San Fransisco", "restaurants in San Francisco"),
    ("Who is Albert Enstein?", "Who is Albert Einstein?"),
    ("WHO guidelines on salt", "World Health Organization guidelines on salt"),
    ("EU tax rules", "European Union tax rules"),
    ("What does document.querySelector do?", "what does querySelector do"),
    ("How can I avoid jet lag?", "How can I prevent jet lag?"),
    ("What can I use instead of butter?", "What is a good substitute for butter?"),
    ("drinks without sugar", "sugar-free drinks"),
    ("不加糖的咖啡", "无糖咖啡"),
    ("What are the treatments for breast cancer?", "What are the treatments for cancer of the breast?"),
    ("I've tried everything and nothing works, how do I unclog a drain?", "How do I unclog a drain?"),
    ("When you have a sec: how do I boil an egg", "How do I boil an egg?"),
    ("Happy Monday! How do I boil an egg?", "How do I boil an egg?"),
    ("两块屏幕怎么用", "2块屏幕怎么用"),
    ("k8s pods", "kubernetes pods"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "one", "other"), REFUSED)
def test_refused_for_the_right_reason(word: str, one: str, other: str) -> None:
    assert word in vetoes(one, other, ALL)
    assert vetoes(one, other, ALL) == vetoes(other, one, ALL)


@pytest.mark.parametrize(("one", "other"), PASSED)
def test_another_wording_passes(one: str, other: str) -> None:
    assert vetoes(one, other, ALL) == ()
    assert vetoes(other, one, ALL) == ()


STORY = (
    "I am a runner and my knee has hurt for 3 weeks. My coach gave me an ointment in March, it cost 40 dollars and I used it "
    "twice a day. Nothing changed. What can I do against knee pain?"
)


def test_what_a_story_tells_only_raises_the_bar() -> None:
    other = STORY.replace("40 dollars", "65 dollars")
    short = "What can I do against knee pain?"
    for asked in (other, short):
        found = compare(features(STORY), features(asked), GateRules(long=Effect.OFF))
        assert "money" in found.raised
        assert "money" not in found.vetoes
    assert "money" in vetoes(STORY, other, GateRules(stories=Effect.VETO))
    assert "money" not in compare(features(STORY), features(short), GateRules(stories=Effect.OFF)).raised


def test_a_number_in_the_question_of_a_story_vetoes() -> None:
    one = STORY.replace("What can I do against knee pain?", "Can I take 5 mg of it?")
    assert "numbers" in vetoes(one, one.replace("5 mg", "50 mg"), ALL)


def test_a_story_never_does_more_than_the_rule_itself() -> None:
    other = STORY.replace("40 dollars", "65 dollars")
    rules = GateRules(money=Effect.OFF, stories=Effect.VETO, long=Effect.OFF)
    assert "money" not in vetoes(STORY, other, rules)


def test_names_of_diseases_raise_the_bar() -> None:
    found = compare(
        features("Is Tay-Sachs disease inherited?"), features("Is Gaucher disease inherited?"), ALL
    )
    assert found.vetoes == ()
    assert found.raised == ("names",)


@pytest.mark.parametrize(("share", "bar"), [(0.0, 0.92), (0.5, 0.96), (1.0, 1.0)])
def test_the_bar_rises_by_a_share_of_its_way_to_one(share: float, bar: float) -> None:
    rules = GateRules(numbers=Effect.RAISE, raise_by=share)
    found = compare(features("rule 3"), features("rule 4"), rules)
    assert raised_bar(0.92, found, rules) == pytest.approx(bar)
    assert raised_bar(0.92, compare(features("rule 3"), features("rule 3"), rules), rules) == 0.92
    assert raised_bar(2.0, found, rules) == 2.0
