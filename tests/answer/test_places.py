"""Places at an upstream: so many at once, a queue in order, a deadline, nothing lost on the way."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.answer.places import Places, Room
from semcache.errors import UpstreamError


def refusal(room: Room) -> UpstreamError:
    return UpstreamError("no place", status=503, code="overloaded", headers=room.retry_after)


def of(most: int | None, queue: int = 10, patience: float = 5.0) -> Places:
    return Places(Room(most, queue, patience), refusal)


async def waiting(places: Places, count: int, party: str = "") -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(places.take(party)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_without_a_number_everybody_has_a_place() -> None:
    places = of(None)
    for _ in range(1000):
        await places.take()
    places.give()
    assert places.waiting == 0


async def test_places_are_given_in_order() -> None:
    places = of(1)
    await places.take()
    first, second = await waiting(places, 2)
    assert places.waiting == 2
    places.give()
    await first
    assert not second.done()
    places.give()
    await second


async def test_too_many_are_told_at_once_when_to_come_again() -> None:
    places = of(1, 1, 2.5)
    await places.take()
    (task,) = await waiting(places, 1)
    begun = time.monotonic()
    with pytest.raises(UpstreamError, match="no place") as caught:
        await places.take()
    assert time.monotonic() - begun < 0.5
    assert caught.value.headers == (("retry-after", "3"),)
    places.give()
    await task


async def test_whoever_waits_too_long_is_told_so_and_takes_no_place() -> None:
    places = of(1, patience=0.05)
    await places.take()
    with pytest.raises(UpstreamError, match="no place"):
        await places.take()
    assert places.waiting == 0
    places.give()
    await places.take()


async def test_without_patience_nobody_waits() -> None:
    places = of(1, patience=0)
    await places.take()
    with pytest.raises(UpstreamError):
        await places.take()


async def test_one_that_leaves_in_the_moment_of_its_turn_loses_no_place() -> None:
    places = of(1)
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
    places = of(1)
    await places.take()
    (task,) = await waiting(places, 1)
    places.give()
    late = asyncio.create_task(places.take())
    await task
    assert not late.done()
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)


async def test_parties_take_turns() -> None:
    places = of(1)
    await places.take("loud")
    loud = await waiting(places, 5, "loud")
    quiet = await waiting(places, 2, "quiet")
    order = []
    for _ in range(7):
        places.give()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        order.append((sum(task.done() for task in loud), sum(task.done() for task in quiet)))
    assert order == [(1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (4, 2), (5, 2)], (
        "one of theirs, one of the others'"
    )


async def test_the_longest_line_gives_way_in_a_full_queue() -> None:
    places = of(1, queue=4)
    await places.take("loud")
    loud = await waiting(places, 4, "loud")
    with pytest.raises(UpstreamError):
        await places.take("loud")
    quiet = await waiting(places, 2, "quiet")
    await asyncio.sleep(0)
    assert [task.done() for task in loud] == [False, False, True, True], "the newest go, the oldest stay"
    assert all(isinstance(task.exception(), UpstreamError) for task in loud[2:])
    with pytest.raises(UpstreamError):
        await places.take("quiet")
    with pytest.raises(UpstreamError):
        await places.take("loud")
    third = await waiting(places, 1, "third")
    assert not third[0].done(), "two of one party give way to the first of another"
    for task in (*loud, *quiet, *third):
        task.cancel()
    await asyncio.gather(*loud, *quiet, *third, return_exceptions=True)
    assert (places.used, places.waiting) == (1, 0)


async def test_other_numbers_hold_at_once() -> None:
    places = of(1)
    await places.take()
    tasks = await waiting(places, 3)
    places.resize(Room(3))
    await asyncio.sleep(0)
    assert [task.done() for task in tasks] == [True, True, False]
    places.resize(Room(1))
    places.give()
    places.give()
    await asyncio.sleep(0)
    assert not tasks[2].done(), "two left, one is as many as may be"
    places.resize(Room(None))
    await tasks[2]
    assert (places.used, places.waiting, places.is_full) == (2, 0, False)


@given(
    st.lists(
        st.tuples(st.sampled_from(["take", "give", "leave", "resize"]), st.sampled_from("abc")), max_size=60
    ),
    st.integers(1, 3),
    st.integers(0, 3),
)
@settings(max_examples=80)
def test_there_are_never_more_inside_than_places(steps: list[tuple[str, str]], most: int, queue: int) -> None:
    async def walk() -> None:
        places = of(most, queue)
        tasks: list[asyncio.Task[None]] = []
        given = 0
        for step, party in steps:
            inside = sum(t.done() and not t.cancelled() and t.exception() is None for t in tasks) - given
            assert 0 <= inside <= most
            if step == "take":
                tasks.append(asyncio.create_task(places.take(party)))
            elif step == "give" and inside:
                places.give()
                given += 1
            elif step == "resize":
                places.resize(Room(most, len(tasks) % 4))
            elif step == "leave":
                for task in [task for task in tasks if not task.done()][:1]:
                    task.cancel()
            for _ in range(3):
                await asyncio.sleep(0)
            assert places.waiting <= len([task for task in tasks if not task.done()])
            held = sum(t.done() and not t.cancelled() and t.exception() is None for t in tasks) - given
            assert held == most or places.waiting == 0, "nobody waits before a free place"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert places.waiting == 0

    asyncio.run(walk())
