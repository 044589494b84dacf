"""Each tenant's own places, held until a reply is closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from semcache.answer.places import Room
from semcache.answer.tenant_places import Bounded, TenantPlaces
from semcache.errors import UpstreamError
from semcache.ports import UpstreamCall


class Reply:
    status, headers = 200, ((b"a", b"b"),)
    closed = 0

    async def body(self) -> AsyncIterator[bytes]:
        yield b"x"

    async def aclose(self) -> None:
        self.closed += 1


class Upstream:
    name = "main"
    fault: Exception | None = None
    closed = False

    async def open(self, call: UpstreamCall) -> Reply:
        await asyncio.sleep(0)
        if self.fault:
            raise self.fault
        return Reply()

    async def aclose(self) -> None:
        self.closed = True


def call(tenant: str) -> UpstreamCall:
    return UpstreamCall("POST", "/v1/chat/completions", (), b"{}", tenant=tenant)


def bounded(most: int | None, queue: int = 0) -> tuple[Bounded, list[str]]:
    refused: list[str] = []
    places = TenantPlaces(lambda _: Room(most, queue, 2.5))
    places.refused = refused.append
    return Bounded(Upstream(), places), refused


async def test_a_place_is_held_until_the_reply_is_closed() -> None:
    generator, refused = bounded(1)
    assert generator.name == "main"
    reply = await generator.open(call("a"))
    assert [part async for part in reply.body()] == [b"x"]
    with pytest.raises(UpstreamError) as caught:
        await generator.open(call("a"))
    error = caught.value
    assert (error.status, error.code, error.type) == (429, "tenant_busy", "rate_limit_error")
    assert error.headers == (("retry-after", "3"),)
    assert refused == ["a"]
    await reply.aclose()
    await reply.aclose()
    assert list(generator.places.loads()) == [], "nothing is held of tenants without calls"
    await (await generator.open(call("a"))).aclose()


async def test_tenants_do_not_take_each_others_places() -> None:
    generator, refused = bounded(1)
    held = [await generator.open(call(tenant)) for tenant in ("a", "b", "", "", "")]
    assert [(load.tenant, load.used) for load in generator.places.loads()] == [("a", 1), ("b", 1)]
    for reply in held:
        await reply.aclose()
    assert refused == []
    await generator.aclose()
    assert generator.generator.closed  # type: ignore[attr-defined]  # the fake's own


async def test_a_call_that_fails_or_is_given_up_frees_its_place() -> None:
    generator, refused = bounded(1, queue=1)
    generator.generator.fault = UpstreamError("down")  # type: ignore[attr-defined]  # the fake's own
    with pytest.raises(UpstreamError, match="down"):
        await generator.open(call("a"))
    generator.generator.fault = None  # type: ignore[attr-defined]  # the fake's own
    held = await generator.open(call("a"))
    waits = asyncio.create_task(generator.open(call("a")))
    await asyncio.sleep(0)
    assert [(load.used, load.waiting) for load in generator.places.loads()] == [(1, 1)]
    waits.cancel()
    await held.aclose()
    await asyncio.gather(waits, return_exceptions=True)
    assert list(generator.places.loads()) == []
    assert refused == []


async def test_changed_numbers_hold_for_the_next_call() -> None:
    room = Room(1, 0)
    places = TenantPlaces(lambda _: room)
    await places.take("a")
    with pytest.raises(UpstreamError):
        await places.take("a")
    room = Room(2, 0)
    await places.take("a")
    room = Room(None)
    for _ in range(10):
        await places.take("a")
    assert [(load.used, load.waiting) for load in places.loads()] == [(12, 0)]
