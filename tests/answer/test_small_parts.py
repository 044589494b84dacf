"""The breaker, the backlog and the deadline by themselves."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.answer.backlog import Backlog
from semcache.answer.breaker import CircuitBreaker
from semcache.answer.deadline import Deadline


def test_a_breaker_opens_after_failures_in_a_row_only() -> None:
    breaker = CircuitBreaker(threshold=2, pause=5)
    for _ in range(3):
        assert breaker.admit(0)
        breaker.failed(0)
        assert breaker.admit(0)
        breaker.succeeded()
    breaker.failed(1)
    breaker.failed(2)
    assert not breaker.admit(2)
    assert not breaker.admit(6.9)


def test_a_half_open_breaker_lets_one_probe_through_and_its_outcome_decides() -> None:
    breaker = CircuitBreaker(threshold=1, pause=5)
    breaker.failed(0)
    assert [breaker.admit(5), breaker.admit(5)] == [True, False]
    breaker.failed(6)
    assert not breaker.admit(10.9)
    assert [breaker.admit(11), breaker.admit(11)] == [True, False]
    breaker.abandoned()
    assert breaker.admit(11)
    breaker.succeeded()
    assert breaker.is_closed
    assert [breaker.admit(11), breaker.admit(11)] == [True, True]


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=5), st.integers(0, 3)), max_size=200))
def test_a_backlog_gives_what_was_put_in_and_forgets_what_is_dropped(steps: list[tuple[bytes, int]]) -> None:
    backlog = Backlog()
    everything: list[bytes] = []
    dropped = 0
    for chunk, drop in steps:
        backlog.append(chunk)
        everything.append(chunk)
        dropped = min(dropped + drop, len(everything))
        backlog.drop_before(dropped)
        assert backlog.end == len(everything)
        assert backlog.size == sum(map(len, everything[dropped:]))
        place, got = dropped, b""
        while place < backlog.end:
            data, place = backlog.read(place)
            got += data
        assert got == b"".join(everything[dropped:])


def test_a_reader_that_fell_behind_gets_much_at_once_but_not_everything() -> None:
    backlog = Backlog()
    for _ in range(10):
        backlog.append(b"x" * 20_000)
    assert [len(backlog.read(0)[0]), backlog.read(0)[1]] == [60_000, 3]
    backlog.append(b"y" * 100_000)
    assert backlog.read(10) == (b"y" * 100_000, 11)


async def test_a_deadline_cancels_and_says_so() -> None:
    deadline = Deadline(0.01)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(5)
    assert deadline.took_effect()
    await asyncio.sleep(0)  # the task is not cancelled any more


async def test_a_deadline_may_be_moved_and_stopped() -> None:
    deadline = Deadline(0.02)
    for _ in range(4):
        await asyncio.sleep(0.01)
        deadline.move(0.03)
    deadline.stop()
    deadline.move(0.001)
    await asyncio.sleep(0.02)
    assert not deadline.expired


async def test_another_ones_cancellation_is_not_the_deadlines() -> None:
    async def work() -> bool:
        deadline = Deadline(0.01)
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return deadline.took_effect()
        return True

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    assert await task is False
