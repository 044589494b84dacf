"""Asks over real sockets, and reads replies for the book."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from tests.trust.isolation.fleet import Replica
from tests.trust.isolation.model import Reply
from tests.trust.isolation.wire import stamp_in, told, written
from tests.trust.isolation.world import Ask


@dataclass
class Client:
    """One session to all replicas."""

    session: aiohttp.ClientSession
    clock: Callable[[], float] = time.monotonic

    async def ask(self, ask: Ask, replica: Replica) -> Reply | str:
        """Ask and read to the end; what broke, where the connection did."""
        request, began = written(ask), self.clock()
        try:
            async with self.session.post(
                replica.proxy.url + request.path, data=request.body, headers=request.headers
            ) as answer:
                body = await answer.read()
        except (aiohttp.ClientError, ConnectionError, TimeoutError) as error:
            return f"{error!r} after {self.clock() - began:.2f} s"
        headers, ended = answer.headers, self.clock()
        status = headers.get("cache-status", "")
        return Reply(
            ask=ask,
            replica=replica.name,
            began=began,
            ended=ended,
            status=answer.status,
            outcome=headers.get("semcache-outcome", ""),
            reason=headers.get("semcache-reason", ""),
            stamp=stamp_in(told(ask.dialect, body, stream=ask.stream)) if answer.status == 200 else "",
            entry=headers.get("semcache-entry", ""),
            request_id=headers.get("x-request-id", ""),
            collapsed="; collapsed" in status,
            stored="; stored" in status,
        )

    async def leave(self, ask: Ask, replica: Replica) -> None:
        """Ask, and hang up before the answer is there."""
        request = written(ask)
        try:
            async with self.session.post(
                replica.proxy.url + request.path, data=request.body, headers=request.headers
            ) as answer:
                await answer.content.readany()
                answer.close()
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            return
