"""What a call leaves behind is gone with its readers: nothing of it waits for the garbage collector, which seldom runs."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from semcache.errors import RequestError, UpstreamError
from tests.answer.eventually import eventually
from tests.answer.test_flight import BODY, CUT, DOWN, JSON, SSE, WHOLE, ok, scene
from tests.fakes.generator import FakeReply

Script = Callable[[int], "FakeReply | UpstreamError"]
ENDINGS: dict[str, Script] = {
    "whole": lambda _: ok(),
    "a document": lambda _: FakeReply(200, JSON, [BODY]),
    "an error": lambda _: FakeReply(500, JSON, [b"{}"]),
    "cut": lambda _: FakeReply(200, SSE, [WHOLE[:20], CUT]),
    "down": lambda _: DOWN,
}


pytestmark = pytest.mark.usefixtures("uncollected")


@pytest.mark.parametrize("readers", [1, 3])
@pytest.mark.parametrize("ending", ENDINGS)
async def test_it_ends(ending: str, readers: int) -> None:
    seen: list[weakref.ref[Any]] = []

    async def ask() -> None:
        ticket = it.join("k")
        seen.extend((weakref.ref(ticket), weakref.ref(ticket._flight)))
        try:
            async with ticket:
                await ticket.head()
                async for _ in ticket.chunks():
                    pass
        except (UpstreamError, RequestError):
            pass

    async with scene(ENDINGS[ending]) as it:
        await asyncio.gather(*(ask() for _ in range(readers)))
        await eventually(lambda: all(one() is None for one in seen))


async def test_its_only_reader_leaves() -> None:
    async with scene(lambda _: ok(pause=0.2)) as it:
        ticket = it.join("k")
        await ticket.head()
        seen = weakref.ref(ticket._flight)
        ticket.leave()
        del ticket
        await eventually(lambda: seen() is None)


async def test_who_pays_is_known_after_it_left() -> None:
    async with scene(lambda _: ok(pause=0.01)) as it:
        first, second = it.join("k"), it.join("k")
        await first.head()
        assert (first.pays, second.pays) == (True, False)
        first.leave()
        assert (first.pays, second.pays) == (False, True)
        async for _ in second.chunks():
            pass
        second.leave()
        third = it.join("k")
        assert second.pays
        third.leave()
