"""Which budgets hold for which requests."""

from __future__ import annotations

import pytest

from semcache.budgeting.matching import holds_for, may_hold_for
from semcache.cost_rules import BudgetRule, CostPolicy

ALL = BudgetRule("all")
ATLAS = BudgetRule("atlas", labels=(("project", "atlas"),))
ATLAS_PROD = BudgetRule("atlas-prod", labels=(("project", "atlas"), ("environment", "prod")))
DEAR = BudgetRule("dear", models=("gpt-5*", "o3"))
SITE = BudgetRule("site", keys=("website",))
POLICY = CostPolicy(budgets=(ALL, ATLAS, ATLAS_PROD, DEAR, SITE))


@pytest.mark.parametrize(
    ("labels", "model", "key", "names"),
    [
        ((), "m", "", "all"),
        ((("project", "atlas"),), "m", "", "all atlas"),
        ((("project", "Atlas"),), "m", "", "all"),
        ((("environment", "prod"), ("project", "atlas"), ("team", "x")), "m", "", "all atlas atlas-prod"),
        ((("environment", "prod"),), "m", "", "all"),
        ((), "gpt-5-mini", "", "all dear"),
        ((), "gpt-5", "", "all dear"),
        ((), "o3", "", "all dear"),
        ((), "o3-mini", "", "all"),
        ((), "gpt-4", "website", "all site"),
        ((), "", "Website", "all"),
    ],
)
def test_every_condition_must_hold(
    labels: tuple[tuple[str, str], ...], model: str, key: str, names: str
) -> None:
    assert " ".join(rule.name for rule in holds_for(POLICY, labels, model, key)) == names


def test_without_a_model_some_may_hold() -> None:
    only = CostPolicy(budgets=(DEAR,))
    assert may_hold_for(only, (), "")
    assert not may_hold_for(CostPolicy(budgets=(SITE,)), (), "")
    assert not may_hold_for(CostPolicy(), (), "")
    assert holds_for(CostPolicy(), (), "m", "") == ()
