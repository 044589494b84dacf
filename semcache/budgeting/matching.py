"""Which budgets hold for a request. Pure."""

from __future__ import annotations

from semcache.core import Labels
from semcache.cost_rules import BudgetRule, CostPolicy


def holds_for(policy: CostPolicy, labels: Labels, model: str, key_name: str) -> tuple[BudgetRule, ...]:
    """Give the budgets that a request falls under.

    Args:
        policy: what the tenant's file says.
        labels: of the request, by their usual names (`cost_rules.named`).
        model: as it was asked for.
        key_name: the caller's key, "" without one.
    """
    if not policy.budgets:
        return ()
    said = dict(labels)
    return tuple(rule for rule in policy.budgets if _is_for(rule, said, key_name) and covers(rule, model))


def may_hold_for(policy: CostPolicy, labels: Labels, key_name: str) -> bool:
    """Tell whether some budget falls on a request of these labels and this key, whatever the model."""
    said = dict(labels)
    return any(_is_for(rule, said, key_name) for rule in policy.budgets)


def _is_for(rule: BudgetRule, said: dict[str, str], key_name: str) -> bool:
    if rule.keys and key_name not in rule.keys:
        return False
    return all(said.get(name) == value for name, value in rule.labels)


def covers(rule: BudgetRule, model: str) -> bool:
    """Tell whether a budget is for a model; a final `*` in its patterns stands for any ending."""
    if not rule.models:
        return True
    return any(
        model.startswith(pattern[:-1]) if pattern.endswith("*") else model == pattern
        for pattern in rule.models
    )
