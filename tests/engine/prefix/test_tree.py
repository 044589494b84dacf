"""What the tree finds, how it grows and what it counts."""

from __future__ import annotations

import pytest

from semcache.engine.layers import Layer
from semcache.engine.prefix.faults import (
    HandleError,
    InsertError,
    TokensError,
    TreeError,
)
from semcache.engine.runs import Run, total
from tests.engine.prefix.recent import tenant, tokens, tree
from tests.engine.prefix.steps import lock, put, reach

A, B = tenant("a"), tenant("b")


def test_edges_split_in_the_middle() -> None:
    """100 tokens known: 60 + 40 others reuse 60, 100 + 20 reuse 100, and both stay found. (Rapid-MLX 1737)"""
    index = tree()
    first = list(range(100))
    put(index, tokens(first), Run(0, 100))
    fork, longer = first[:60] + list(range(500, 540)), [*first, *range(700, 720)]
    assert reach(index, tokens(fork)) == 60
    put(index, tokens(fork), Run(100, 40))
    assert reach(index, tokens(longer)) == 100
    put(index, tokens(longer), Run(140, 20))
    for prompt in (first, fork, longer):
        assert reach(index, tokens(prompt)) == len(prompt)
    assert index.tokens == 160


@pytest.mark.parametrize("length", [1, 31, 32, 33, 64])
def test_all_but_the_last_token_can_be_locked(length: int) -> None:
    """A prompt that is wholly known is locked up to its last token, which is computed again. (mlxcel 1760)"""
    index = tree()
    text = tokens(range(length))
    put(index, text, Run(0, length))
    found = index.match(text, ())
    handle = index.lock(found, length - 1, 2.0)
    assert total(handle.runs) == handle.length == length - 1
    inserted = index.insert(handle, text, (), (Run(200, 1),), 2.0)
    assert inserted.duplicates == (Run(200, 1),)
    assert total(inserted.handle.runs) == length
    index.check_integrity()


def test_no_token_is_no_prefix() -> None:
    index = tree()
    handle = lock(index, b"")
    assert (handle.length, handle.runs, handle.digest) == (0, (), b"")
    index.unlock(handle)
    put(index, tokens([5]), Run(0, 1))
    assert reach(index, b"") == 0


def test_matching_changes_nothing() -> None:
    index = tree()
    put(index, tokens(range(10)), Run(0, 10))
    before = index.counts(), index.snapshot(5.0, 10), index.top(5, 5.0)
    assert reach(index, tokens([0, 1, 2, 77])) == 3
    assert (index.counts(), index.snapshot(5.0, 10), index.top(5, 5.0)) == before


@pytest.mark.parametrize("text", [b"\1", tokens([1]) + b"\0\0"])
def test_half_tokens_are_refused(text: bytes) -> None:
    with pytest.raises(TokensError):
        tree().match(text, ())


@pytest.mark.parametrize("ends", [(0,), (3, 3), (5, 2), (-1,)])
def test_layers_must_grow(ends: tuple[int, ...]) -> None:
    with pytest.raises(TokensError):
        tree().match(tokens([1]), tuple(Layer(end, A) for end in ends))


def test_extreme_token_ids_are_told_apart() -> None:
    index = tree()
    for start, token in enumerate((0, 2**31 - 1, -(2**31), 1 << 28, 1)):
        put(index, tokens([token, token]), Run(2 * start, 2))
    assert index.tokens == 10


def test_a_prompt_becomes_known_chunk_by_chunk_while_it_runs() -> None:
    index = tree()
    text = tokens(range(96))
    handle = lock(index, text)
    for end in (32, 64, 96):
        runs = (Run(1000 + 2 * end, 32),)
        handle = index.insert(handle, text[: 4 * end], (), runs, float(end)).handle
        assert reach(index, text) == end
    assert handle.youngest == 96.0
    assert index.counts().nodes == 3


def test_slots_that_follow_directly_lengthen_the_node() -> None:
    index = tree()
    text = tokens(range(96))
    handle = lock(index, text)
    for end in (32, 64, 96):
        handle = index.insert(handle, text[: 4 * end], (), (Run(end - 32, 32),), float(end)).handle
    assert handle.runs == (Run(0, 96),)
    assert index.counts().nodes == 1
    assert index.find(handle.digest, 0.0, text).length == 96
    index.check_integrity()


def test_a_node_that_others_hold_is_not_lengthened() -> None:
    index = tree()
    text = tokens(range(64))
    mine = index.insert(lock(index, text), text[:128], (), (Run(0, 32),), 1.0).handle
    theirs = lock(index, text[:128], counts=False)
    index.insert(mine, text, (), (Run(32, 32),), 2.0)
    assert theirs.runs == (Run(0, 32),)
    index.check_integrity()


def test_a_node_with_children_is_not_lengthened() -> None:
    index = tree()
    put(index, tokens([1, 2]), Run(0, 2))
    put(index, tokens([1, 2, 9]), Run(50, 1))
    put(index, tokens([1, 2, 7]), Run(2, 1))
    assert [reach(index, tokens([1, 2, last])) for last in (9, 7, 5)] == [3, 3, 2]


def test_what_comes_behind_a_reused_node_has_not_been_reused() -> None:
    index = tree()
    put(index, tokens([1, 2]), Run(0, 2))
    index.unlock(lock(index, tokens([1, 2]), now=2.0))
    put(index, tokens([1, 2, 7]), Run(2, 1))
    assert [(node.tokens, node.hits) for node in index.snapshot(3.0, 9)] == [(2, 1), (1, 0)]


def test_what_two_computed_at_once_is_kept_once() -> None:
    """The second to insert gets its own slots back and the tree's in their place."""
    index = tree()
    text = tokens(range(50))
    one, two = lock(index, text), lock(index, text)
    first = index.insert(one, text[:160], (), (Run(0, 40),), 1.0)
    second = index.insert(two, text, (), (Run(100, 20), Run(200, 30)), 2.0)
    assert first.duplicates == ()
    assert second.duplicates == (Run(100, 20), Run(200, 20))
    assert second.handle.runs == (Run(0, 40), Run(220, 10))
    counts = index.counts()
    assert (counts.tokens, counts.inserted, counts.duplicates) == (50, 50, 40)


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ((Run(0, 3),), "too few"),
        ((Run(0, 5),), "too many"),
        ((Run(0, 2), Run(1, 2)), "overlapping"),
        ((Run(0, 5), Run(9, -1)), "negative"),
        ((Run(0, 4), Run(9, 0)), "empty"),
        ((Run(-2, 4),), "before the pool"),
        ((Run(98, 4),), "behind the pool"),
        ((Run(48, 4),), "the tree's already"),
    ],
)
def test_wrong_slots_are_refused_and_nothing_changes(runs: tuple[Run, ...], why: str) -> None:
    index = tree(100)
    put(index, tokens(range(10)), Run(50, 10))
    handle = lock(index, tokens([9]))
    before = index.counts()
    with pytest.raises(InsertError):
        index.insert(handle, tokens([9, 9, 9, 9]), (), runs, 1.0)
    assert index.counts() == before
    index.check_integrity()
    index.unlock(handle)


def test_what_is_inserted_must_extend_what_is_held() -> None:
    index = tree()
    layers = (Layer(4, A),)
    put(index, tokens([1, 2, 3, 4]), Run(0, 4), layers=layers)
    handle = lock(index, tokens([1, 2, 3, 4]), layers)
    for text, owners in ((tokens([1, 2, 9, 4, 5]), layers), (tokens([1, 2, 3, 4, 5]), (Layer(4, B),))):
        with pytest.raises(InsertError):
            index.insert(handle, text, owners, (Run(10, 1),), 1.0)
    with pytest.raises(InsertError):
        index.insert(handle, tokens([1, 2]), layers, (), 1.0)
    put(index, tokens([5, 6, 7, 8]), Run(20, 4), layers=layers)
    with pytest.raises(InsertError):
        index.insert(handle, tokens([5, 6, 7, 8, 9]), layers, (Run(10, 1),), 1.0)
    index.insert(handle, tokens([1, 2, 3, 4, 5]), layers, (Run(10, 1),), 1.0)


def test_a_handle_is_used_once() -> None:
    index, other = tree(), tree()
    handle = lock(index, b"")
    with pytest.raises(HandleError):
        other.unlock(handle)
    lock(other, b"")
    with pytest.raises(HandleError):
        other.unlock(handle)
    longer = index.insert(handle, tokens([1]), (), (Run(0, 1),), 1.0).handle
    for used in (handle, longer._replace(length=1)):
        with pytest.raises(HandleError):
            index.unlock(used)
    index.unlock(longer)
    for call in (
        lambda: index.unlock(longer),
        lambda: index.insert(longer, tokens([1, 2]), (), (Run(1, 1),), 1.0),
    ):
        with pytest.raises(HandleError):
            call()


@pytest.mark.parametrize("length", [-1, 4])
def test_one_locks_only_what_was_matched(length: int) -> None:
    index = tree()
    put(index, tokens([1, 2, 3]), Run(0, 3))
    with pytest.raises(TokensError):
        index.lock(index.match(tokens([1, 2, 3]), ()), length, 1.0)


@pytest.mark.parametrize("capacity", [0, -1, (1 << 28) + 1])
def test_a_pool_has_a_size(capacity: int) -> None:
    with pytest.raises(TreeError):
        tree(capacity)


def test_only_a_users_reuse_counts() -> None:
    index = tree()
    text = tokens(range(20))
    put(index, text, Run(0, 20), now=1.0)
    index.unlock(lock(index, text, now=5.0, counts=False))
    (node,) = index.snapshot(6.0, 5)
    assert (node.hits, node.frequency, node.idle_seconds) == (0, 0.0, 5.0)
    index.unlock(lock(index, text, now=6.0))
    (node,) = index.snapshot(8.0, 5)
    assert (node.hits, node.idle_seconds, node.age_seconds) == (1, 2.0, 7.0)
    assert node.frequency == pytest.approx(1.0, rel=0.01)


def test_a_hit_counts_on_every_node_of_the_path_and_no_other() -> None:
    index = tree()
    put(index, tokens([1, 2, 3, 4]), Run(0, 4))
    put(index, tokens([1, 2, 9, 9]), Run(4, 2))
    put(index, tokens([1, 2, 9, 9, 5]), Run(6, 1))
    index.unlock(lock(index, tokens([1, 2, 9, 9])))
    shown = [(node.start, node.tokens, node.hits) for node in index.snapshot(2.0, 9)]
    assert sorted(shown) == [(0, 2, 1), (2, 2, 0), (2, 2, 1), (4, 1, 0)]


def test_both_halves_of_a_split_keep_the_count() -> None:
    index = tree()
    put(index, tokens(range(10)), Run(0, 10))
    index.unlock(lock(index, tokens(range(10)), now=2.0))
    index.unlock(lock(index, tokens(range(4)), now=3.0))
    assert [(node.tokens, node.hits, node.age_seconds) for node in index.snapshot(4.0, 9)] == [
        (4, 2, 3.0),
        (6, 1, 3.0),
    ]
    assert [round(node.frequency, 1) for node in index.snapshot(4.0, 9)] == [2.0, 1.0]


def test_the_youngest_part_is_told() -> None:
    index = tree()
    put(index, tokens(range(4)), Run(0, 4), now=1.0)
    put(index, tokens(range(8)), Run(10, 4), now=7.0)
    assert lock(index, tokens(range(4)), now=9.0).youngest == 1.0
    assert lock(index, tokens(range(8)), now=9.0).youngest == 7.0
