"""What this process has set aside and not yet settled: under which budgets, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semcache.cost_rules import BudgetRule


@dataclass(frozen=True, slots=True)
class Held:
    """What was set aside for one request. `money` (micro-USD) is the estimate, None where no price was known."""

    rules: tuple[BudgetRule, ...]
    money: int | None


class OpenHolds:
    """Held amounts by name. The oldest are forgotten beyond `most`: those are settled by the policy in force instead.

    Args:
        most: kept at a time.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._held: dict[str, Held] = {}
        self._most = most

    def __len__(self) -> int:
        return len(self._held)

    def put(self, hold: str, rules: Sequence[BudgetRule], money: int | None) -> None:
        """Remember what was set aside. `rules` are as the policy states them."""
        if len(self._held) >= self._most:
            del self._held[next(iter(self._held))]
        self._held[hold] = Held(tuple(rules), money)

    def take(self, hold: str) -> Held | None:
        """Give what was set aside under a name, once."""
        return self._held.pop(hold, None)
