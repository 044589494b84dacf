"""Places at an upstream: so many at once, a queue in order, a deadline, nothing lost on the way."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.answer.places import Places
from semcache.errors import UpstreamError


async def waiting(places: Places, count: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(places.take()) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_without_a_number_everybody_has_a_place() -> None:
    places = Places("a", None, 0, 0)
    for _ in range(1000):
        await places.take()
    places.give()
    assert places.waiting == 0


async def test_places_are_given_in_order() -> None:
    places = Places("a", 1, 10, 5)
    await places.take()
    first, second = await waiting(places, 2)
    assert places.waiting == 2
    places.give()
    await first
    assert not second.done()
    places.give()
    await second


async def test_too_many_are_told_at_once_when_to_come_again() -> None:
    places = Places("a", 1, 1, 2.5)
    await places.take()
    (task,) = await waiting(places, 1)
    begun = time.monotonic()
    with pytest.raises(UpstreamError, match="upstream 'a' has as many calls") as caught:
        await places.take()
    assert time.monotonic() - begun < 0.5
    error = caught.value
    assert (error.status, error.code, error.type, error.untouched) == (
        503,
        "overloaded",
        "server_error",
        True,
    )
    assert error.headers == (("retry-after", "3"),)
    places.give()
    await task


async def test_whoever_waits_too_long_is_told_so_and_takes_no_place() -> None:
    places = Places("a", 1, 10, 0.05)
    await places.take()
    with pytest.raises(UpstreamError, match="as many calls"):
        await places.take()
    assert places.waiting == 0
    places.give()
    await places.take()


async def test_without_patience_nobody_waits() -> None:
    places = Places("a", 1, 10, 0)
    await places.take()
    with pytest.raises(UpstreamError):
        await places.take()


async def test_one_that_leaves_in_the_moment_of_its_turn_loses_no_place() -> None:
    places = Places("a", 1, 10, 5)
    await places.take()
    first, second = await waiting(places, 2)
    places.give()
    first.cancel()
    await second
    with pytest.raises(asyncio.CancelledError):
        await first
    places.give()
    await places.take()


async def test_nobody_overtakes_those_who_wait() -> None:
    places = Places("a", 1, 10, 5)
    await places.take()
    (task,) = await waiting(places, 1)
    places.give()
    late = asyncio.create_task(places.take())
    await task
    assert not late.done()
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)


@given(
    st.lists(st.sampled_from(["take", "give", "leave"]), max_size=60), st.integers(1, 3), st.integers(0, 3)
)
@settings(max_examples=80)
def test_there_are_never_more_inside_than_places(steps: list[str], most: int, queue: int) -> None:
    async def walk() -> None:
        places = Places("a", most, queue, 5)
        tasks: list[asyncio.Task[None]] = []
        given = 0
        for step in steps:
            inside = sum(t.done() and not t.cancelled() and t.exception() is None for t in tasks) - given
            assert 0 <= inside <= most
            if step == "take":
                tasks.append(asyncio.create_task(places.take()))
            elif step == "give" and inside:
                places.give()
                given += 1
            elif step == "leave":
                for task in [task for task in tasks if not task.done()][:1]:
                    task.cancel()
            for _ in range(3):
                await asyncio.sleep(0)
            held = sum(t.done() and not t.cancelled() and t.exception() is None for t in tasks) - given
            assert held == most or places.waiting == 0, "nobody waits before a free place"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(walk())
