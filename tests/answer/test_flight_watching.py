"""A defect in what watches an answer costs nobody the answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from semcache.core import Completion
from semcache.dialects.dialect import Incomplete
from tests.answer.test_flight import WHOLE, ok, scene


class Broken:
    """An assembler with a defect in one of its parts."""

    def __init__(self, part: str) -> None:
        self._part = part

    @property
    def is_done(self) -> bool:
        return False

    def feed(self, chunk: bytes) -> None:
        if self._part == "feed":
            raise TypeError("unhashable type")

    def finish(self) -> Completion | Incomplete:
        raise TypeError("unhashable type")


@pytest.mark.parametrize("part", ["feed", "finish"])
async def test_the_bytes_reach_everybody_and_nothing_is_kept(part: str) -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    async with scene(lambda _: ok(pause=0.001)) as it:
        it.assembler = lambda head: Broken(part)  # type: ignore[method-assign,assignment]
        async with it.join() as ticket:
            assert await it.ask() == (200, WHOLE)
            assert await ticket.completion() == Incomplete("shape")
        assert it.stored == []
    assert told
    assert all("put together" in context["message"] for context in told)
