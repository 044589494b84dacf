"""The order of victims: against naive models, and in the cases that it is made for."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.baselines import LeastFrequent, LeastRecent
from semcache.engine.prefix.eviction import (
    FREQUENCY,
    PRUNED,
    QUOTA,
    RECENCY,
    WARMED,
    HybridOrder,
    HybridPolicy,
)
from semcache.engine.prefix.frequency import HOUR, HalfLife
from semcache.engine.prefix.lanes import Lanes
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.tree import PrefixTree
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


def test_deep_unused_go_first_then_deep_by_recency_then_shallow_by_frequency() -> None:
    bench = Bench()
    often, deep, late = bench.new(100), bench.new(200), bench.new(300)
    once, unused, newer = bench.new(90), bench.new(400), bench.new(128)
    for now in range(1, 6):
        bench.use(often, float(now))
    bench.use(late, 10.0)
    bench.use(once, 11.0)
    bench.use(deep, 12.0)
    assert bench.pops() == [
        (unused, PRUNED),
        (newer, PRUNED),
        (late, RECENCY),
        (deep, RECENCY),
        (once, FREQUENCY),
        (often, FREQUENCY),
    ]


def test_frequency_of_shallow_nodes_decays() -> None:
    # 1,000 hits on the first day; the others 5 a minute on the second, for two hours.
    bench = Bench()
    nodes = [bench.new(100) for _ in range(26)]
    for _ in range(1000):
        bench.use(nodes[0], HOUR)
    for minute in range(120):
        for node in nodes[1:]:
            for _ in range(5):
                bench.use(node, 25 * HOUR + 60.0 * minute)
    victim = bench.order.pop(27 * HOUR)
    assert victim is not None
    assert victim.node == nodes[0]


def test_a_short_prompt_that_nobody_used_again_is_not_kept_for_being_short() -> None:
    bench = Bench()
    used, short = bench.new(500), bench.new(20)
    bench.use(used, 1.0)
    assert bench.pops() == [(short, PRUNED), (used, RECENCY)]


def test_the_floor_of_reuses_is_a_knob() -> None:
    bench = Bench(EvictionRules(learns=False, floor=3))
    rarely, often = bench.new(500), bench.new(500)
    for now in (1.0, 2.0, 3.0, 4.0):
        bench.use(often, now)
    bench.use(rarely, 5.0)
    assert bench.pops() == [(rarely, PRUNED), (often, RECENCY)]


def test_shallow_nodes_compete_once_they_fill_more_than_their_share() -> None:
    rules = EvictionRules(evidence=10, shallow_share=0.1)
    bench = Bench(rules, capacity=10_000)
    short = [bench.new(100) for _ in range(60)]
    for node in short:
        bench.use(node, 1.0)
    long = [bench.new(1000) for _ in range(3)]
    for now in range(2, 40):
        for node in long:
            bench.use(node, float(now))
    bench.new(5000, 40.0)
    bench.new(5000, 41.0)
    for now in range(42, 60):
        for node in long:
            bench.use(node, float(now))
    first = [bench.order.pop(60.0) for _ in range(30)]
    assert sum(victim is not None and victim.reason == FREQUENCY for victim in first) >= 25
    assert not {victim.node for victim in first if victim is not None} & set(long)


# Warmed nodes.


def test_warmed_nodes_stay_until_their_time_and_go_like_any_other_after_it() -> None:
    bench = Bench()
    warmed, other = bench.new(200), bench.new(200)
    bench.policy.warm(warmed, 100.0)
    bench.use(other, 1.0)
    victim = bench.order.pop(50.0)
    assert victim is not None
    assert victim.node == other
    bench.order.add(other)
    assert bench.pops(100.0) == [(warmed, PRUNED), (other, RECENCY)]


def test_warmed_nodes_go_if_nothing_else_is_left() -> None:
    bench = Bench()
    bench.policy.warm(bench.new(200), 100.0)
    victim = bench.order.pop(50.0)
    assert victim is not None
    assert victim.reason == WARMED


def test_warming_a_pinned_node_holds_from_its_release() -> None:
    bench = Bench()
    warmed, other = bench.rows.new(200), bench.new(200)
    bench.policy.warm(warmed, 100.0)
    bench.order.add(warmed)
    assert [node for node, _ in bench.pops(50.0)] == [other, warmed]


def test_warming_ends_early_if_told_so() -> None:
    bench = Bench()
    warmed, other = bench.new(200, 0.0), bench.new(200, 1.0)
    bench.policy.warm(warmed, 100.0)
    bench.policy.warm(warmed, 10.0)
    assert [node for node, _ in bench.pops(50.0)] == [warmed, other]


# What leaves and returns.


def test_a_trimmed_node_stays_what_it_was() -> None:
    bench = Bench()
    first, second = bench.new(300), bench.new(300)
    bench.use(first, 1.0)
    bench.use(second, 2.0)
    victim = bench.order.pop(3.0)
    assert victim is not None
    bench.rows.trim(first, 100)
    bench.order.add(first)
    assert bench.pops() == [(first, RECENCY), (second, RECENCY)]


def test_what_comes_back_is_not_new_but_its_new_end_goes_first() -> None:
    bench = Bench()
    node = bench.new(300, place=b"x")
    bench.use(node, 1.0)
    assert [popped for popped, _ in bench.pops(2.0)] == [node]
    bench.rows.free(node)
    again = bench.rows.new(500, 3.0, place=b"x")
    bench.order.add(again)
    victim = bench.order.pop(4.0)
    assert victim == (again, PRUNED, 200)
    bench.rows.trim(again, 200)
    bench.order.add(again)
    unused = bench.new(300, 5.0)
    assert bench.pops() == [(unused, PRUNED), (again, RECENCY)]


def test_the_count_of_what_came_back_belongs_to_the_part_that_is_used() -> None:
    bench = Bench()
    rows = bench.rows
    node = bench.new(300, place=b"x")
    bench.use(node, 1.0)
    bench.pops(2.0)
    again = rows.new(300, 3.0, place=b"x")
    bench.order.add(again)
    # The tree splits it: the upper part takes the place, the lower part keeps the number.
    bench.order.remove(again)
    upper = rows.new(200, 3.0, place=b"x")
    rows.length[again], rows.parent[again], rows.places[again] = 100, upper, b"y"
    bench.order.add(again)
    rows.hits[upper] = 1
    bench.policy.count(rows.weight, [upper], 4.0)
    used = bench.new(300, 5.0)
    bench.use(used, 6.0)
    assert bench.pops() == [(again, PRUNED), (used, RECENCY)]


def test_the_runs_of_one_insertion_are_of_one_age() -> None:
    bench = Bench()
    head = bench.rows.new(200, 0.0)
    tail = bench.rows.new(200, 0.0, parent=head)
    bench.order.add(tail)
    other = bench.new(300, 1.0)
    assert bench.order.pop(2.0) == (tail, PRUNED, None)
    bench.order.add(head)
    assert bench.pops() == [(head, PRUNED), (other, PRUNED)]


def test_pops_of_one_tenant_touch_no_other() -> None:
    bench = Bench()
    mine, theirs = bench.new(200, tenant="a"), bench.new(200, tenant="b")
    assert bench.order.pop(1.0, "b") == (theirs, QUOTA, None)
    assert bench.order.pop(1.0, "b") is None
    assert bench.order.pop(1.0, "nobody") is None
    assert [*bench.order.queued()] == [mine]


def test_a_cleared_order_is_empty_and_usable() -> None:
    bench = Bench()
    bench.policy.warm(bench.new(200), 100.0)
    bench.new(50)
    bench.order.clear()
    assert (len(bench.order), bench.order.pop(1.0)) == (0, None)
    node = bench.new(300)
    assert bench.pops() == [(node, PRUNED)]


@pytest.mark.parametrize("knobs", [{"shallow": -1}, {"half_life": 0.0}, {"floor": -1}, {"ghosts": -1}])
def test_refuses_knobs_without_meaning(knobs: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="knobs"):
        EvictionRules(**knobs)  # type: ignore[arg-type]  # on purpose


# Through the tree.


class Engine:
    """A pool and a tree, one request after another."""

    def __init__(self, capacity: int, rules: EvictionRules | None = None) -> None:
        self.slots = RunAllocator(capacity)
        self.policy = HybridPolicy(capacity, rules)
        self.tree = PrefixTree(capacity, self.policy.order, self.policy)

    def ask(self, prompt: bytes, now: float, answer: bytes = b"", warm_until: float = 0.0) -> int:
        """Serve a prompt; gives the tokens that were reused."""
        whole = prompt + answer
        match = self.tree.match(prompt, ())
        handle = self.tree.lock(match, match.length, now, counts=not warm_until)
        missing = len(whole) // 4 - match.length
        if missing > self.slots.free:
            self.slots.give(self.tree.evict(missing - self.slots.free, now))
        runs = self.slots.take(missing)
        assert runs is not None
        handle = self.tree.insert(handle, whole, (), runs, now).handle
        if warm_until:
            self.policy.warm(handle.node, warm_until)
        self.tree.unlock(handle)
        return match.length


def text(number: int, length: int) -> bytes:
    return Random(number).randbytes(4 * length).translate(bytes(byte & 0x7F for byte in range(256)))


def test_a_system_prompt_of_all_survives_long_one_off_chats() -> None:
    # 20 sessions use 500 tokens every 10 minutes; 25 chats of 90,000 tokens come once; room for 10.
    engine = Engine(900_000)
    system = text(0, 500)
    now, found, asked = 0.0, [], 0
    for chat in range(25):
        for _ in range(20):
            asked += 1
            now += 30.0
            found.append(engine.ask(system + text(1000 + asked, 30), now))
        engine.ask(text(100_000 + chat, 90_000), now + 1)
    assert found[0] == 0
    assert set(found[1:]) == {500}
    engine.tree.check_integrity()


def test_warmed_prefixes_outlive_the_flood_until_their_time_and_not_longer() -> None:
    engine = Engine(5000)
    warmed = [text(number, 200) for number in range(10)]
    for prompt in warmed:
        engine.ask(prompt, 0.0, warm_until=600.0)
    for number in range(60):
        engine.ask(text(1000 + number, 200), 10.0 + number)
    assert [engine.tree.match(prompt, ()).length for prompt in warmed] == [200] * 10
    for number in range(100):
        engine.ask(text(5000 + number, 200), 601.0 + number)
    assert [engine.tree.match(prompt, ()).length for prompt in warmed] == [0] * 10
    engine.tree.check_integrity()


def test_answers_that_never_come_back_go_first() -> None:
    # Ten turns; the client strips what the model thought from the history.
    engine = Engine(100_000)
    history, dead = text(0, 300), 0
    for turn in range(10):
        engine.ask(history, 60.0 * turn, answer=text(100 + turn, 400))
        dead += 400
        history += text(200 + turn, 50)
    live = len(history) // 4 - 50
    engine.slots.give(engine.tree.evict(dead - 450, 600.0))
    assert engine.tree.match(history, ()).length == live
    engine.tree.check_integrity()


def test_the_newest_turn_of_a_conversation_is_kept_where_conversations_go_on() -> None:
    # The plain rule prunes it before all else; with evidence that turns follow, it stays.
    def reused(rules: EvictionRules) -> float:
        engine, found, sent = Engine(14_000, rules), 0, 0
        histories = [text(number, 300) for number in range(12)]
        for turn in range(200):
            session = turn % 12
            histories[session] += text(1000 + turn, 60)
            if len(histories[session]) > 4 * 1100:
                histories[session] = text(5000 + turn, 300)
            found += engine.ask(histories[session], float(turn), answer=text(9000 + turn, 20))
            sent += len(histories[session]) // 4
        engine.tree.check_integrity()
        return found / sent

    assert reused(EvictionRules()) > 0.8
    assert reused(EvictionRules()) >= reused(PLAIN)


def test_learning_is_the_same_every_time() -> None:
    def victims() -> list[tuple[int, str]]:
        random, bench = Random(3), Bench(EvictionRules(evidence=10))
        popped, queued = [], []
        for now in range(400):
            if queued and random.random() < 0.6:
                bench.use(random.choice(queued), float(now))
            else:
                queued.append(bench.new(random.randint(1, 300), float(now)))
            if len(queued) > 20:
                victim = bench.order.pop(float(now))
                assert victim is not None
                queued.remove(victim.node)
                popped.append((victim.node, victim.reason))
        return popped

    assert victims() == victims()


# Any order of calls against naive models.


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
