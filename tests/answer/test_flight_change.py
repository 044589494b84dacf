"""Requests that a shared answer is of no use to share another."""

from __future__ import annotations

import asyncio

from semcache.core import Completion
from semcache.dialects.dialect import Incomplete
from tests.answer.test_flight import BODY, CUT, EVENTS, JSON, SSE, Scene, ok, scene
from tests.fakes.generator import FakeReply
from tests.fakes.upstream_server import chat_chunks, sse_bytes

LIMITED = (sse_bytes(chat_chunks(finish=None), done=False), sse_bytes(chat_chunks([], finish="length")))
"""A stream that is whole, and for its own caller alone."""


async def whole(it: Scene) -> bytes | Completion | Incomplete:
    """Want the whole answer, and a call of one's own kind where it is none though nothing failed."""
    async with it.join() as ticket:
        found = await ticket.completion()
        if not isinstance(found, Incomplete) or found.reason == "cut":
            return found
        ticket.change("whole")
        return b"".join([part async for part in ticket.chunks()])


async def test_all_of_one_kind_share_the_second_call() -> None:
    def script(call: int) -> FakeReply:
        return (
            FakeReply(200, SSE, (LIMITED[0], 0.05, LIMITED[1]))
            if call == 1
            else FakeReply(200, JSON, (BODY,))
        )

    async with scene(script) as it:
        first = asyncio.create_task(it.ask())
        await asyncio.sleep(0)
        assert await asyncio.gather(*(whole(it) for _ in range(20))) == [BODY] * 20
        assert await first == (200, LIMITED[0] + LIMITED[1])
    assert it.calls == 2
    assert len(it.stored) == 1


async def test_a_whole_answer_is_taken_as_it_is() -> None:
    async with scene(lambda _: ok(pause=0.001)) as it:
        first = asyncio.create_task(it.ask())
        await asyncio.sleep(0)
        assert isinstance(await whole(it), Completion)
        await first
    assert it.calls == 1


async def test_a_body_that_breaks_off_does_so_for_all_and_nobody_calls_again() -> None:
    async with scene(lambda _: FakeReply(200, SSE, (EVENTS[0], 0.01, CUT))) as it:
        first = asyncio.create_task(it.outcome())
        await asyncio.sleep(0)
        assert await asyncio.gather(*(whole(it) for _ in range(5))) == [Incomplete("cut")] * 5
        assert await first == (502, "upstream_cut")
    assert it.calls == 1
