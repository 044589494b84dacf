"""The run allocator against a naive bitmap, and at the size where a walk would show."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from semcache.engine.memory.allocator import RunAllocator, SlotError
from semcache.engine.runs import Run, cut, total


def slots(runs: tuple[Run, ...]) -> list[int]:
    return [slot for run in runs for slot in range(run.start, run.end)]


def spans(free: list[bool]) -> list[Run]:
    """The free runs of a bitmap."""
    found, start = [], None
    for at, is_free in enumerate([*free, False]):
        if is_free and start is None:
            start = at
        elif not is_free and start is not None:
            found.append(Run(start, at - start))
            start = None
    return found


class AgainstBitmap(RuleBasedStateMachine):
    """Every take and give is judged by a list of booleans."""

    def __init__(self) -> None:
        super().__init__()
        self.capacity = 48
        self.pool = RunAllocator(self.capacity)
        self.free = [True] * self.capacity
        self.held: list[tuple[Run, ...]] = []
        self.high = 0

    @rule(n=st.integers(0, 50), near=st.none() | st.integers(-2, 60))
    def take(self, n: int, near: int | None) -> None:
        before = spans(self.free)
        runs = self.pool.take(n, near)
        if n > sum(self.free):
            assert runs is None
            return
        assert runs is not None
        assert total(runs) == n
        assert all(self.free[slot] for slot in slots(runs)), "a slot was handed out twice"
        assert len(set(slots(runs))) == n
        self._as_few_as_possible(runs, n, near, before)
        for slot in slots(runs):
            self.free[slot] = False
        self.high = max(self.high, self.free.count(False))
        if runs:
            self.held.append(runs)

    def _as_few_as_possible(self, runs: tuple[Run, ...], n: int, near: int | None, before: list[Run]) -> None:
        behind = next((run.length for run in before if run.start == near), 0)
        fitting = sorted(run.length for run in before if run.length >= n)
        if n and behind >= n:
            assert runs == (Run(near, n),)
        elif n and fitting:
            assert len(runs) == 1
            assert any(run.start == runs[0].start and run.length == fitting[0] for run in before)
        elif n:
            rest, needed = n - behind, 0
            for length in sorted((run.length for run in before if run.start != near), reverse=True):
                if rest > 0:
                    rest -= length
                    needed += 1
            assert len(runs) == needed + (behind > 0)
            assert not behind or runs[0] == Run(near, behind)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def give(self, data: st.DataObject) -> None:
        """Gives a whole allocation, or the part of it between two places."""
        index = data.draw(st.integers(0, len(self.held) - 1))
        runs = self.held.pop(index)
        low = data.draw(st.integers(0, total(runs) - 1))
        high = data.draw(st.integers(low + 1, total(runs)))
        part = cut(runs, low, high)
        self.pool.give(data.draw(st.permutations(part)))
        for slot in slots(part):
            self.free[slot] = True
        self.held += [left for left in (cut(runs, 0, low), cut(runs, high, total(runs))) if left]

    @rule(start=st.integers(-3, 50), length=st.integers(-2, 50), data=st.data())
    def give_what_is_not_out(self, start: int, length: int, data: st.DataObject) -> None:
        bad = Run(start, length)
        is_out = (
            start >= 0 and length > 0 and bad.end <= self.capacity and not any(self.free[start : bad.end])
        )
        if is_out:
            return
        good = data.draw(st.sampled_from(self.held)) if self.held else ()
        given = data.draw(st.permutations([*good, bad]))
        with pytest.raises(SlotError):
            self.pool.give(given)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def give_the_same_slot_twice_at_once(self, data: st.DataObject) -> None:
        runs = data.draw(st.sampled_from(self.held))
        with pytest.raises(SlotError):
            self.pool.give([*runs, Run(runs[-1].end - 1, 1)])

    @invariant()
    def agrees(self) -> None:
        self.pool.check_integrity()
        assert self.pool.free == sum(self.free)
        assert self.pool.used == self.free.count(False)
        found = spans(self.free)
        assert self.pool.largest == max((run.length for run in found), default=0)
        assert self.pool.fragments == len(found)
        assert self.pool.high_water == self.high


TestAgainstBitmap = AgainstBitmap.TestCase
TestAgainstBitmap.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_tail_stays_one_run_while_nobody_is_behind_it() -> None:
    pool = RunAllocator(100)
    tail = pool.take(10)
    assert tail == (Run(0, 10),)
    for end in range(10, 50):
        assert pool.take(1, near=end) == (Run(end, 1),)


def test_a_small_wish_leaves_the_large_run_alone() -> None:
    pool = RunAllocator(100)
    pool.take(100)
    pool.give([Run(10, 5), Run(50, 20)])
    assert pool.take(5) == (Run(10, 5),)
    assert pool.take(20) == (Run(50, 20),)


def test_several_runs_only_when_no_single_one_is_long_enough() -> None:
    pool = RunAllocator(100)
    pool.take(100)
    pool.give([Run(0, 4), Run(10, 8), Run(30, 6), Run(60, 3)])
    assert pool.take(13) == (Run(10, 8), Run(30, 5))


def test_too_much_takes_nothing() -> None:
    pool = RunAllocator(10)
    assert pool.take(11) is None
    assert pool.free == 10
    assert pool.take(0) == ()
    assert pool.take(10) == (Run(0, 10),)
    assert pool.take(1, near=10) is None


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SlotError):
        RunAllocator(-1)
    with pytest.raises(SlotError):
        RunAllocator(4).take(-1)
    assert RunAllocator(0).take(1) is None


def test_a_broken_account_is_noticed() -> None:
    pool = RunAllocator(10)
    pool.take(4)
    pool._state[2] = 0
    with pytest.raises(SlotError):
        pool.check_integrity()


def fragmented(capacity: int) -> RunAllocator:
    """A pool of which every second stretch, of 1 to 9 slots, is free."""
    pool = RunAllocator(capacity)
    pool.take(capacity)
    rng, at, free = random.Random(1), 0, []
    while at < capacity - 20:
        length = rng.randint(1, 9)
        free.append(Run(at, length))
        at += length + 1
    pool.give(free)
    return pool


def test_a_million_slots_in_a_hundred_thousand_fragments_cost_microseconds() -> None:
    pool = fragmented(1_000_000)
    assert pool.fragments > 100_000
    rng = random.Random(2)
    wishes = [rng.randint(1, 40) for _ in range(4_000)]
    began = time.process_time()
    for wish in wishes:
        runs = pool.take(wish)
        assert runs is not None
        pool.give(runs)
    each = (time.process_time() - began) / len(wishes)
    assert each < 300e-6, "a walk over the fragments would cost milliseconds"
    pool.check_integrity()


def test_emptying_a_pool_of_single_slots_takes_no_longer_at_the_end() -> None:
    pool = RunAllocator(200_000)
    pool.take(200_000)
    pool.give([Run(slot, 1) for slot in range(0, 200_000, 2)])
    began = time.process_time()
    while pool.free:
        pool.take(min(50, pool.free))
    assert time.process_time() - began < 3, "deleted entries are walked over again and again"
    pool.check_integrity()
