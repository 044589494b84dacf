"""Routes over processes that are killed, hang, come back and are joined by others."""

from __future__ import annotations

import asyncio
import math
import signal
from collections import Counter

import pytest

from semcache.errors import UpstreamError
from tests.routing.pool import Conversation, Process, nodes, routed, stopped, turns

MANY = 80


def conversations(count: int = MANY) -> list[Conversation]:
    return [Conversation(number) for number in range(count)]


async def test_conversations_stay_where_they_are_and_a_lost_node_moves_its_own_only() -> None:
    with nodes(4) as pool:
        async with routed(pool) as route, routed(pool[::-1]) as other_worker:
            talks = conversations()
            first = await turns(route, talks)
            assert set(first) == {"n0", "n1", "n2", "n3"}
            assert await turns(route, talks) == first
            assert await turns(other_worker, talks) == first, "every worker knows the same homes"
            lost = Counter(first).most_common(1)[0][0]
            process = next(node for node in pool if node.name == lost)
            process.end()
            moved = await turns(route, talks)
            assert lost not in moved
            assert [here for here, home in zip(moved, first, strict=True) if home != lost] == [
                home for home in first if home != lost
            ]
            assert first.count(lost) / MANY < 0.45, "about a quarter"
            assert await turns(route, talks) == moved, "and they stay where they went"
            process.start()
            process.wait_ready()
            await asyncio.sleep(0.25)
            assert await talks[first.index(lost)].turn(route) == lost, "the first one is the probe"
            assert await turns(route, talks) == first, "and all come back"


@pytest.mark.parametrize("prompts", [1, 200])
async def test_a_node_that_comes_takes_about_its_share(prompts: int) -> None:
    def talks() -> list[Conversation]:
        return [Conversation(number, f"Prompt {number % prompts}.") for number in range(200)]

    with nodes(5) as pool:
        async with routed(pool[:4]) as four, routed(pool) as five:
            before = await turns(four, talks())
            after = await turns(five, talks())
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    # The first few prompts look hot until there are more.
    assert Counter(moved).most_common(1)[0][0] == "n4"
    assert len([name for name in moved if name != "n4"]) <= (0 if prompts == 1 else 6)
    assert 0.1 < len(moved) / 200 < 0.32, "about a fifth"


async def test_one_hot_prompt_spreads_within_its_bound() -> None:
    with nodes(4, delay=0.5) as pool:
        async with routed(pool, spread_above=4) as route:
            same = [Conversation(7) for _ in range(200)]
            where = Counter(await turns(route, same, 200))
        seen = {node.name: node.seen() for node in pool}
    assert sum(where.values()) == sum(node["calls"] for node in seen.values()) == 200
    bound = math.ceil(1.25 * 200 / 4)
    assert max(node["most"] for node in seen.values()) <= bound
    assert min(where.values()) >= 200 - 3 * bound, "everybody helps"


async def test_nobody_waits_for_a_place_while_another_node_has_one() -> None:
    with nodes(3, delay=0.6) as pool:
        async with routed(pool, {"max_concurrent": 2, "queue_seconds": 10.0}) as route:
            begun = asyncio.get_running_loop().time()
            where = Counter(await turns(route, [Conversation(7) for _ in range(6)], 6))
            assert asyncio.get_running_loop().time() - begun < 1.2, "at once, not one after another"
            assert set(where.values()) == {2}
            await turns(route, [Conversation(7) for _ in range(12)], 12)
        assert max(node.seen()["most"] for node in pool) == 2


async def test_a_cool_prompt_does_not() -> None:
    with nodes(4) as pool:
        async with routed(pool) as route:
            assert len(set(await turns(route, [Conversation(7) for _ in range(30)], 3))) == 1


async def test_a_node_that_hangs_is_left_alone_after_a_while() -> None:
    hurry = {"first_byte_timeout": 0.3, "breaker_on": ["late"], "breaker_pause": 30.0}
    with nodes(3) as pool:
        async with routed(pool, hurry, retry_on=["late"]) as route:
            talks = conversations(24)
            first = await turns(route, talks)
            with stopped(pool[0]):
                moved = await turns(route, talks)
                assert "n0" not in moved
                assert route.targets[0].member.refuses, "nobody waits for it any more"
                assert await turns(route, talks) == moved
            kept = [(old, new) for old, new in zip(first, moved, strict=True) if old != "n0"]
            assert all(old == new for old, new in kept)


async def test_a_call_that_was_sent_is_not_made_twice() -> None:
    with nodes(2) as pool:
        async with routed(pool, {"first_byte_timeout": 0.3}) as route:
            for process in pool:
                process.kill(signal.SIGSTOP)
            with pytest.raises(UpstreamError, match="did not answer in time"):
                await Conversation(1).turn(route)
            for process in pool:
                process.kill(signal.SIGCONT)
            await asyncio.sleep(0.1)
            assert sum(node.seen()["calls"] for node in pool) <= 1


async def test_killing_nodes_at_random_fails_no_call_that_could_be_answered() -> None:
    with nodes(3) as pool:
        async with routed(pool, retry_on=[429, "5xx", "disconnected"]) as route:
            talks = conversations(30)

            def is_fair(outcome: str | BaseException) -> bool:
                """An answer whose bytes had begun to come is lost with its node; nothing else is."""
                return isinstance(outcome, str) or (
                    isinstance(outcome, UpstreamError) and outcome.code == "upstream_cut"
                )

            async def unrest() -> None:
                for process in [*pool, *pool]:
                    await asyncio.sleep(0.05)
                    process.end()
                    await asyncio.sleep(0.05)
                    process.start()
                    process.wait_ready()

            trouble = asyncio.create_task(unrest())
            while not trouble.done():
                outcomes = await asyncio.gather(*(talk.turn(route) for talk in talks), return_exceptions=True)
                assert all(map(is_fair, outcomes)), outcomes
            await trouble


async def test_what_stays_put_is_found_again() -> None:
    """The share of a prompt that its node has seen: by affinity all but the new question, in turn about a quarter."""
    with nodes(4) as pool:
        async with routed(pool) as route:
            talks = conversations(20)
            for _ in range(5):
                await turns(route, talks)
    share = sum(talk.cached for talk in talks) / sum(talk.prompt for talk in talks)
    # Turn k has 2k messages, 2k - 2 of which its node has seen if it stays there; of the first turn the system
    # message alone, but for the first on each node.
    assert share > 0.65


def test_ports_are_given_back() -> None:
    process = Process("n")
    process.start()
    process.wait_ready()
    port = process.port
    process.end()
    process.start()
    process.wait_ready()
    assert process.port == port
    process.end()
