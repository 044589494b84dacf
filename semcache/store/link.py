"""Connections to one Redis or Valkey: bounded, with a deadline on everything, never reused dirty.

A connection carries one call at a time and goes back to the pool only after its whole reply was
read. Timeout, cancellation or a broken stream close it: a reply that is still under way can so
never be read by another call (redis-py #2624). One call costs one round trip; a connection that
the server closed while it lay idle is replaced once, within the same deadline.

This module knows nothing of entries; replies are bytes, integers and lists of them.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from redis import exceptions as redis_errors
from redis.asyncio.connection import AbstractConnection, Connection, parse_url

from semcache.errors import StoreError
from semcache.store.breaker import Breaker, BreakerRules
from semcache.store.faults import UNAVAILABLE, kind_of, to_store_error
from semcache.store.scripts import Script

Argument = bytes | str | int | float
Reply = Any
"""bytes, int, None, or a list of these: what RESP2 can carry."""


@dataclass(frozen=True, slots=True)
class LinkRules:
    """Bounds of a link; times in seconds."""

    deadline: float = 0.25
    connections: int = 16
    waiting: int = 512
    breaker: BreakerRules = field(default_factory=BreakerRules)


class Link:
    """A small pool of connections to the server that `url` names."""

    def __init__(self, url: str, rules: LinkRules) -> None:
        """Prepare; nothing is connected before the first call.

        Raises:
            StoreError: `config`: the URL is none of redis://, rediss://, unix://.
        """
        self._connect = _connector(url)
        self._rules = rules
        self._breaker = Breaker(rules.breaker)
        self._idle: list[AbstractConnection] = []
        self._slots = asyncio.Semaphore(rules.connections)
        self._waiting = 0
        self._closed = False

    @property
    def is_open(self) -> bool:
        """True while the breaker refuses calls."""
        return self._breaker.is_open

    async def connection(self, _key: bytes = b"") -> AbstractConnection:
        """Make a connection of one's own, not yet connected; the caller closes it."""
        return self._connect()

    async def call(self, *command: Argument) -> Reply:
        """Send one command and give its reply.

        Raises:
            StoreError: any fault, named; see `store.faults`.
        """
        return (await self.pipeline((command,)))[0]

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Argument]) -> Reply:
        """Run a script in one round trip (two when the server has not met it before).

        Raises:
            StoreError: any fault, named; see `store.faults`.
        """
        tail = (len(keys), *keys, *arguments)
        reply = (await self._guarded((("EVALSHA", script.sha, *tail),)))[0]
        if isinstance(reply, redis_errors.NoScriptError):
            reply = (await self._guarded((("EVAL", script.text, *tail),)))[0]
        return _checked(reply)

    async def pipeline(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        """Send commands together and give their replies, in order.

        Raises:
            StoreError: any fault, named; see `store.faults`.
        """
        return [_checked(reply) for reply in await self._guarded(commands)]

    async def aclose(self) -> None:
        """Close all idle connections; those in use close when their call ends. Idempotent."""
        self._closed = True
        while self._idle:
            await _close(self._idle.pop())

    async def _guarded(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        loop = asyncio.get_running_loop()
        if self._closed:
            raise StoreError("entry store: closed", kind="down")
        if not self._breaker.allows(loop.time()):
            raise StoreError("entry store: breaker is open", kind="open")
        try:
            replies = await self._timed(commands)
        except (redis_errors.RedisError, OSError, EOFError) as error:
            self._note(kind_of(error), loop.time())
            raise to_store_error(error) from error
        except BaseException:
            # Cancelled, or too many waiting: says nothing of the server. Whatever it was, another may probe.
            self._breaker.abandoned()
            raise
        self._note(_fault_in(replies), loop.time())
        return replies

    def _note(self, kind: str, now: float) -> None:
        if kind in UNAVAILABLE:
            self._breaker.failed(now, random.random())  # noqa: S311 - jitter, not a secret
        else:
            self._breaker.succeeded()

    async def _timed(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        if self._slots.locked() and self._waiting >= self._rules.waiting:
            raise StoreError("entry store: too many callers wait", kind="busy")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._rules.deadline):
                await self._slots.acquire()
                try:
                    return await self._exchange(commands)
                finally:
                    self._slots.release()
        finally:
            self._waiting -= 1

    async def _exchange(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        connection, reused = await self._take()
        try:
            replies = await exchange(connection, commands)
        except redis_errors.ConnectionError:
            await _close(connection)
            # The server closed it while it lay idle: once more on a new one. Every command of
            # the store may be sent twice.
            if not reused:
                raise
            await self._drop_idle()
            connection = self._connect()
            replies = await self._first(connection, commands)
        except BaseException:
            # Late, cancelled, or not understood: its reply may still come.
            await _close(connection)
            raise
        # After a failover the address may mean another server.
        if self._closed or _fault_in(replies) in ("readonly", "auth"):
            await _close(connection)
        else:
            self._idle.append(connection)
        return replies

    async def _first(
        self, connection: AbstractConnection, commands: Sequence[Sequence[Argument]]
    ) -> list[Reply]:
        try:
            return await exchange(connection, commands)
        except BaseException:
            await _close(connection)
            raise

    async def _take(self) -> tuple[AbstractConnection, bool]:
        while self._idle:
            connection = self._idle.pop()
            # Bytes nobody asked for, or an end of stream: not safe to use.
            if connection.is_connected and not await connection.can_read():
                return connection, True
            await _close(connection)
        return self._connect(), False

    async def _drop_idle(self) -> None:
        stale, self._idle = self._idle, []
        for connection in stale:
            await _close(connection)


async def exchange(connection: AbstractConnection, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
    """Send commands on a connection and read one reply each; error replies come as values.

    Raises:
        redis.exceptions.RedisError: the connection failed, or the server is loading.
        OSError: likewise.
    """
    packed = b"".join(map(pack, commands))
    try:
        await connection.send_packed_command(packed, check_health=False)
    except RuntimeError as error:
        # How uvloop refuses a connection that was reset since it was looked at.
        raise redis_errors.ConnectionError("closed while it lay idle") from error
    replies: list[Reply] = []
    for _ in commands:
        try:
            replies.append(await connection.read_response(disable_decoding=True))
        except redis_errors.ResponseError as error:
            replies.append(error)
    return replies


def pack(command: Sequence[Argument]) -> bytes:
    """Write a command as RESP, a list of bulk strings; redis-py's own way takes twice as long."""
    parts = [b"*%d\r\n" % len(command)]
    for word in command:
        data = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
        parts.append(b"$%d\r\n" % len(data))
        parts.append(data)
        parts.append(b"\r\n")
    return b"".join(parts)


def _checked(reply: Reply) -> Reply:
    if isinstance(reply, redis_errors.RedisError):
        raise to_store_error(reply) from reply
    return reply


def _fault_in(replies: Sequence[Reply]) -> str:
    for reply in replies:
        if isinstance(reply, redis_errors.RedisError):
            return kind_of(reply)
    return ""


async def _close(connection: AbstractConnection) -> None:
    try:
        await connection.disconnect(nowait=True)
    except (redis_errors.RedisError, OSError):
        return  # it is gone either way


def _connector(url: str) -> Callable[[], AbstractConnection]:
    try:
        arguments: dict[str, Any] = dict(parse_url(url))
    except ValueError as error:
        scheme = urlsplit(url).scheme or "none"
        raise StoreError(
            f"store URL: scheme {scheme!r} or its options are not usable", kind="config"
        ) from error
    kind = arguments.pop("connection_class", Connection)
    # Deadlines are this module's; RESP2 replies have one shape on every server version.
    arguments |= {"protocol": 2, "driver_info": None, "socket_timeout": None, "socket_connect_timeout": None}

    def connect() -> AbstractConnection:
        made: AbstractConnection = kind(**arguments)
        return made

    return connect
