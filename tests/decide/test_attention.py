"""Why somebody should look at a hit, and how much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import (
    AloneRule,
    Confirmation,
    ConfirmedBy,
    Directives,
    Draft,
    Hit,
    Review,
    ReviewPolicy,
    RiskPolicy,
)
from semcache.decide.attention import (
    Asked,
    Attention,
    Facts,
    asked_of,
    attention,
    audited,
    harm,
    would_be_hit,
)
from semcache.decide.decision import Serving
from semcache.decide.gate import Comparison
from tests.decide.build import entry, policy

POLICY = policy(verifier=True, min_score=0.88, review=ReviewPolicy(near=0.02, sample=0.1))
BAR = Asked(0.95, 0.88)
CALM = Hit(entry(), exact=False, similarity=0.99, score=0.97)
EQUAL = Hit(entry(), exact=True, similarity=1.0)


def looked(decision: Hit | Draft = CALM, coin: float = 0.9, asked: Asked = BAR, **facts: Any) -> Attention:
    return attention(POLICY, decision, asked, Facts(**facts), coin)


def test_a_calm_hit_asks_for_nothing_but_by_the_sample() -> None:
    assert looked() == Attention(0.0, ())
    drawn = looked(coin=0.05)
    assert drawn.reasons == ("sample",)
    assert drawn.risk == pytest.approx(0.02)
    assert looked(coin=0.1).risk == 0.0


@pytest.mark.parametrize(
    ("similarity", "near"),
    [(0.95, True), (0.9699, True), (0.9701, False), (0.949, False), (1.0, False)],
)
def test_near_the_threshold(similarity: float, near: bool) -> None:
    found = looked(replace(CALM, similarity=similarity))
    assert (found.reasons == ("near-threshold",)) is near
    assert (found.risk > 0) is near


def test_the_nearer_the_heavier() -> None:
    risks = [looked(replace(CALM, similarity=s)).risk for s in (0.95, 0.955, 0.96, 0.965)]
    assert risks == sorted(risks, reverse=True)
    assert risks[0] == pytest.approx(0.12)


def test_near_the_score_the_risk_is_what_the_score_says() -> None:
    found = looked(replace(CALM, score=0.89))
    assert found.reasons == ("near-score",)
    assert found.risk == pytest.approx(0.11)
    assert looked(replace(CALM, score=0.901)).reasons == ()
    assert looked(replace(CALM, score=None)).reasons == ()
    assert looked(replace(CALM, score=0.89), asked=Asked(0.95, None)).reasons == ()


@pytest.mark.parametrize(
    ("facts", "reasons", "risk"),
    [
        ({"raised": True}, ("gate",), 0.1),
        ({"volatile": True}, ("volatile",), 0.15),
        ({"personal": True}, ("personal",), 0.1),
        ({"personal": True, "stranger": True}, ("personal", "other-user"), 1 - 0.4 * 0.98),
        ({"stranger": True}, (), 0.0),
        ({"raised": True, "volatile": True}, ("gate", "volatile"), 1 - 0.9 * 0.85),
    ],
)
def test_facts(facts: dict[str, bool], reasons: tuple[str, ...], risk: float) -> None:
    found = looked(**facts)
    assert found.reasons == reasons
    assert found.risk == pytest.approx(risk)


def test_where_the_score_is_sure_the_threshold_is_not_asked() -> None:
    near = replace(CALM, similarity=0.951)
    assert looked(replace(near, score=0.98)).reasons == ("near-threshold",)
    assert looked(replace(near, score=0.981)).reasons == ()
    assert looked(replace(near, score=None)).reasons == ("near-threshold",)


def test_the_first_hit_by_another_user_is_drawn_oftener_than_others() -> None:
    rules = replace(POLICY, review=ReviewPolicy(near=0.02, sample=0.01))
    facts = Facts(stranger=True, first=True)
    assert attention(rules, CALM, BAR, facts, 0.005).reasons == ("other-user",)
    drawn = attention(rules, CALM, BAR, facts, 0.09)
    assert (drawn.reasons, drawn.risk) == (("other-user",), pytest.approx(0.02))
    assert attention(rules, CALM, BAR, facts, 0.1).reasons == ()
    # Beside another reason it needs no luck.
    found = attention(rules, CALM, BAR, replace(facts, raised=True), 0.9)
    assert found.reasons == ("gate", "other-user")


@pytest.mark.parametrize(
    ("facts", "reasons"),
    [
        ({}, ()),
        ({"raised": True, "stranger": True, "first": True}, ()),
        ({"personal": True}, ()),
        ({"personal": True, "stranger": True}, ("personal", "other-user")),
        ({"volatile": True}, ("volatile",)),
    ],
)
def test_equal_questions_ask_for_less(facts: dict[str, bool], reasons: tuple[str, ...]) -> None:
    assert looked(EQUAL, **facts).reasons == reasons
    assert looked(EQUAL, volatile=True).risk < looked(volatile=True).risk
    assert looked(EQUAL, coin=0.0).reasons == ("sample",)


def test_drafts() -> None:
    near = Draft(entry(), 0.96, ("numbers",))
    assert looked(near, drafted=True).reasons == ("draft",)
    assert looked(near, served=False).reasons == ("gate",)
    assert looked(near, drafted=True, volatile=True).reasons == ("volatile", "draft")
    # Below the bar, several vetoes, or another obstacle: nothing is nearly a hit, and nobody got it.
    for far in (
        replace(near, similarity=0.94),
        replace(near, reasons=("numbers", "units")),
        replace(near, reasons=("verifier",)),
        replace(near, reasons=()),
    ):
        assert looked(far, coin=0.0, served=False, volatile=True, personal=True) == Attention()
        assert looked(far, drafted=True).reasons == ("draft",)


def test_edited_drafts_are_drawn_and_those_left_as_they_were_all_come() -> None:
    rules = replace(POLICY, review=ReviewPolicy(near=0.02, sample=0.01))
    near = Draft(entry(), 0.85)
    assert attention(rules, near, BAR, Facts(drafted=True), 0.09).reasons == ("draft",)
    assert attention(rules, near, BAR, Facts(drafted=True), 0.1) == Attention()
    left = attention(rules, near, BAR, Facts(drafted=True, untouched=True), 0.9)
    assert left.reasons == ("draft",)
    assert left.risk == pytest.approx(0.12)


def test_a_draft_that_only_the_evidence_stands_against_is_a_would_be_hit() -> None:
    kept = Draft(entry(), 0.96, ("risk",), 0.97)
    assert would_be_hit(kept) == Hit(kept.entry, exact=False, similarity=0.96, score=0.97, shadow=True)
    assert would_be_hit(Draft(entry(), 0.96, ("risk", "numbers"))) is None
    assert would_be_hit(Draft(entry(), 0.96)) is None


def test_harm_multiplies_the_rate() -> None:
    served = looked(raised=True).risk
    assert looked(raised=True, vouched=True).risk == pytest.approx(1 - 0.9**0.1)
    assert looked(raised=True, served=False).risk == pytest.approx(1 - 0.9**0.5)
    clinic = replace(POLICY, risk=RiskPolicy(budget=0.001))
    assert attention(clinic, CALM, BAR, Facts(raised=True), 0.9).risk == pytest.approx(1 - 0.9 ** (10**0.5))
    assert attention(clinic, CALM, BAR, Facts(raised=True), 0.9).risk > served
    assert [harm(replace(POLICY, risk=RiskPolicy(budget=b))) for b in (0.0, 1e-6, 0.01, 0.04, 0.5)] == [
        5.0,
        5.0,
        1.0,
        0.5,
        0.5,
    ]


def test_an_audit_weighs_most() -> None:
    found = audited(POLICY, vouched=False, served=True)
    assert found.reasons == ("audit",)
    assert found.risk == pytest.approx(0.9)
    assert audited(POLICY, vouched=False, served=False).risk < found.risk
    assert audited(POLICY, vouched=True, served=True).risk < found.risk


def asked(decision: Hit | Draft, serving: Serving | None = None, **given: Any) -> Asked:
    found = Comparison((), ("names",)) if given.pop("raised", False) else Comparison()
    directives = Directives(threshold=given.pop("threshold", None))
    return asked_of(
        given.pop("policy", POLICY), directives, decision, found, given.pop("vouched", False), serving
    )


def test_what_was_asked_of_a_hit() -> None:
    assert asked(CALM) == Asked(0.95, 0.88)
    assert asked(CALM, vouched=True) == Asked(0.92, 0.88)
    assert asked(CALM, threshold=0.97) == Asked(0.97, 0.88)
    assert asked(CALM, raised=True).bar == pytest.approx(0.975)
    raised_for_it = replace(CALM, entry=entry(review=Review(least=0.98)))
    assert asked(raised_for_it) == Asked(0.98, 0.88)
    assert asked(CALM, policy=replace(POLICY, verifier=False)) == Asked(0.95, None)


def test_the_evidence_may_have_asked_for_a_better_score() -> None:
    assert asked(CALM, Serving(cut=0.93)) == Asked(0.95, 0.93)
    assert asked(CALM, Serving(cut=None)) == Asked(0.95, 0.88)
    assert asked(CALM, Serving(cut=0.93), vouched=True) == Asked(0.92, 0.88)
    assert asked(CALM, Serving(cut=0.93, trusts_humans=False), vouched=True) == Asked(0.92, 0.93)


def test_a_hit_below_the_threshold_was_served_for_standing_alone() -> None:
    alone = replace(POLICY, alone=AloneRule(threshold=0.8, min_score=0.95))
    assert asked(replace(CALM, similarity=0.9), policy=alone) == Asked(0.8, 0.95)
    # A draft below the threshold was not.
    assert asked(Draft(entry(), 0.9), policy=alone) == Asked(0.95, 0.88)


@given(
    st.builds(
        Facts,
        served=st.booleans(),
        drafted=st.booleans(),
        untouched=st.booleans(),
        vouched=st.booleans(),
        raised=st.booleans(),
        volatile=st.booleans(),
        personal=st.booleans(),
        stranger=st.booleans(),
        first=st.booleans(),
    ),
    st.floats(0.5, 1.0),
    st.floats(0.5, 1.0),
    st.floats(0.0, 1.0, exclude_max=True),
    st.floats(1e-6, 0.5),
)
def test_risks_are_like_probabilities(
    facts: Facts, similarity: float, score: float, coin: float, budget: float
) -> None:
    rules = replace(POLICY, risk=RiskPolicy(budget=budget))
    for decision in (
        Hit(entry(), exact=False, similarity=similarity, score=score),
        Hit(entry(), exact=True, similarity=1.0),
        Draft(entry(), similarity, ("numbers",), score),
    ):
        found = attention(rules, decision, BAR, facts, coin)
        assert 0.0 <= found.risk < 1.0
        assert bool(found.reasons) is (found.risk > 0)
        assert len(set(found.reasons)) == len(found.reasons)
        calmer = attention(rules, decision, BAR, replace(facts, vouched=True), coin)
        assert calmer.risk <= found.risk


def test_what_only_a_reviewer_can_share_waits_for_one() -> None:
    new = replace(CALM, shadow=True, unconfirmed=True)
    human = replace(POLICY, confirmation=Confirmation(ConfirmedBy.HUMAN))
    for decision in (new, replace(new, exact=True, similarity=1.0)):
        found = attention(human, decision, BAR, Facts(served=False), 0.9)
        assert found.reasons == ("unconfirmed",)
        assert found.risk == pytest.approx(1 - 0.95**0.5)
    users = replace(POLICY, confirmation=Confirmation(ConfirmedBy.USERS))
    assert attention(users, new, BAR, Facts(served=False), 0.9) == Attention()
    assert attention(human, CALM, BAR, Facts(), 0.9) == Attention()
