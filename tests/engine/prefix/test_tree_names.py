"""Digests, views, and the recount that finds damage."""

from __future__ import annotations

import random
from hashlib import sha256

import pytest

from semcache.engine.layers import NOBODY, PUBLIC, Layer, Owner
from semcache.engine.prefix.faults import (
    IntegrityError,
)
from semcache.engine.runs import Run
from tests.engine.prefix.recent import tenant, tokens, tree
from tests.engine.prefix.steps import lock, put, reach

A, B = tenant("a"), tenant("b")


@pytest.mark.parametrize("bits", [8, 0])
def test_colliding_digests_are_misses_and_counted(bits: int) -> None:
    """2,000 random prompts under a hash of 8 bits: never another's KV. (openvino.genai 3722)"""
    index = tree(40_000, digest=lambda data: sha256(data).digest()[: bits // 8])
    chance = random.Random(41)
    # With no bits at all the table is one long chain.
    prompts = [
        tokens(chance.choices(range(12), k=chance.randrange(1, 5))) for _ in range(2_000 if bits else 200)
    ]
    slot = 0
    for text in prompts:
        handle = lock(index, text)
        need = len(text) // 4 - handle.length
        runs = (Run(slot, need),) if need else ()
        slot += need
        handle = index.insert(handle, text, (), runs, 1.0).handle
        assert index.find(handle.digest, 1.0, text).length == len(text) // 4
        index.unlock(handle)
    absent = [tokens(chance.choices(range(50, 60), k=5)) for _ in range(100)]
    assert all(index.find(index.digest(text, ()), 1.0, text) is None for text in absent)
    assert index.counts().collisions > 1_000
    index.evict(slot // 2, 2.0)
    if not bits:
        index.check_integrity()


def test_equal_tokens_of_others_are_not_found_by_a_colliding_digest() -> None:
    index = tree(digest=lambda data: b"")
    put(index, tokens([1, 2]), Run(0, 2), layers=(Layer(2, A),))
    assert index.find(b"", 1.0, tokens([1, 2]), (Layer(2, B),)) is None
    assert index.find(b"", 1.0, tokens([1, 2]), (Layer(2, A),)).owner == A


@pytest.mark.parametrize("digest", [b"", b"x", b"x" * 99])
def test_nonsense_is_no_digest(digest: bytes) -> None:
    index = tree()
    put(index, tokens([1, 2]), Run(0, 2))
    assert index.find(digest, 1.0) is None


def test_owners_and_identities_are_never_confused() -> None:
    """Adapter "blue" without salt, salt "blue" without adapter, "a" + "b" and "ab": all different. (vllm 44701)"""
    text = tokens([1, 2, 3])
    names = [
        tree(identity=identity).digest(text, (Layer(3, owner),))
        for identity in (
            (),
            (("adapter", "blue"),),
            (("adapter", ""),),
            (("adapterb", "lue"),),
            (("adapter", "b"), ("lu", "e")),
        )
        for owner in (
            PUBLIC,
            Owner("", b"blue"),
            Owner("blue", b""),
            Owner("a", b"b"),
            Owner("ab", b""),
            Owner("", b"ab"),
        )
    ]
    assert len(set(names)) == len(names)


def test_a_digest_does_not_depend_on_how_nodes_are_cut() -> None:
    layers = (Layer(10, PUBLIC), Layer(99, A))
    text = tokens(range(40))
    whole, pieces = tree(), tree()
    put(whole, text, Run(0, 40), layers=layers)
    for end in (3, 10, 17, 40):
        put(pieces, text[: 4 * end], Run(2 * end, end - reach(pieces, text, layers)), layers=layers)
    named = {lock(index, text, layers).digest for index in (whole, pieces)}
    assert named == {whole.digest(text, layers)} == {whole.digest(text, (Layer(4, PUBLIC), *layers))}


def test_the_view_is_a_tree_without_tokens() -> None:
    index = tree()
    head = list(range(100))
    for start, tail in ((200, [1, 2, 3]), (210, [4, 5, 6])):
        need = Run(0, 100) if start == 200 else None
        runs = [need] if need else []
        put(index, tokens(head + tail), *runs, Run(start, 3), layers=(Layer(100, PUBLIC), Layer(999, A)))
    index.unlock(lock(index, tokens([*head, 4, 5, 6]), (Layer(100, PUBLIC), Layer(999, A)), now=2.0))
    shown = index.snapshot(3.0, 10)
    assert [(node.depth, node.start, node.tokens, node.hits) for node in shown] == [
        (0, 0, 100, 1),
        (1, 100, 3, 1),
        (1, 100, 3, 0),
    ]
    assert shown[0].owner == "public"
    assert shown[1].owner == shown[2].owner == sha256(b"a").hexdigest()[:8]
    assert index.snapshot(3.0, 10, 50) == shown[:1]
    assert len(index.snapshot(3.0, 2)) == 2
    assert index.snapshot(3.0, 0) == ()


def test_the_most_valuable_prefixes_are_named() -> None:
    index = tree()
    layers = (Layer(50, PUBLIC), Layer(999, A))
    head = list(range(50))
    put(index, tokens(head), Run(0, 50), layers=layers)
    for place, tail in enumerate(([1] * 10, [2] * 10)):
        put(index, tokens(head + tail), Run(100 + 10 * place, 10), layers=layers)
    for tail in ([1] * 10, [2] * 10, [1] * 10):
        index.unlock(lock(index, tokens(head + tail), layers, now=2.0))
    best = index.top(9, 2.0)
    assert [(found.length, round(found.frequency), found.owner) for found in best] == [
        (50, 3, PUBLIC),
        (60, 2, A),
        (60, 1, A),
    ]
    assert index.find(best[0].digest, 2.0, tokens(head), layers).length == 50
    assert index.top(1, 2.0) == best[:1]


def test_a_prefix_that_is_always_continued_is_not_named_apart() -> None:
    index = tree()
    put(index, tokens(range(10)), Run(0, 10))
    put(index, tokens(range(20)), Run(50, 10))
    index.unlock(lock(index, tokens(range(20)), now=2.0))
    assert [found.length for found in index.top(9, 2.0)] == [20]


def test_nobody_owns_what_came_without_owners() -> None:
    index = tree()
    put(index, tokens([1]), Run(0, 1))
    assert index.held == {NOBODY.tenant: 1}
    assert reach(index, tokens([1]), (Layer(1, NOBODY),)) == 1
    assert reach(index, tokens([1]), (Layer(1, PUBLIC),)) == 0


@pytest.mark.parametrize(
    "damage", ["pins", "below", "hits", "edge", "queue", "slot", "digest", "held", "end"]
)
def test_the_recount_notices_damage(damage: str) -> None:
    index = tree()
    put(index, tokens([1, 2, 3]), Run(0, 3))
    put(index, tokens([1, 2, 9]), Run(5, 1))
    structure = index._structure
    store = structure.store
    leaf = next(iter(structure.queue.queued()))
    match damage:
        case "pins":
            store.pins[store.parent[leaf]] += 1
        case "below":
            store.below[leaf] += 1
        case "hits":
            store.hits[store.spare[-1]] = 1
        case "edge":
            structure.edges.popitem()
        case "queue":
            structure.queue.remove(leaf)
        case "slot":
            store.start[leaf] = 0
        case "digest":
            structure.table.remove(leaf)
            structure.table.add(leaf, bytes(16))
        case "held":
            store.count(A, 1)
        case _:
            store.end[leaf] += 1
    with pytest.raises(IntegrityError):
        index.check_integrity()


def test_a_clock_that_goes_back_makes_nothing_older_than_what_it_stands_on() -> None:
    index = tree()
    put(index, tokens([1, 2]), Run(0, 2), now=5.0)
    put(index, tokens([1, 2, 3]), Run(9, 1), now=1.0)
    assert lock(index, tokens([1, 2, 3])).youngest == 5.0
