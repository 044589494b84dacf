"""`semcache policy test` shows which words of a pair the gate objects to."""

from __future__ import annotations

from semcache.cli.policy import _places
from semcache.core import Effect, GateRules, TenantId
from semcache.policy.schema import Trial
from semcache.policy.trial import TrialCase, TrialResult
from tests.decide.build import policy


def result(a: str, b: str, outcome: str, rules: GateRules | None = None) -> TrialResult:
    trial = Trial(a=a, b=b, expect="differ")
    case = TrialCase(TenantId("acme"), "acme.yaml:7", trial, policy(gate=rules or GateRules()))
    return TrialResult(case, outcome, 0.98, ("gate",))


def test_the_words_of_both_questions_are_shown() -> None:
    lines = list(_places(result("Is 5 mg safe?", "Is 50 mg safe?", "miss")))
    assert lines == ["  acme.yaml:7: numbers vetoes: a '5 mg', b '50 mg'"]


def test_what_is_missing_on_one_side_is_a_dash() -> None:
    lines = list(_places(result("Is aspirin safe?", "Is aspirin not safe?", "draft")))
    assert lines == ["  acme.yaml:7: negation vetoes: a -, b 'not'"]


def test_a_raised_bar_is_named_so() -> None:
    lines = list(_places(result("Explain rule 3", "Explain rule 4", "miss", GateRules(numbers=Effect.RAISE))))
    assert lines == ["  acme.yaml:7: numbers raises the bar: a '3', b '4'"]


def test_nothing_is_said_of_a_hit() -> None:
    assert list(_places(result("Is 5 mg safe?", "Is 50 mg safe?", "hit"))) == []
