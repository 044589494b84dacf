"""Any order of calls on the order of eviction, against a plain model of it; its size in memory."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from semcache.engine.prefix.baselines import LeastFrequent, LeastRecent
from semcache.engine.prefix.eviction import (
    HybridOrder,
)
from semcache.engine.prefix.lanes import Lanes
from semcache.engine.prefix.rules import EvictionRules
from tests.engine.prefix.orders import hybrid
from tests.engine.prefix.rows import Rows


class QueueMachine(RuleBasedStateMachine):
    """Nodes come, are used, leave and are popped; a dictionary says what is queued."""

    make: Callable[[Rows], LeastRecent | LeastFrequent | HybridOrder]

    @initialize()
    def begin(self) -> None:
        self.rows = Rows()
        self.order = type(self).make(self.rows)
        self.queued: dict[int, None] = {}
        self.pinned: list[int] = []
        self.now = 0.0

    def expected(self, nodes: list[int]) -> list[int] | None:
        """Give those that may be popped next, if the model knows."""
        return None

    @rule(length=st.integers(1, 300), tenant=st.sampled_from("abc"), wait=st.sampled_from([0.0, 1.0]))
    def add(self, length: int, tenant: str, wait: float) -> None:
        self.now += wait
        node = self.rows.new(length, self.now, tenant=tenant)
        self.order.add(node)
        self.queued[node] = None

    @precondition(lambda self: self.queued)
    @rule(data=st.data())
    def pin(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(sorted(self.queued)))
        self.order.remove(node)
        del self.queued[node]
        self.pinned.append(node)

    @precondition(lambda self: self.pinned)
    @rule(data=st.data(), is_use=st.booleans(), wait=st.sampled_from([0.0, 1.0, 5000.0]))
    def unpin(self, data: st.DataObject, is_use: bool, wait: float) -> None:
        node = data.draw(st.sampled_from(self.pinned))
        self.pinned.remove(node)
        if is_use:
            self.now += wait
            self.rows.hits[node] += 1
            self.rows.touched[node] = self.now
            if isinstance(self.order, HybridOrder):
                self.order._decay.count(self.rows.weight, [node], self.now)
                self.order.used([node], self.now)
        self.order.add(node)
        self.queued[node] = None

    @rule(tenant=st.sampled_from([None, "a", "b", "nobody"]), share=st.floats(0, 1))
    def pop(self, tenant: str | None, share: float) -> None:
        candidates = [node for node in self.queued if tenant in (None, self.rows.tenants[node])]
        victim = self.order.pop(self.now, tenant)
        if not candidates:
            assert victim is None
            return
        assert victim is not None
        assert victim.node in candidates
        expected = self.expected(candidates)
        assert expected is None or victim.node in expected
        part = int(share * self.rows.length[victim.node])
        if victim.most is not None:
            assert 0 < victim.most < self.rows.length[victim.node]
            part = min(part, victim.most) or victim.most
        if 0 < part < self.rows.length[victim.node]:
            self.rows.trim(victim.node, part)
            self.order.add(victim.node)
        else:
            self.rows.free(victim.node)
            del self.queued[victim.node]

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert len(self.order) == len(self.queued)
        assert sorted(self.order.queued()) == sorted(self.queued)


class RecentMachine(QueueMachine):
    make = LeastRecent

    def expected(self, nodes: list[int]) -> list[int]:
        oldest = min(self.rows.touched[node] for node in nodes)
        return [node for node in nodes if self.rows.touched[node] == oldest]


class FrequentMachine(QueueMachine):
    make = LeastFrequent

    def expected(self, nodes: list[int]) -> list[int]:
        def key(node: int) -> tuple[int, float]:
            return self.rows.hits[node], self.rows.touched[node]

        least = min(map(key, nodes))
        return [node for node in nodes if key(node) == least]


class PlainRuleMachine(QueueMachine):
    make = hybrid

    def expected(self, nodes: list[int]) -> list[int]:
        rows = self.rows
        unused = [node for node in nodes if not rows.hits[node]]
        deep = [node for node in nodes if rows.end[node] >= 128]
        if unused:
            oldest = min(rows.touched[node] for node in unused)
            return [node for node in unused if rows.touched[node] == oldest]
        if deep:
            oldest = min(rows.touched[node] for node in deep)
            return [node for node in deep if rows.touched[node] == oldest]
        values = {node: self.order._decay.value(rows.weight[node], self.now) for node in nodes}
        return [node for node in nodes if values[node] <= min(values.values()) * 1.001]


class LearningMachine(QueueMachine):
    make = staticmethod(lambda rows: hybrid(rows, EvictionRules(evidence=3, shallow_share=0.1)))


@pytest.mark.parametrize("machine", [RecentMachine, FrequentMachine, PlainRuleMachine, LearningMachine])
def test_any_order_of_calls(machine: type[QueueMachine]) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        machine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )


def test_dead_entries_stay_within_a_constant_factor_of_the_living() -> None:
    keys: dict[int, int] = {}
    lanes = Lanes(1)
    random = Random(1)
    for step in range(20_000):
        node = random.randrange(300)
        tenant = f"t{node % 7}"
        if node in keys:
            del keys[node]
            lanes.drop(node)
        if random.random() < 0.7:
            keys[node] = step
            lanes.add(node, 0, step, tenant)
        assert lanes.entries <= 2 * len(keys) + 8 * 17 + 2 * 7
    for node in sorted(keys, key=keys.__getitem__):
        head = lanes.least(0, lambda _: True)
        assert head is not None
        assert head.node == node
        lanes.drop(head.node)
    assert lanes.least(0, lambda _: True) is None


def test_a_queued_node_takes_about_sixty_bytes() -> None:
    import tracemalloc

    rows, count = Rows(), 20_000
    nodes = [rows.new(200, float(number), place=b"") for number in range(count)]
    order = hybrid(rows, capacity=200 * count)
    tracemalloc.start()
    for node in nodes:
        order.add(node)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used / count < 75
