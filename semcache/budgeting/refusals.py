"""What a client is told when a budget stands against its request. Pure."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from semcache.cost_port import BudgetState, Refused
from semcache.cost_rules import BudgetRule
from semcache.errors import RequestError

QUOTA = "insufficient_quota"
_WHAT = {"money": "money left for this request", "requests": "requests left"}


def used_up(refused: Refused, now: float) -> RequestError:
    """Make the error for a budget that is used up: 429, not to be tried again before it begins anew."""
    state = refused.state
    reset = _rfc3339(state.ends)
    what = _WHAT.get(refused.limit, _WHAT["money"])
    return RequestError(
        f"The budget {state.rule.name!r} has no {what} until {reset}.",
        status=429,
        type=QUOTA,
        code=QUOTA,
        headers=(
            ("x-should-retry", "false"),
            ("retry-after", str(_seconds(state, now))),
            ("semcache-budget", state.rule.name),
            ("semcache-budget-reset", reset),
        ),
    )


def unpriced(rule: BudgetRule) -> RequestError:
    """Make the error for a model that no price is known of, under a hard limit: 403, nothing to wait for."""
    return RequestError(
        f"The budget {rule.name!r} is only for models whose price is known, and that of this one is not. Who runs the proxy "
        "can state it in the price file, or say unknown_price: allow.",
        status=403,
        type=QUOTA,
        code="price_unknown",
        param="model",
        headers=(("x-should-retry", "false"), ("semcache-budget", rule.name)),
    )


def unavailable(rule: BudgetRule) -> RequestError:
    """Make the error for when nobody can tell what is left: 503."""
    return RequestError(
        f"What is left of the budget {rule.name!r} cannot be told at the moment.",
        status=503,
        type="server_error",
        code="budget_unavailable",
        headers=(("retry-after", "1"), ("semcache-budget", rule.name)),
    )


def _seconds(state: BudgetState, now: float) -> int:
    return max(1, math.ceil(state.ends - now))


def _rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
