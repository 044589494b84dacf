"""Loads stay within their bound, homes are kept while they can be, and a hot key spreads over the same few."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.routing.balance import Balance, Node
from semcache.routing.sharing import Sharing
from semcache.routing.widths import Widths

PLAIN = Balance(load_factor=1.25, floor=1)


def key(head: int, conversation: int) -> bytes:
    return head.to_bytes(16, "big") + conversation.to_bytes(16, "big")


def pool(size: int = 4, weight: float = 1.0) -> list[Node]:
    return [Node(f"n{number}", weight, 0) for number in range(size)]


def taking(nodes: list[Node], name: str, change: int = 1) -> list[Node]:
    return [Node(n.name, n.weight, n.active + change if n.name == name else n.active) for n in nodes]


NODES = st.lists(
    st.builds(Node, st.uuids().map(str), st.floats(0, 100), st.integers(0, 60)), min_size=1, max_size=8
).filter(lambda nodes: any(node.weight for node in nodes))


@given(
    NODES,
    st.binary(min_size=1, max_size=32),
    st.floats(1, 4),
    st.integers(1, 40),
    st.none() | st.integers(1, 9),
)
def test_whoever_takes_a_call_has_room_for_it(
    nodes: list[Node], affinity: bytes, factor: float, floor: int, near: int | None
) -> None:
    balance = Balance(factor, floor)
    order = balance.order(affinity, nodes, near)
    assert sorted(order) == sorted(node.name for node in nodes), "everybody stands in the order, once"
    taker = next(node for node in nodes if node.name == order[0])
    total = sum(node.active for node in nodes if node.weight) + 1
    share = taker.weight / sum(node.weight for node in nodes)
    assert taker.weight
    assert taker.active + 1 <= max(floor, math.ceil(factor * total * share))


def test_one_hot_key_spreads_within_the_bound() -> None:
    nodes = pool()
    for number in range(200):
        nodes = taking(nodes, PLAIN.order(key(1, 1), nodes)[0])
        loads = [node.active for node in nodes]
        assert max(loads) <= math.ceil(1.25 * (number + 1) / 4)
    assert min(node.active for node in nodes) > 0


def test_a_key_that_spills_goes_to_the_same_second_node() -> None:
    balance = Balance(load_factor=1.25, floor=3)
    home, second = balance.order(key(1, 1), pool())[:2]
    busy = pool()
    for _ in range(3):
        busy = taking(busy, home)
    assert balance.order(key(1, 1), busy)[0] == second
    assert Sharing(balance).home(key(1, 1), busy) == home, "whose it is does not change with the load"


def test_below_the_floor_nobody_is_full() -> None:
    balance = Balance(load_factor=1.25, floor=8)
    nodes = pool()
    home = balance.order(key(1, 1), nodes)[0]
    for _ in range(7):
        nodes = taking(nodes, home)
        assert balance.order(key(1, 1), nodes)[0] == home


def test_loads_follow_weights() -> None:
    nodes = [Node("a", 3, 0), Node("b", 1, 0)]
    for number in range(400):
        nodes = taking(nodes, PLAIN.order(key(number, number), nodes)[0])
    loads = {node.name: node.active for node in nodes}
    assert 0.70 < loads["a"] / 400 <= 0.80


@given(st.lists(st.integers(0, 20), min_size=20, max_size=80))
@settings(max_examples=40)
def test_without_load_every_conversation_keeps_its_node(asked: list[int]) -> None:
    taken: dict[int, str] = {}
    for conversation in asked:
        name = PLAIN.order(key(7, conversation), pool())[0]
        assert taken.setdefault(conversation, name) == name


def test_the_drained_are_asked_last() -> None:
    nodes = [Node("a", 0, 0), Node("b", 1, 50), Node("c", 1, 49)]
    assert all(PLAIN.order(key(number, 0), nodes)[-1] == "a" for number in range(50))
    assert PLAIN.order(key(1, 0), [Node("a", 0, 0)]) == ["a"]


def test_a_system_prompt_can_be_kept_on_few_nodes() -> None:
    balance = Sharing(Balance(load_factor=1.25, floor=4), 2)
    by_head = {
        head: Counter(balance.order(key(head, c), pool(6))[0] for c in range(60)) for head in range(20)
    }
    assert all(len(taken) == 2 for taken in by_head.values()), "all conversations of a head on two nodes"
    assert len(set().union(*by_head.values())) == 6, "and all nodes have heads"
    busy = pool(6)
    for name in by_head[0]:
        for _ in range(4):
            busy = taking(busy, name)
    assert balance.order(key(0, 1), busy)[0] not in by_head[0], "a hot one still spreads"


def test_few_nodes_a_prompt_still_move_little() -> None:
    balance = Sharing(Balance(), 2)
    keys = [key(head, conversation) for head in range(100) for conversation in range(10)]
    before = [balance.order(k, pool(4))[0] for k in keys]
    after = [balance.order(k, pool(5))[0] for k in keys]
    moved = sum(a != b for a, b in zip(before, after, strict=True)) / len(keys)
    assert moved < 0.4, "a head that changes one of its two nodes also changes who is on the other"


def widths_of(heads: list[int], nodes: int = 4, memory: int = 2048) -> dict[int, list[int]]:
    """Give the widths of each head, call after call."""
    widths, seen = Widths(nodes, memory), {}
    for head in heads:
        name = head.to_bytes(16, "big")
        widths.note(name)
        seen.setdefault(head, []).append(widths.width(name))
    return seen


def test_a_prompt_that_everybody_uses_is_on_all_nodes_from_the_first_call() -> None:
    assert set(widths_of([1] * 50)[1]) == {4}


def test_of_many_prompts_each_is_on_one() -> None:
    seen = widths_of([number % 16 for number in range(800)])
    assert all(widths[-1] == 1 for widths in seen.values())
    assert all(set(widths) == {4, 1} for widths in seen.values())
    assert all(widths[4] == 1 for widths in seen.values()), "and that is clear soon, and for good"
    assert all(len(set(widths[4:])) == 1 for widths in seen.values())


def test_a_prompt_that_becomes_hot_gets_more_nodes_one_by_one() -> None:
    quiet = [number % 20 for number in range(400)]
    hot = widths_of(quiet + [0 if number % 10 else number % 20 for number in range(2000)])[0]
    assert hot[19] == 1
    assert hot[-1] == 4, "nine tenths of the traffic of four nodes"
    steps = [b - a for a, b in itertools.pairwise(hot[10:])]
    assert set(steps) == {0, 1}, "and never loses one meanwhile"


@given(st.lists(st.integers(0, 30), max_size=400), st.integers(1, 9))
@settings(max_examples=50)
def test_widths_are_of_nodes_that_are_there(heads: list[int], nodes: int) -> None:
    seen = widths_of(heads, nodes, memory=64)
    assert all(1 <= width <= nodes for widths in seen.values() for width in widths)


def test_what_is_remembered_is_bounded() -> None:
    widths = Widths(4, memory=64)
    for number in range(10_000):
        widths.note(number.to_bytes(16, "big"))
        widths.width(number.to_bytes(16, "big"))
    assert len(widths._counts) <= 64
    assert len(widths._widths) <= 64


def test_shares_that_wobble_move_nothing() -> None:
    heads = [0, 1, 2, 3] * 200
    turns = [head for start in range(0, 800, 8) for head in sorted(heads[start : start + 8])]
    assert all(len(set(widths[16:])) == 1 for widths in widths_of(turns, 5).values())


def test_a_node_that_is_away_moves_its_own_conversations_only() -> None:
    widths = Widths(4)
    sharing = Sharing(Balance(), widths)
    keys = [key(head, conversation) for head in range(6) for conversation in range(40)]
    for affinity in keys * 3:
        sharing.note(affinity)
    before = [sharing.order(k, pool(4))[0] for k in keys]
    assert {widths.width(key(head, 0)[:16]) for head in range(6)} == {2}, "neither on one nor on all"
    left = [replace(node, is_away=node.name == "n0") for node in pool(4)]
    after = [sharing.order(k, left)[0] for k in keys]
    assert [b for a, b in zip(before, after, strict=True) if a != "n0"] == [a for a in before if a != "n0"]
    assert "n0" not in after
    assert sharing.order(keys[0], [replace(node, is_away=True) for node in pool()]) == []
