"""Single flight: one call for all, nobody hurt by another's leaving, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from semcache.answer.flight import Flights, FlightStats, Ticket
from semcache.answer.shared import FlightLimits, Head
from semcache.core import Completion
from semcache.dialects.chat.assemble import chat_assembler
from semcache.dialects.dialect import Assembler, Incomplete
from semcache.errors import RequestError, StoreError, UpstreamError
from semcache.ports import UpstreamCall
from tests.answer.eventually import eventually
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.upstream_server import chat_body, chat_chunks, compress, sse_bytes

JSON = ((b"Content-Type", b"application/json; charset=utf-8"),)
SSE = ((b"Content-Type", b"text/event-stream"),)
CALL = UpstreamCall("POST", "/chat/completions", (), b"{}")
EVENTS = [sse_bytes([chunk], done=False) for chunk in chat_chunks()] + [b"data: [DONE]\n\n"]
WHOLE = b"".join(EVENTS)
BODY = json.dumps(chat_body()).encode()
DOWN = UpstreamError("upstream 'fake' could not be reached")
CUT = UpstreamError("upstream 'fake' broke off", code="upstream_cut")


def ok(pause: float = 0.0) -> FakeReply:
    parts: list[Any] = []
    for event in EVENTS:
        parts += [event, pause] if pause else [event]
    return FakeReply(200, SSE, parts)


@dataclass
class Scene:
    """Flights over a fake upstream, with the tasks and stored answers in view."""

    script: Callable[[int], FakeReply | UpstreamError]
    limits: FlightLimits = field(default_factory=FlightLimits)
    delay: float = 0.0
    store_delay: float = 0.0
    store_error: Exception | None = None
    stored: list[Completion] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.upstream = FakeGenerator(lambda _: self.script(len(self.upstream.calls)), delay=self.delay)
        self.flights = Flights(self.spawn, self.limits)

    def spawn(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def store(self, completion: Completion) -> bool:
        if self.store_error is not None:
            raise self.store_error
        await asyncio.sleep(self.store_delay)
        self.stored.append(completion)
        return True

    def assembler(self, head: Head) -> Assembler | None:
        return chat_assembler(head.content_type)

    def join(self, key: str | None = "k", **options: Any) -> Ticket:
        return self.flights.join(key, lambda: self.upstream.open(CALL), self.assembler, self.store, **options)

    async def ask(self, key: str | None = "k", **options: Any) -> tuple[int, bytes]:
        async with self.join(key, **options) as ticket:
            head = await ticket.head()
            return head.status, b"".join([part async for part in ticket.chunks()])

    async def outcome(self, key: str | None = "k") -> Any:
        """What one request sees, failures as (status, code)."""
        try:
            return await self.ask(key)
        except (UpstreamError, RequestError) as error:
            return error.status, error.code

    @property
    def calls(self) -> int:
        return len(self.upstream.calls)


@contextlib.asynccontextmanager
async def scene(*args: Any, **options: Any) -> AsyncIterator[Scene]:
    """Give a scene; afterwards nothing of it may be left."""
    made = Scene(*args, **options)
    before = asyncio.all_tasks()
    yield made
    await eventually(lambda: not made.tasks)
    assert made.flights.stats() == FlightStats(0, 0, 0, 0)
    assert all(reply.closed for reply in made.upstream.replies)
    await eventually(lambda: asyncio.all_tasks() == before)


@pytest.mark.parametrize("delay", [0.0, 0.02])
async def test_a_hundred_equal_requests_make_one_call(delay: float) -> None:
    async with scene(lambda _: ok(pause=0.001), delay=delay) as it:
        answers = await asyncio.gather(*(it.ask() for _ in range(100)))
    assert answers == [(200, WHOLE)] * 100
    assert it.calls == 1
    assert len(it.stored) == 1


async def test_other_keys_and_no_key_share_nothing() -> None:
    async with scene(lambda _: ok(), delay=0.01) as it:
        await asyncio.gather(*(it.ask(key) for key in ("a", "b", None, None, "a")))
    assert it.calls == 4


async def test_those_who_come_late_get_the_body_from_its_beginning() -> None:
    async with scene(lambda _: ok(pause=0.02)) as it:
        first = asyncio.create_task(it.ask())
        await asyncio.sleep(0.05)
        second = it.join()
        assert not second.leader
        assert b"".join([part async for part in second.chunks()]) == WHOLE
        second.leave()
        assert await first == (200, WHOLE)
    assert it.calls == 1


async def test_bytes_come_as_they_arrive() -> None:
    async with scene(lambda _: ok(pause=0.01)) as it, it.join() as ticket:
        assert [part async for part in ticket.chunks()] == EVENTS


async def test_the_leaders_leaving_does_not_cancel_the_others() -> None:
    async with scene(lambda _: ok(pause=0.01)) as it:
        leader = asyncio.create_task(it.ask())
        await asyncio.sleep(0)
        others = [asyncio.create_task(it.ask()) for _ in range(10)]
        await asyncio.sleep(0.02)
        leader.cancel()
        assert await asyncio.gather(*others) == [(200, WHOLE)] * 10
        await asyncio.gather(leader, return_exceptions=True)
    assert it.calls == 1
    assert len(it.stored) == 1


@pytest.mark.parametrize("delay", [0.0, 30.0])
async def test_when_the_last_one_leaves_the_call_is_cancelled(delay: float) -> None:
    stalled = FakeReply(200, SSE, [EVENTS[0], 30.0])
    async with scene(lambda _: stalled, delay=delay) as it:
        readers = [asyncio.create_task(it.ask()) for _ in range(3)]
        await asyncio.sleep(0.02)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        await eventually(lambda: not it.tasks, within=0.5)
        assert it.flights.stats().slots == 0
    assert it.stored == []


async def test_a_request_after_a_cancelled_flight_starts_its_own() -> None:
    async with scene(lambda n: FakeReply(200, SSE, [30.0]) if n == 1 else ok()) as it:
        it.join().leave()  # before its task could begin
        async with it.join() as ticket:
            await ticket.head()
        assert await it.ask() == (200, WHOLE)
    assert it.calls == 2


async def test_an_answer_wanted_anyway_is_finished_without_readers() -> None:
    async with scene(lambda _: ok(pause=0.01)) as it:
        async with it.join(finish_anyway=True) as ticket:
            await anext(ticket.chunks())
        await eventually(lambda: it.stored)
    assert len(it.stored) == 1


async def test_an_answer_wanted_anyway_may_still_be_joined_and_then_left() -> None:
    async with scene(lambda _: ok(pause=0.01), limits=FlightLimits(finish_within=0.05)) as it:
        async with it.join(finish_anyway=True) as ticket:
            await anext(ticket.chunks())
        assert await it.ask() == (200, WHOLE)
    assert it.calls == 1


async def test_an_answer_wanted_anyway_does_not_go_on_for_ever() -> None:
    endless = FakeReply(200, SSE, [EVENTS[0], *[0.01] * 10_000])
    limits = FlightLimits(finish_within=0.05)
    async with scene(lambda _: endless, limits=limits) as it, it.join(finish_anyway=True) as ticket:
        await anext(ticket.chunks())
    assert it.stored == []


async def test_a_client_that_hangs_up_on_the_end_mark_does_not_lose_the_answer() -> None:
    """Stock clients close their connection on `[DONE]`, before the body's own end."""
    async with scene(lambda _: FakeReply(200, SSE, [*EVENTS, 0.05])) as it:
        async with it.join() as ticket:
            async for part in ticket.chunks():
                if b"[DONE]" in part:
                    break
        await eventually(lambda: it.stored)


async def test_the_answer_is_stored_before_its_end_is_read() -> None:
    """Who asks again having read the whole answer must find it."""
    async with scene(lambda _: ok(), store_delay=0.05) as it:
        await it.ask()
        assert len(it.stored) == 1


async def test_storing_is_not_cancelled_by_the_last_ones_leaving() -> None:
    async with scene(lambda _: ok(), store_delay=0.05) as it:
        async with it.join() as ticket:
            await ticket.head()
            await asyncio.sleep(0.02)
        assert it.stored == []
        await eventually(lambda: it.stored)


async def test_the_slot_is_kept_until_the_answer_is_stored() -> None:
    """Whoever comes either still boards, or finds what was stored: never a second call."""
    async with scene(lambda _: ok(), store_delay=0.05) as it:
        first = asyncio.create_task(it.ask())
        await asyncio.sleep(0.02)
        while not it.stored:
            assert it.flights.stats().slots == 1
            assert await it.ask() == (200, WHOLE)
        await first
        await eventually(lambda: it.flights.stats().slots == 0)
    assert it.calls == 1


async def test_an_answer_that_is_not_whole_frees_its_slot_and_is_not_stored() -> None:
    async with scene(lambda _: FakeReply(200, SSE, EVENTS[:-1])) as it:
        assert await it.ask() == (200, b"".join(EVENTS[:-1]))
        await eventually(lambda: not it.flights.stats().slots)
        await it.ask()
    assert it.calls == 2
    assert it.stored == []


@pytest.mark.parametrize("error", [StoreError("late", "late"), ZeroDivisionError("a defect")])
async def test_a_store_that_fails_harms_no_reader(error: Exception) -> None:
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
    async with scene(lambda _: ok(), store_error=error) as it:
        assert await asyncio.gather(*(it.ask() for _ in range(5))) == [(200, WHOLE)] * 5
    assert len(reports) == (0 if isinstance(error, StoreError) else 1)


async def test_a_defect_in_a_flight_reaches_readers_as_a_named_error() -> None:
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))

    async def broken() -> Any:
        raise ZeroDivisionError

    async with scene(lambda _: ok()) as it, it.flights.join("k", broken, it.assembler, it.store) as ticket:
        with pytest.raises(UpstreamError) as caught:
            await ticket.head()
    assert caught.value.code == "internal_error"
    assert len(reports) == 1


# ------------------------------------------------------------------------------------- failures

FAILURES: list[tuple[str, FakeReply | UpstreamError, Any]] = [
    ("no reply", DOWN, (502, "upstream_unreachable")),
    ("429", FakeReply(429, JSON, [b"slow down"]), (429, b"slow down")),
    ("500", FakeReply(500, JSON, [b"oops"]), (500, b"oops")),
]


@pytest.mark.parametrize(("name", "failure", "seen"), FAILURES)
async def test_a_failure_is_the_leaders_own_and_the_others_try_again(
    name: str, failure: Any, seen: Any
) -> None:
    async with scene(lambda n: failure if n == 1 else ok(), delay=0.01) as it:
        first, *others = await asyncio.gather(*(it.outcome() for _ in range(20)))
    assert first == seen
    assert others == [(200, WHOLE)] * 19
    assert it.calls == 2
    assert len(it.stored) == 1


@pytest.mark.parametrize(("name", "failure", "seen"), FAILURES)
async def test_after_two_calls_all_get_the_failure(name: str, failure: Any, seen: Any) -> None:
    async with scene(lambda _: failure, delay=0.01) as it:
        answers = await asyncio.gather(*(it.outcome() for _ in range(20)))
    assert answers == [seen] * 20
    assert it.calls == 2
    assert it.stored == []


async def test_a_new_leader_knows_that_it_is_one() -> None:
    async with (
        scene(lambda n: DOWN if n == 1 else ok(), delay=0.01) as it,
        it.join() as first,
        it.join() as second,
    ):
        assert (first.leader, second.leader) == (True, False)
        with pytest.raises(UpstreamError):
            await first.head()
        await second.head()
        assert second.leader
        assert b"".join([part async for part in second.chunks()]) == WHOLE


async def test_failures_do_not_stay_for_those_who_come_later() -> None:
    async with scene(lambda n: DOWN if n == 1 else ok()) as it:
        assert await it.outcome() == (502, "upstream_unreachable")
        assert await it.outcome() == (200, WHOLE)


async def test_nobody_boards_a_flight_whose_head_is_an_error() -> None:
    slow_error = FakeReply(500, JSON, [b"a", 0.1, b"b"])
    async with scene(lambda n: slow_error if n == 1 else ok()) as it:
        first = asyncio.create_task(it.ask())
        await asyncio.sleep(0.02)
        assert await it.ask() == (200, WHOLE)
        assert await first == (500, b"ab")


async def test_a_break_in_the_middle_reaches_all_who_were_reading() -> None:
    broken = FakeReply(200, SSE, [EVENTS[0], 0.02, CUT])
    async with scene(lambda _: broken) as it:

        async def read() -> tuple[bytes, str]:
            got = b""
            async with it.join() as ticket:
                try:
                    async for part in ticket.chunks():
                        got += part
                except UpstreamError as error:
                    return got, error.code
            return got, ""

        assert await asyncio.gather(*(read() for _ in range(5))) == [(EVENTS[0], "upstream_cut")] * 5
    assert it.calls == 1
    assert it.stored == []


async def test_errors_are_copies_for_each_reader() -> None:
    async with scene(lambda _: DOWN, delay=0.01) as it:
        errors = await asyncio.gather(*(it.ask() for _ in range(4)), return_exceptions=True)
    assert len({id(error) for error in errors}) == 4
    assert {(error.status, error.code, str(error)) for error in errors} == {(502, DOWN.code, str(DOWN))}


# ------------------------------------------------------------------------------ the other wire mode


async def test_a_follower_may_wait_for_the_whole_answer_instead() -> None:
    async with scene(lambda _: ok(pause=0.005)) as it:
        leader = asyncio.create_task(it.ask())
        await asyncio.sleep(0)
        async with it.join() as ticket:
            assert (await ticket.head()).content_type == "text/event-stream"
            completion = await ticket.completion()
        assert isinstance(completion, Completion)
        assert json.loads(completion.body)["choices"][0]["message"]["content"] == "Paris."
        assert await leader == (200, WHOLE)
    assert it.calls == 1


async def test_a_reader_may_ask_for_the_outcome_after_the_end() -> None:
    async with scene(lambda _: FakeReply(200, JSON, [BODY])) as it, it.join() as ticket:
        assert b"".join([part async for part in ticket.chunks()]) == BODY
        outcome = await ticket.completion()
    assert outcome == it.stored[0]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (FakeReply(200, SSE, EVENTS[:2]), "cut"),
        (FakeReply(200, SSE, [EVENTS[0], CUT]), "cut"),
        (FakeReply(201, JSON, [BODY]), "upstream_status"),
        (FakeReply(200, ((b"content-type", b"text/html"),), [b"<html>"]), "content_type"),
        (FakeReply(200, (*JSON, (b"content-encoding", b"br")), [b"\x01"]), "undecodable"),
        (FakeReply(200, SSE, [EVENTS[0]] * 50), "too_large"),
    ],
)
async def test_why_there_is_no_answer_to_remember(reply: FakeReply, reason: str) -> None:
    async with scene(lambda _: reply, limits=FlightLimits(retain=3 * len(WHOLE))) as it, it.join() as ticket:
        assert await ticket.completion() == Incomplete(reason)
    assert it.stored == []


async def test_what_breaks_behind_the_end_mark_is_nobodys_loss() -> None:
    async with scene(lambda _: FakeReply(200, SSE, [*EVENTS, CUT])) as it:
        assert await it.outcome() == (200, WHOLE)
    assert len(it.stored) == 1


@pytest.mark.parametrize("framing", [(), ((b"Content-Length", b"9"),), ((b"Transfer-Encoding", b"chunked"),)])
async def test_half_a_document_is_an_error_where_only_the_connection_bounds_it(
    framing: tuple[tuple[bytes, bytes], ...],
) -> None:
    async with scene(lambda _: FakeReply(200, (*JSON, *framing), [BODY[:-9]])) as it:
        assert await it.outcome() == ((502, "upstream_cut") if not framing else (200, BODY[:-9]))
    assert it.stored == []


async def test_an_end_mark_without_a_reason_reaches_nobody() -> None:
    async with scene(lambda _: FakeReply(200, SSE, [EVENTS[0], 0.01, EVENTS[-1]])) as it, it.join() as ticket:
        parts = ticket.chunks()
        assert await anext(parts) == EVENTS[0]
        with pytest.raises(UpstreamError):
            await anext(parts)


async def test_waiting_for_the_answer_fails_like_the_head_does() -> None:
    async with scene(lambda _: DOWN) as it, it.join() as ticket:
        with pytest.raises(UpstreamError):
            await ticket.completion()


# --------------------------------------------------------------------------------- coded bodies


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_coded_bodies_are_decoded_for_all(coding: str) -> None:
    packed = compress(WHOLE, coding)
    headers = (
        *SSE,
        (b"Content-Encoding", coding.encode()),
        (b"Content-Length", b"%d" % len(packed)),
        (b"x-a", b"1"),
    )
    reply = FakeReply(200, headers, [packed[:20], packed[20:]])
    async with scene(lambda _: reply) as it, it.join() as ticket:
        assert (await ticket.head()).headers == (*SSE, (b"x-a", b"1"))
        assert b"".join([part async for part in ticket.chunks()]) == WHOLE
    assert len(it.stored) == 1


async def test_what_cannot_be_decoded_passes_as_it_is() -> None:
    headers = (*JSON, (b"content-encoding", b"br"), (b"content-length", b"2"))
    async with scene(lambda _: FakeReply(200, headers, [b"\x01\x02"])) as it, it.join() as ticket:
        assert (await ticket.head()).headers == headers
        assert [part async for part in ticket.chunks()] == [b"\x01\x02"]


async def test_plain_bodies_keep_their_length() -> None:
    headers = (*JSON, (b"content-length", b"%d" % len(BODY)))
    async with scene(lambda _: FakeReply(200, headers, [BODY])) as it, it.join() as ticket:
        assert (await ticket.head()).headers == headers


# ------------------------------------------------------------------------- sizes and slow readers

BIG = [b"x" * 1000] * 100
SMALL = FlightLimits(retain=10_000, window=5_000, write_deadline=0.1)


async def test_a_flight_beyond_its_limit_takes_nobody_new_and_holds_little() -> None:
    async with scene(lambda _: FakeReply(200, SSE, BIG), limits=SMALL) as it, it.join() as ticket:
        total = 0
        most = 0
        async for part in ticket.chunks():
            total += len(part)
            most = max(most, it.flights.stats().held_bytes)
            if total > 20_000:
                assert it.flights.stats().slots == 0
            await asyncio.sleep(0)
        assert total == 100_000
        assert most <= SMALL.retain + 1000
    assert it.stored == []


@pytest.mark.parametrize("key", ["k", None])
async def test_a_lone_reader_that_pauses_holds_the_upstream_back(key: str | None) -> None:
    reply = FakeReply(200, SSE, BIG)
    async with scene(lambda _: reply, limits=SMALL) as it, it.join(key) as ticket:
        parts = ticket.chunks()
        total = len(await anext(parts))
        await asyncio.sleep(0.03)
        assert reply.read <= 25
        async for part in parts:
            total += len(part)
            await asyncio.sleep(0.002)
        assert total == 100_000


@pytest.mark.parametrize("key", ["k", None])
async def test_a_lone_reader_that_stops_is_put_off(key: str | None) -> None:
    async with scene(lambda _: FakeReply(200, SSE, BIG), limits=SMALL) as it, it.join(key) as ticket:
        parts = ticket.chunks()
        await anext(parts)
        await asyncio.sleep(0.3)
        with pytest.raises(RequestError) as caught:
            [part async for part in parts]
    assert (caught.value.status, caught.value.code) == (408, "slow_reader")


async def test_a_slow_reader_does_not_stop_the_others() -> None:
    async with scene(lambda _: FakeReply(200, SSE, BIG), limits=SMALL) as it:
        slow = it.join()
        quick = asyncio.create_task(it.ask())
        await anext(slow.chunks())
        async with asyncio.timeout(1):
            assert await quick == (200, b"".join(BIG))
        with pytest.raises(RequestError):
            [part async for part in slow.chunks()]
        slow.leave()
    assert it.calls == 1


async def test_a_reader_that_only_trickles_does_not_stop_the_others_either() -> None:
    chunks = [b"x" * 20_000] * 100
    limits = FlightLimits(retain=300_000, write_deadline=0.1)
    async with scene(lambda _: FakeReply(200, SSE, chunks), limits=limits) as it:

        async def trickle() -> str:
            async with it.join() as ticket:
                try:
                    async for _ in ticket.chunks():
                        await asyncio.sleep(0.09)
                except RequestError as error:
                    return error.code
            return ""

        slow = asyncio.create_task(trickle())
        await asyncio.sleep(0)
        async with asyncio.timeout(1.5):
            assert await it.ask() == (200, b"".join(chunks))
        assert await slow == "slow_reader"


async def test_one_who_waits_for_the_answer_holds_nothing_up() -> None:
    async with scene(lambda _: FakeReply(200, SSE, BIG), limits=SMALL) as it, it.join() as waiting:
        completion = asyncio.create_task(waiting.completion())
        await asyncio.sleep(0)
        assert await it.ask() == (200, b"".join(BIG))
        assert await completion == Incomplete("too_large")


async def test_what_is_held_is_let_go_once_the_slot_is_free() -> None:
    async with scene(lambda _: ok(pause=0.002)) as it, it.join() as ticket:
        parts = ticket.chunks()
        await anext(parts)
        await eventually(lambda: it.stored)
        await eventually(lambda: not it.flights.stats().flights)
        assert b"".join([part async for part in parts]) == b"".join(EVENTS[1:])
        assert ticket._flight.backlog.size == 0


# ------------------------------------------------------------------------------------ the way out


async def test_a_shutdown_ends_every_reader() -> None:
    async with scene(lambda _: FakeReply(200, SSE, [EVENTS[0], 30.0])) as it:
        readers = [asyncio.create_task(it.outcome()) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in list(it.tasks):
            task.cancel()
        assert await asyncio.gather(*readers) == [(503, "cancelled")] * 3
    assert it.calls == 1


async def test_a_shutdown_before_the_pump_began_ends_every_reader() -> None:
    async with scene(lambda _: ok()) as it:
        ticket = it.join()
        for task in list(it.tasks):
            task.cancel()
        with pytest.raises(UpstreamError):
            await ticket.head()
        ticket.leave()
    assert it.calls == 0


async def test_a_ticket_left_gives_nothing_more() -> None:
    async with scene(lambda _: ok(pause=0.01)) as it:
        ticket = it.join()
        parts = ticket.chunks()
        await anext(parts)
        ticket.leave()
        ticket.leave()
        await ticket.aclose()
        assert len([part async for part in parts]) <= 1
