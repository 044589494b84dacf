"""Which node goes first: the order's rules, one by one."""

from __future__ import annotations

import pytest

from semcache.engine.prefix.eviction import (
    FREQUENCY,
    PRUNED,
    QUOTA,
    RECENCY,
    WARMED,
)
from semcache.engine.prefix.frequency import HOUR
from semcache.engine.prefix.rules import EvictionRules
from tests.engine.prefix.orders import Bench


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
