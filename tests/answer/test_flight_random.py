"""Single flight under random schedules: whatever comes, leaves and fails, the books balance."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.answer.flight import Flights, FlightStats, Ticket
from semcache.answer.shared import FlightLimits, Head
from semcache.core import Completion
from semcache.dialects.chat.assemble import chat_assembler
from semcache.errors import SemcacheError, UpstreamError
from semcache.ports import UpstreamCall
from tests.answer.eventually import eventually
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.upstream_server import chat_chunks, sse_bytes

SSE = ((b"content-type", b"text/event-stream"),)
CALL = UpstreamCall("POST", "/chat/completions", (), b"{}")
LIMITS = FlightLimits(retain=1500, window=500, write_deadline=0.05, finish_within=0.05)
KINDS = ("good", "good", "long", "refused", "down", "cut", "slow")


def body(number: int, kind: str) -> list[bytes]:
    """A body that says which call it belongs to."""
    length = 12 if kind == "long" else 2
    return [sse_bytes([c], done=False) for c in chat_chunks([f"<{number}>"] * length, usage=False)] + [
        b"data: [DONE]\n\n"
    ]


def reply(number: int, kind: str) -> FakeReply | UpstreamError:
    parts: list[Any] = [*body(number, kind)]
    match kind:
        case "refused":
            return FakeReply(429, SSE, parts)
        case "down":
            return UpstreamError("down")
        case "cut":
            return FakeReply(200, SSE, [*parts[:2], UpstreamError("cut", code="upstream_cut")])
        case "slow":
            return FakeReply(200, SSE, [item for part in parts for item in (part, 0.002)])
        case _:
            return FakeReply(200, SSE, parts)


operations = st.lists(
    st.tuples(st.sampled_from(["join", "join", "read", "read", "whole", "leave", "wait"]), st.integers(0, 9)),
    max_size=40,
)


class Run:
    """One schedule."""

    def __init__(self, kinds: list[str]) -> None:
        self.kinds = kinds
        self.tasks: set[asyncio.Task[None]] = set()
        self.upstream = FakeGenerator(lambda _: self.next_reply())
        self.flights = Flights(self.spawn, LIMITS)
        self.stored: list[Completion] = []
        self.tickets: list[Ticket] = []
        self.streams: dict[Ticket, Any] = {}
        self.got: dict[Ticket, bytes] = {}
        self.work: set[asyncio.Task[None]] = set()

    def kind(self, number: int) -> str:
        return self.kinds[number % len(self.kinds)]

    def next_reply(self) -> FakeReply | UpstreamError:
        number = len(self.upstream.calls)
        return reply(number, self.kind(number))

    def spawn(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def store(self, completion: Completion) -> bool:
        await asyncio.sleep(0)
        self.stored.append(completion)
        return True

    def assembler(self, head: Head) -> Any:
        return chat_assembler(head.content_type)

    def join(self, number: int) -> None:
        key = ("a", "b", None)[number % 3]
        ticket = self.flights.join(
            key, lambda: self.upstream.open(CALL), self.assembler, self.store, finish_anyway=number % 2 == 0
        )
        self.tickets.append(ticket)
        self.streams[ticket] = ticket.chunks()
        self.got[ticket] = b""

    async def read(self, ticket: Ticket) -> None:
        try:
            async with asyncio.timeout(0.2):
                self.got[ticket] += await anext(self.streams[ticket], b"")
        except SemcacheError:
            pass

    async def whole(self, ticket: Ticket) -> None:
        try:
            async with asyncio.timeout(1):
                await ticket.completion()
        except SemcacheError:
            pass

    async def step(self, operation: str, number: int) -> None:
        ticket = self.tickets[number % len(self.tickets)] if self.tickets else None
        match operation:
            case "join":
                self.join(number)
            case "wait":
                await asyncio.sleep(number / 2000)
            case "read" if ticket is not None:
                await self.read(ticket)
            case "whole" if ticket is not None:
                task = asyncio.create_task(self.whole(ticket))
                self.work.add(task)
                await asyncio.sleep(0)
            case "leave" if ticket is not None:
                ticket.leave()

    def check(self) -> None:
        stats = self.flights.stats()
        assert stats.flights == len(self.tasks)
        assert stats.slots <= min(stats.flights, 2)
        for flight in self.flights._slots.values():
            assert flight.task is not None
            assert not flight.task.done()
            assert not flight._dropping
        bodies = [b"".join(body(n, self.kind(n))) for n in range(len(self.upstream.calls) + 1)]
        for got in self.got.values():
            assert any(whole.startswith(got) for whole in bodies), "a reader got bytes that no one call sent"
        for completion in self.stored:
            assert completion.chunks is None
        assert len(self.stored) <= len(self.upstream.calls)


async def run(kinds: list[str], schedule: list[tuple[str, int]]) -> None:
    it = Run(kinds)
    for operation, number in schedule:
        await it.step(operation, number)
        it.check()
    for ticket in it.tickets:
        ticket.leave()
    await asyncio.gather(*it.work)
    await eventually(lambda: not it.tasks, within=3)
    it.check()
    assert it.flights.stats() == FlightStats(0, 0, 0, 0)
    assert all(reply.closed == 1 for reply in it.upstream.replies)
    for stream in it.streams.values():
        await stream.aclose()
    assert len(asyncio.all_tasks()) == 1


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4), operations)
def test_random_schedules_leave_nothing_behind(kinds: list[str], schedule: list[tuple[str, int]]) -> None:
    asyncio.run(run(kinds, schedule))
