"""Floors and ceilings of tenants, alone and in the order of eviction."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.layers import PUBLIC, Layer, Owner
from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.eviction import PRUNED, QUOTA, RESERVE, HybridOrder, HybridPolicy
from semcache.engine.prefix.frequency import HalfLife
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.shares import CeilingError, Cut, Share, Shares, SharesError
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.runs import total
from semcache.errors import EngineError
from tests.engine.prefix.recent import tenant, tokens
from tests.engine.prefix.rows import Rows


@pytest.mark.parametrize(
    ("floor", "ceiling"), [(-1, None), (10, 9), (-5, -6)], ids=["negative", "crossed", "both"]
)
def test_refuses_limits_that_contradict_themselves(floor: int, ceiling: int | None) -> None:
    with pytest.raises(SharesError):
        Share(floor, ceiling)


def test_refuses_to_promise_more_than_there_is() -> None:
    named = {"a": Share(400), "b": Share(300)}
    assert Shares(1000, default=Share(100), public=Share(200), tenants=named).have_floors
    with pytest.raises(SharesError, match="1001 tokens do not fit a pool of 1000"):
        Shares(1000, default=Share(101), public=Share(200), tenants=named)
    assert issubclass(SharesError, EngineError)


def test_the_public_is_no_tenant() -> None:
    with pytest.raises(SharesError, match="public"):
        Shares(1000, tenants={"": Share(10)})
    shares = Shares(1000, default=Share(10), public=Share(300))
    assert shares.floor("", {"": 500}) == 300
    assert shares.spare("", {"": 500}) == 200


def test_default_floors_share_what_is_left_however_many_come() -> None:
    shares = Shares(1000, default=Share(200), tenants={"a": Share(500)})
    few = {"a": 500, "b": 100}
    many = {"a": 500} | {f"t{n}": 5 for n in range(99)}
    assert shares.floor("b", few) == 200
    assert shares.floor("t7", many) == 5
    assert shares.floor("a", many) == 500


@given(st.integers(0, 300), st.dictionaries(st.text("abcdef", min_size=1), st.integers(0, 1000), max_size=30))
def test_floors_in_force_never_promise_more_than_there_is(default: int, held: dict[str, int]) -> None:
    shares = Shares(1000, default=Share(default), public=Share(100), tenants={"a": Share(400)})
    everybody = {"", "a", *held}
    holding = {name: held.get(name, 0) for name in everybody}
    assert sum(shares.floor(name, holding) for name in everybody) <= 1000


def test_a_tenant_makes_room_among_its_own_up_to_its_ceiling() -> None:
    shares = Shares(1000, default=Share(0, 300))
    assert shares.cuts("a", 100, {"a": 100}, free=500) == ()
    assert shares.cuts("a", 100, {"a": 250}, free=500) == (Cut(50, "a"),)
    assert shares.cuts("a", 100, {"a": 250}, free=20) == (Cut(50, "a"), Cut(30, None))
    assert shares.cuts("a", 100, {"a": 300}, free=0) == (Cut(100, "a"),)
    assert shares.cuts("b", 100, {}, free=0) == (Cut(100, None),)
    with pytest.raises(CeilingError):
        shares.cuts("a", 301, {}, free=1000)


def test_reports_who_holds_what() -> None:
    shares = Shares(1000, default=Share(10, 500), public=Share(100))
    assert [(row.tenant, row.tokens, row.floor, row.ceiling) for row in shares.report({"b": 7, "": 3})] == [
        ("", 3, 100, None),
        ("b", 7, 10, 500),
    ]


class Engine:
    """A pool and a tree with shares, as a scheduler uses them."""

    def __init__(self, capacity: int, shares: Shares) -> None:
        self.shares = shares
        self.slots = RunAllocator(capacity)
        policy = HybridPolicy(capacity, EvictionRules(evidence=8), shares)
        self.tree = PrefixTree(capacity, policy.order, policy)

    def ask(self, owner: Owner, prompt: list[int], now: float) -> int:
        """Serve a prompt of one owner; gives the tokens that were reused."""
        ids, layers = tokens(prompt), (Layer(len(prompt), owner),)
        match = self.tree.match(ids, layers)
        handle = self.tree.lock(match, match.length, now)
        missing = len(prompt) - match.length
        for cut in self.shares.cuts(owner.tenant, missing, self.tree.held, self.slots.free):
            self.slots.give(self.tree.evict(cut.tokens, now, tenant=cut.tenant))
        runs = self.slots.take(missing)
        if runs is None:
            self.slots.give(self.tree.evict(missing - self.slots.free, now, tenant=owner.tenant))
            runs = self.slots.take(missing)
        assert runs is not None
        handle = self.tree.insert(handle, ids, layers, runs, now).handle
        self.tree.unlock(handle)
        self.tree.check_integrity()
        return match.length


def prompts(start: int, count: int, length: int) -> list[list[int]]:
    return [[start + number, *range(length - 1)] for number in range(count)]


def test_a_scan_leaves_another_tenants_floor_untouched() -> None:
    engine = Engine(1000, Shares(1000, tenants={"b": Share(300)}))
    mine = prompts(0, 6, 50)
    for at, prompt in enumerate(mine):
        engine.ask(tenant("b"), prompt, float(at))
    for at, prompt in enumerate(prompts(1000, 60, 90)):
        engine.ask(tenant("a"), prompt, 10.0 + at)
    assert engine.tree.held["b"] == 300
    assert [engine.ask(tenant("b"), prompt, 100.0) for prompt in mine] == [50] * 6


def test_above_its_floor_a_tenant_gives_down_to_the_floor_and_not_below() -> None:
    engine = Engine(1000, Shares(1000, tenants={"b": Share(300)}))
    engine.ask(tenant("b"), prompts(0, 1, 700)[0], 0.0)
    for at, prompt in enumerate(prompts(1000, 30, 90)):
        engine.ask(tenant("a"), prompt, 1.0 + at)
    assert engine.tree.held["b"] == 300


def test_a_tenant_at_its_ceiling_takes_from_nobody_else() -> None:
    engine = Engine(1000, Shares(1000, default=Share(0, 400)))
    engine.ask(tenant("b"), prompts(0, 1, 400)[0], 0.0)
    for at, prompt in enumerate(prompts(1000, 30, 150)):
        engine.ask(tenant("a"), prompt, 1.0 + at)
        assert engine.tree.held["a"] <= 400
    assert engine.tree.held["b"] == 400
    assert {reason for reason, _ in engine.tree.counts().evictions} == {QUOTA}


def test_public_tokens_have_a_floor_of_their_own() -> None:
    engine = Engine(1000, Shares(1000, public=Share(200)))
    engine.ask(PUBLIC, prompts(0, 1, 200)[0], 0.0)
    for at, prompt in enumerate(prompts(1000, 40, 90)):
        engine.ask(tenant("a"), prompt, 1.0 + at)
    assert engine.tree.held[""] == 200


def test_in_need_floors_give_last_and_what_is_worth_least_first() -> None:
    rows = Rows()
    rows.held = held = Counter()
    shares = Shares(2000, default=Share(300))
    order = HybridOrder(rows, 2000, HalfLife(), EvictionRules(learns=False), shares)
    reused = rows.new(300, tenant="b")
    rows.hits[reused] = 1
    order.used([reused], 1.0)
    order.add(reused)
    for name, size in (("a", 300), ("c", 300), ("d", 400), ("e", 50), ("e", 300)):
        node = rows.new(size, tenant=name)
        if size == 50:
            order.warm(node, until=99.0)
        order.add(node)
    seen: list[tuple[str, str, int | None]] = []
    while (victim := order.pop(10.0, floors=False)) is not None:
        seen.append((rows.tenants[victim.node], victim.reason, victim.most))
        if victim.most is not None:
            rows.trim(victim.node, victim.most)
            order.add(victim.node)
        else:
            rows.free(victim.node)
        order.check_integrity()
    assert not held.total()
    assert seen == [
        ("d", PRUNED, 100),
        ("e", PRUNED, 50),
        ("a", RESERVE, None),
        ("c", RESERVE, None),
        ("d", RESERVE, None),
        ("e", RESERVE, None),
        ("b", RESERVE, None),
        ("e", RESERVE, None),
    ]


def test_what_a_floor_gave_up_is_kept_again_when_it_is_back() -> None:
    engine = Engine(1000, Shares(1000, tenants={"b": Share(300)}))
    prompt = prompts(0, 1, 300)[0]
    engine.ask(tenant("b"), prompt, 0.0)
    engine.slots.give(engine.tree.evict(120, 1.0, floors=False))
    assert engine.tree.held["b"] == 180
    assert engine.tree.evict(1, 2.0) == ()
    assert engine.ask(tenant("b"), prompt, 3.0) == 180
    for at, other in enumerate(prompts(1000, 30, 90)):
        engine.ask(tenant("a"), other, 4.0 + at)
    assert engine.tree.held["b"] == 300
    assert dict(engine.tree.counts().evictions)[RESERVE] == 120


class Asked(Counter[str]):
    """Tokens by tenant, and how often somebody looked."""

    asked = 0

    def get(self, name: str, default: int = 0) -> int:  # type: ignore[override]  # the one form in use
        self.asked += 1
        return super().get(name, default)


def test_among_ten_thousand_tenants_a_victim_costs_a_few_steps() -> None:
    rows, count = Rows(), 10_000
    rows.held = held = Asked()
    shares = Shares(100 * count, default=Share(50))
    order = HybridOrder(rows, 100 * count, HalfLife(), EvictionRules(), shares)
    for number in range(count):
        # One in ten holds more than its floor, and these are the last ones.
        order.add(rows.new(40 if number < 9 * count // 10 else 100, float(number), tenant=f"t{number}"))
    first = order.pop(1e6)
    assert first is not None
    assert held.asked <= count, "those at their floors are set aside once"
    rows.trim(first.node, 50)
    order.add(first.node)
    held.asked = 0
    for _ in range(900):
        victim = order.pop(1e6)
        assert victim is not None
        assert victim.most == 50
        rows.trim(victim.node, 50)
        order.add(victim.node)
    assert held.asked <= 900 * 8


def test_in_need_too_a_victim_costs_a_few_steps_among_ten_thousand_tenants() -> None:
    rows, count = Rows(), 10_000
    rows.held = held = Asked()
    order = HybridOrder(
        rows, 100 * count, HalfLife(), EvictionRules(), Shares(100 * count, default=Share(50))
    )
    for number in range(count):
        order.add(rows.new(40, float(number), tenant=f"t{number}"))
    held.asked = 0
    for number in range(900):
        victim = order.pop(1e6, floors=False)
        assert victim is not None
        assert victim.reason == RESERVE
        if number % 3:
            rows.free(victim.node)
        else:
            rows.trim(victim.node, 10)
            order.add(victim.node)
    assert held.asked <= 2 * count + 900 * 8
    order.check_integrity()


def test_in_need_what_is_set_free_goes_before_the_next_floor() -> None:
    """A public beginning is nobody's any more once the floor that stood on it is gone."""
    engine = Engine(1000, Shares(1000, tenants={"a": Share(10), "b": Share(10)}))
    head = list(range(30))
    for at, name in enumerate("ab"):
        own = [*(head if name == "a" else []), *range(100 * (at + 1), 100 * (at + 1) + 10)]
        ids = tokens(own)
        layers = (*((Layer(30, PUBLIC),) if name == "a" else ()), Layer(len(own), tenant(name)))
        handle = engine.tree.lock(engine.tree.match(ids, layers), 0, float(at))
        runs = engine.slots.take(len(own))
        assert runs is not None
        engine.tree.unlock(engine.tree.insert(handle, ids, layers, runs, float(at)).handle)
    assert engine.tree.evict(40, 5.0) == ()
    assert total(engine.tree.evict(40, 5.0, floors=False)) == 40
    assert dict(engine.tree.held) == {"b": 10}
    assert dict(engine.tree.counts().evictions)[RESERVE] == 10
