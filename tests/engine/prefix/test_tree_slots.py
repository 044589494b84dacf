"""The life of a slot in the tree: pinned, evicted, forgotten, given back."""

from __future__ import annotations

import random

import pytest

from semcache.engine.layers import PUBLIC, Layer
from semcache.engine.prefix.faults import (
    ForgottenError,
    InsertError,
    StaleMatchError,
)
from semcache.engine.prefix.handles import Handle, Leaving
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.prefix.victims import Victim
from semcache.engine.runs import Run, total
from tests.engine.prefix.recent import HalfLife, LeastRecent, tenant, tokens, tree
from tests.engine.prefix.steps import lock, put, reach, slots

A, B = tenant("a"), tenant("b")


def test_what_was_found_is_pinned_in_one_step() -> None:
    """Two requests in one step: one matches, the other needs more than is free. (vllm 37164)"""
    index = tree(16)
    mine = tokens(range(4))
    put(index, mine, Run(0, 4))
    put(index, tokens(range(100, 108)), Run(4, 8))
    found = index.match(mine, ())
    handle = index.lock(found, 4, 2.0)
    assert index.evict(13, 3.0) == (Run(4, 8),)
    assert handle.runs == (Run(0, 4),)
    assert reach(index, mine) == 4
    index.check_integrity()


def test_a_match_that_was_evicted_meanwhile_is_not_locked() -> None:
    index = tree()
    put(index, tokens(range(8)), Run(0, 8))
    found = index.match(tokens(range(8)), ())
    index.evict(3, 2.0)
    with pytest.raises(StaleMatchError):
        index.lock(found, 8, 3.0)
    assert index.lock(found, 5, 3.0).runs == (Run(0, 5),)


def test_a_match_from_before_a_split_still_locks() -> None:
    index = tree()
    put(index, tokens(range(8)), Run(0, 8))
    found = index.match(tokens(range(8)), ())
    put(index, tokens([0, 1, 2, 9]), Run(8, 1))
    assert index.lock(found, 8, 3.0).runs == (Run(0, 3), Run(3, 5))
    assert index.lock(found, 2, 3.0).runs == (Run(0, 2),)
    index.check_integrity()


def test_another_trees_match_is_looked_up_again() -> None:
    one, other = tree(), tree()
    put(one, tokens(range(8)), Run(0, 8))
    put(other, tokens(range(8)), Run(20, 8))
    assert other.lock(one.match(tokens(range(8)), ()), 8, 2.0).runs == (Run(20, 8),)


def test_the_locked_node_itself_is_pinned() -> None:
    """The lock covers the matched node, not only those above it. (mini-sglang 52)"""
    index = tree()
    put(index, tokens(range(4)), Run(0, 4))
    put(index, tokens(range(8)), Run(10, 4))
    handle = lock(index, tokens(range(8)))
    assert index.evict(100, 2.0) == ()
    assert handle.runs == (Run(0, 4), Run(10, 4))
    index.unlock(handle)
    assert set(index.evict(100, 3.0)) == {Run(0, 4), Run(10, 4)}
    assert index.counts().pinned == index.tokens == 0
    index.check_integrity()


def test_two_thousand_requests_leave_nothing_pinned() -> None:
    """Ends, aborts and refused inserts give back what they held; a full pool still takes new prompts. (xllm 829)"""
    index = tree(64)
    free = list(range(64))
    for request in range(2_000):
        now = float(request)
        text = tokens([request % 7, *range(request, request + 7)])
        handle = lock(index, text, now=now)
        if request % 3 == 0:
            assert index.unlock(handle) == ()
            continue
        need = 8 - handle.length
        if need > len(free):
            free += slots(index.evict(need - len(free), now))
        runs = tuple(Run(free.pop(), 1) for _ in range(need))
        if request % 5 == 0:
            with pytest.raises(InsertError):
                index.insert(handle, text, (), (*runs, Run(0, 1)), now)
            index.unlock(handle)
            free += slots(runs)
            continue
        inserted = index.insert(handle, text, (), runs, now)
        free += slots(inserted.duplicates)
        index.unlock(inserted.handle)
    counts = index.counts()
    assert counts.pinned == counts.handles == 0
    assert counts.evictable == counts.tokens
    assert dict(counts.evictions)["recency"] > 1_000
    index.check_integrity()
    assert len(free) + counts.tokens == 64
    assert total(index.evict(64, 9e3)) == counts.tokens


def test_sizes_add_up_over_ten_thousand_operations() -> None:
    """free + evictable + pinned == capacity after each of 10,000 random operations. (sglang 35270)"""
    chance = random.Random(20)
    index, capacity = tree(400), 400
    free = list(range(capacity))
    handles: list[tuple[Handle, bytes]] = []
    for step in range(10_000):
        now = float(step)
        match chance.randrange(4):
            case 0:
                text = tokens(chance.choices(range(3), k=chance.randrange(1, 20)))
                found = index.match(text, ())
                handles.append((index.lock(found, chance.randint(0, found.length), now), text))
            case 1 if handles:
                handle, text = handles.pop(chance.randrange(len(handles)))
                need = len(text) // 4 - handle.length
                if need > len(free):
                    index.unlock(handle)
                    continue
                runs = tuple(Run(free.pop(), 1) for _ in range(need))
                inserted = index.insert(handle, text, (), runs, now)
                free += slots(inserted.duplicates)
                handles.append((inserted.handle, text))
            case 2 if len(handles) > 8:
                assert index.unlock(handles.pop(0)[0]) == ()
            case 3:
                free += slots(index.evict(chance.randrange(30), now))
        counts = index.counts()
        assert len(free) + counts.evictable + counts.pinned == capacity
        assert min(counts.evictable, counts.pinned) >= 0
        if step % 100 == 0:
            index.check_integrity()
    assert len(free) == len(set(free))


def test_tails_go_before_heads_and_the_last_victim_is_trimmed() -> None:
    index = tree()
    put(index, tokens(range(10)), Run(0, 10), now=1.0)
    put(index, tokens(range(20)), Run(50, 10), now=2.0)
    assert index.evict(4, 3.0) == (Run(56, 4),)
    assert reach(index, tokens(range(20))) == 16
    index.check_integrity()
    assert index.evict(9, 3.0) == (Run(50, 6), Run(7, 3))
    assert reach(index, tokens(range(20))) == 7
    index.check_integrity()


def test_a_trimmed_prefix_is_found_under_its_new_digest() -> None:
    index = tree()
    put(index, tokens(range(10)), Run(0, 10))
    index.evict(3, 2.0)
    assert index.find(index.digest(tokens(range(7)), ()), 2.0, tokens(range(7))).length == 7
    assert index.find(index.digest(tokens(range(10)), ()), 2.0) is None


def test_a_head_is_as_recent_as_what_hung_below() -> None:
    index = tree()
    layers = (Layer(2, B), Layer(9, A))
    put(index, tokens([1, 2]), Run(0, 2), layers=layers, now=1.0)
    put(index, tokens([7, 7]), Run(10, 2), layers=layers, now=2.0)
    put(index, tokens([1, 2, 3]), Run(2, 1), layers=layers, now=3.0)
    assert index.evict(1, 4.0, tenant="a") == (Run(2, 1),)
    assert index.evict(2, 5.0) == (Run(10, 2),)


def test_one_tenants_tokens_go_alone() -> None:
    index = tree()
    put(index, tokens([1, 2]), Run(0, 2), layers=(Layer(9, A),), now=1.0)
    put(index, tokens([1, 2]), Run(2, 2), layers=(Layer(9, B),), now=2.0)
    assert index.held == {"a": 2, "b": 2}
    assert index.evict(9, 3.0, tenant="b") == (Run(2, 2),)
    assert index.evict(9, 3.0, tenant="nobody") == ()
    assert index.held == {"a": 2}


def test_a_second_tier_is_told_what_leaves_and_behind_what() -> None:
    index = tree()
    layers = (Layer(3, PUBLIC), Layer(9, A))
    text = tokens(range(9))
    put(index, text, Run(0, 3), Run(20, 6), layers=layers)
    left: list[Leaving] = []
    index.evict(2, 2.0, leaving=left.append)
    index.evict(7, 2.0, leaving=left.append)
    assert [(piece.run, piece.start, piece.tokens, piece.owner) for piece in left] == [
        (Run(24, 2), 7, tokens([7, 8]), A),
        (Run(20, 4), 3, tokens([3, 4, 5, 6]), A),
        (Run(0, 3), 0, tokens([0, 1, 2]), PUBLIC),
    ]
    assert [piece.before for piece in left] == [
        index.digest(text[:28], layers),
        index.digest(text[:12], layers),
        b"",
    ]


def test_a_queue_may_give_only_a_part_of_a_victim() -> None:
    class Sparing(LeastRecent):
        def pop(self, now: float, tenant: str | None = None, *, floors: bool = True) -> Victim | None:
            victim = super().pop(now, tenant)
            return victim and victim._replace(most=3)

    index = PrefixTree(100, Sparing, HalfLife())
    put(index, tokens(range(10)), Run(0, 10))
    assert index.evict(5, 2.0) == (Run(7, 3), Run(5, 2))
    index.check_integrity()


def test_nothing_is_evicted_for_nothing() -> None:
    index = tree()
    put(index, tokens([1, 2]), Run(0, 2))
    assert index.evict(0, 1.0) == index.evict(-5, 1.0) == ()


def test_another_model_finds_nothing_and_users_finish() -> None:
    index = tree(identity=(("model", "one"),))
    text = tokens(range(10))
    put(index, tokens(range(20, 24)), Run(50, 4))
    put(index, text, Run(0, 10))
    old = index.digest(text, ())
    one, two = lock(index, text), lock(index, text[:16])
    assert index.clear((("model", "two"),)) == (Run(50, 4),)
    index.check_integrity()
    assert reach(index, text) == 0
    assert index.find(old, 1.0) is None
    assert index.digest(text, ()) != old
    assert index.evict(99, 2.0) == ()
    with pytest.raises(ForgottenError):
        index.insert(one, tokens(range(11)), (), (Run(60, 1),), 2.0)
    put(index, text, Run(20, 10))
    assert index.unlock(one) == (Run(4, 6),)
    index.check_integrity()
    assert index.counts().forgotten == 4
    assert index.unlock(two) == (Run(0, 4),)
    assert reach(index, text) == index.tokens == 10
    index.check_integrity()


@pytest.mark.parametrize("is_held", [True, False])
def test_a_chain_is_forgotten_from_its_tail_up(is_held: bool) -> None:
    index = tree()
    put(index, tokens([1, 2]), Run(0, 2))
    put(index, tokens([1, 2, 3]), Run(9, 1))
    handle = lock(index, tokens([1, 2, 3])) if is_held else lock(index, b"")
    cleared = index.clear()
    index.check_integrity()
    assert set(cleared + index.unlock(handle)) == {Run(0, 2), Run(9, 1)}
    index.check_integrity()
    assert index.evict(9, 2.0) == ()
    put(index, tokens([1, 2, 3]), Run(0, 3))


def test_a_match_from_before_the_change_is_not_locked_after() -> None:
    index = tree()
    put(index, tokens([1, 2]), Run(0, 2))
    found = index.match(tokens([1, 2]), ())
    index.clear()
    with pytest.raises(StaleMatchError):
        index.lock(found, 2, 1.0)
