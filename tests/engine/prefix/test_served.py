"""The tree and the shipped order of eviction together: whatever is asked, both agree about every node."""

from __future__ import annotations

from random import Random
from types import MappingProxyType

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from semcache.engine.layers import NOBODY, Owner
from semcache.engine.prefix.eviction import REASONS, HybridOrder
from semcache.engine.prefix.faults import IntegrityError
from semcache.engine.prefix.frequency import HalfLife
from semcache.engine.prefix.lanes import Lanes
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.shares import Share, Shares
from tests.engine.prefix.rows import Rows
from tests.engine.prefix.served import Served

OWNERS = (NOBODY, Owner("a", b"1"), Owner("a", b"2"), Owner("b", b"1"))
HEADS = ([0, 0, 1], [0, 1], [1, 0, 0, 1, 1, 0])
RULES = (
    EvictionRules(),
    EvictionRules(shallow=4, shallow_share=0.3, evidence=3, ghosts=6, half_life=2.0),
    EvictionRules(shallow=5, learns=False, floor=2),
)


def shares_of(capacity: int) -> Shares:
    part = capacity // 5
    return Shares(capacity, Share(part), Share(part), MappingProxyType({"a": Share(part, 3 * part)}))


# A number that comes back.


def anybody(_: str) -> bool:
    return True


@pytest.mark.parametrize("key", [-4096, 0, 7])
def test_a_number_that_comes_back_under_its_old_key_is_another_tenants_alone(key: int) -> None:
    lanes = Lanes(2)
    lanes.add(1, 0, key, "a")
    lanes.add(2, 0, key + 1, "a")
    lanes.drop(1)
    lanes.add(1, 0, key, "b")
    lanes.check_integrity()
    mine, theirs = lanes.least_of(0, "a"), lanes.least_of(0, "b")
    assert (mine and mine.node, theirs and theirs.node) == (2, 1)
    lanes.drop(1)
    assert lanes.least_of(0, "b") is None
    head = lanes.least(0, anybody)
    assert head is not None
    assert (head.node, head.tenant) == (2, "a")
    lanes.add(1, 1, key, "a")
    assert lanes.least_of(0, "a") == head
    lanes.check_integrity()


@pytest.mark.parametrize("warmed", [False, True])
@pytest.mark.parametrize("length", [5, 500])
def test_a_tenant_never_gives_a_node_of_another(length: int, warmed: bool) -> None:
    # Two nodes of one tenant; the number of the first then is another tenant's, of the same moment.
    rows = Rows()
    order = HybridOrder(rows, 1000, HalfLife(), EvictionRules(), None)
    first, second = rows.new(length, 1.0), rows.new(length, 1.0)
    for node in (first, second):
        rows.hits[node] = 1
        if warmed:
            order.warm(node, 100.0)
        order.add(node)
    order.remove(first)
    rows.tenants[first] = "b"
    order.add(first)
    popped = [order.pop(2.0, "a"), order.pop(2.0, "a"), order.pop(2.0, "b")]
    assert [victim and victim.node for victim in popped] == [second, None, first]
    order.check_integrity()


def test_a_node_is_never_queued_twice_nor_taken_out_twice() -> None:
    lanes = Lanes(1)
    with pytest.raises(IntegrityError):
        lanes.drop(3)
    lanes.add(3, 0, 1, "a")
    with pytest.raises(IntegrityError):
        lanes.add(3, 0, 2, "a")
    lanes.check_integrity()
    lanes.drop(3)
    with pytest.raises(IntegrityError):
        lanes.drop(3)
    assert len(lanes) == 0
    lanes.check_integrity()


@pytest.mark.parametrize("harm", ["tenants", "end", "length"])
def test_a_change_of_a_queued_node_is_found_out(harm: str) -> None:
    rows = Rows()
    order = HybridOrder(rows, 1000, HalfLife(), EvictionRules(), None)
    nodes = [rows.new(50, 1.0) for _ in range(3)]
    for node in nodes:
        rows.hits[node] = 1
        order.add(node)
    order.check_integrity()
    match harm:
        case "tenants":
            rows.tenants[nodes[1]] = "b"
        case "end":
            rows.end[nodes[1]] = 400  # deep by now
        case _:
            rows.length[nodes[1]] = 49
    with pytest.raises(IntegrityError):
        order.check_integrity()


def test_a_tenant_that_was_set_aside_comes_back_in_its_place() -> None:
    lanes = Lanes(1)
    lanes.add(1, 0, 10, "a")
    lanes.add(2, 0, 20, "b")
    found = lanes.least(0, lambda tenant: tenant != "a")
    assert found is not None
    assert found.node == 2
    lanes.add(3, 0, 30, "a")
    lanes.check_integrity()
    found = lanes.least(0, anybody)
    assert found is not None
    assert found.node == 1


# Many short lives.


def walk(
    seed: int, capacity: int, active: int, rules: EvictionRules, shares: Shares | None, *, floors: bool = True
) -> Served:
    chance = Random(seed)
    served = Served(capacity, rules, shares, floors=floors)
    mids = [[chance.randrange(2) for _ in range(chance.randint(0, 5))] for _ in range(4)]
    for step in range(250):
        served.now += chance.choice((0.0, 0.3, 1.0))
        do = chance.random()
        if len(served.running) < active and do < 0.45:
            rest = chance.choice(mids) + [chance.randrange(2) for _ in range(chance.randint(0, 4))]
            served.ask(
                chance.choice(HEADS),
                rest,
                chance.choice(OWNERS),
                is_public=chance.random() < 0.4,
                counts=chance.random() < 0.8,
            )
        elif do > 0.97:
            served.evict(chance.randint(1, 4), chance.choice(("a", "b", "")))
        elif served.running:
            one = chance.choice(served.running)
            if do > 0.9:
                served.warm(one, chance.choice((0.0, 1.0, 5.0)))
            served.advance(one, chance.randint(1, 4))
        if step % 20 == 0:
            served.check()
    served.check()
    if not floors:
        served.evict(capacity, floors=False)
    return served


@pytest.mark.parametrize("active", [1, 3])
@pytest.mark.parametrize("capacity", [15, 25, 40])
def test_any_order_of_requests(capacity: int, active: int) -> None:
    reasons: set[str] = set()
    for seed in range(24):
        shares = shares_of(capacity) if seed % 4 == 3 else None
        served = walk(seed, capacity, active, RULES[seed % 3], shares)
        reasons |= {reason for reason, _ in served.tree.counts().evictions}
    for seed in range(24, 32):
        served = walk(seed, capacity, active, RULES[seed % 3], shares_of(capacity), floors=False)
        reasons |= {reason for reason, _ in served.tree.counts().evictions}
    assert reasons == set(REASONS), "something never happens here"


class ServedMachine(RuleBasedStateMachine):
    """The same, step by step, with all books compared after each."""

    @initialize(
        capacity=st.sampled_from([15, 25, 40]), rules=st.sampled_from(RULES), has_shares=st.booleans()
    )
    def begin(self, capacity: int, rules: EvictionRules, has_shares: bool) -> None:
        self.served = Served(capacity, rules, shares_of(capacity) if has_shares else None)

    @rule(
        head=st.sampled_from(HEADS),
        rest=st.lists(st.integers(0, 1), max_size=7),
        owner=st.sampled_from(OWNERS),
        is_public=st.booleans(),
        counts=st.booleans(),
    )
    def ask(self, **prompt: object) -> None:
        if len(self.served.running) < 4:
            self.served.ask(**prompt)  # type: ignore[arg-type]  # as drawn

    @precondition(lambda self: self.served.running)
    @rule(data=st.data(), count=st.integers(1, 9), is_given_up=st.booleans())
    def advance(self, data: st.DataObject, count: int, is_given_up: bool) -> None:
        one = data.draw(st.sampled_from(self.served.running))
        self.served.advance(one, count)
        if is_given_up and one in self.served.running:
            self.served.end(one)

    @precondition(lambda self: self.served.running)
    @rule(data=st.data(), seconds=st.sampled_from([-1.0, 0.5, 5.0]))
    def warm(self, data: st.DataObject, seconds: float) -> None:
        self.served.warm(data.draw(st.sampled_from(self.served.running)), seconds)

    @rule(count=st.integers(1, 20), name=st.sampled_from([None, None, "", "a", "b", "local"]))
    def evict(self, count: int, name: str | None) -> None:
        self.served.evict(count, name)

    @rule(count=st.integers(1, 40))
    def evict_in_need(self, count: int) -> None:
        self.served.evict(count, floors=False)

    @rule(seconds=st.sampled_from([0.1, 1.0, 60.0]))
    def wait(self, seconds: float) -> None:
        self.served.now += seconds

    @rule(really=st.integers(0, 9))
    def clear(self, really: int) -> None:
        if really == 0:
            self.served.clear()

    @invariant()
    def adds_up(self) -> None:
        if hasattr(self, "served"):
            self.served.check()


TestServedMachine = ServedMachine.TestCase
TestServedMachine.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)


@pytest.mark.slow
class TestServedMachineLong(ServedMachine.TestCase):
    settings = settings(max_examples=1500, stateful_step_count=80, deadline=None)
