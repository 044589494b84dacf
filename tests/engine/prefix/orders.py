"""An order of eviction and nodes for it."""

from __future__ import annotations

from semcache.engine.prefix.eviction import (
    HybridOrder,
    HybridPolicy,
)
from semcache.engine.prefix.frequency import HalfLife
from semcache.engine.prefix.rules import EvictionRules
from tests.engine.prefix.rows import Rows

PLAIN = EvictionRules(learns=False)


def hybrid(rows: Rows, rules: EvictionRules = PLAIN, capacity: int = 1000) -> HybridOrder:
    return HybridOrder(rows, capacity, HalfLife(rules.half_life), rules, None)


class Bench:
    """Rows, a hybrid order over them and its decay."""

    def __init__(self, rules: EvictionRules = PLAIN, capacity: int = 1000) -> None:
        self.rows = Rows()
        self.policy = HybridPolicy(capacity, rules)
        self.order = self.policy.order(self.rows)

    def new(self, length: int, now: float = 0.0, **more: object) -> int:
        node = self.rows.new(length, now, **more)  # type: ignore[arg-type]  # passed on
        self.order.add(node)
        return node

    def use(self, node: int, now: float) -> None:
        self.order.remove(node)
        self.rows.hits[node] += 1
        self.rows.touched[node] = now
        self.policy.count(self.rows.weight, [node], now)
        self.order.add(node)

    def pops(self, now: float = 1e6) -> list[tuple[int, str]]:
        popped = []
        while (victim := self.order.pop(now)) is not None:
            popped.append((victim.node, victim.reason))
        return popped


# The plain rule.
