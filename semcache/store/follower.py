"""Following the change stream: what other processes stored, deleted and invalidated.

Items of the stream are numbered one by one by the scripts that write them, beginning at the time
in microseconds when the store was new, so a hole in the numbers, a number that went back, or another identity of the store means that something was
missed: the follower is told to rebuild. The identity is a random word kept in the store itself;
a flush removes it, a restore of an old backup brings the numbers back. Of the last one the log is told by name: what was
rejected or deleted since that backup is not in the store any more, and nobody but an operator knows what that was.

This module holds one connection of its own and knows nothing of entries.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

import structlog
from redis import exceptions as redis_errors
from redis.asyncio.connection import AbstractConnection

from semcache.core import EntryId, TenantId
from semcache.ports import Change, EntriesDeleted, EntryPut, EpochBumped, StoreReset, StreamCursor
from semcache.store.cluster import ClusterLink
from semcache.store.faults import to_store_error
from semcache.store.keys import Keys
from semcache.store.link import Argument, Link, Reply, exchange
from semcache.store.shapes import a_list, a_number, bytes_or_nil, some_bytes

_log = structlog.get_logger()
BLOCK_MS = 250
BATCH = 256


@dataclass(slots=True)
class _Place:
    """Where in which stream the follower stands."""

    identity: bytes
    number: int
    behind: bool = False


@dataclass(slots=True)
class Seen:
    """The state of a store that was seen last, over all connections of one process, and by whoever kept the cursor."""

    identity: bytes = b""
    number: int = 0

    def meet(self, place: _Place, cursor: StreamCursor) -> None:
        """Note the present state, and say so where it is an older one of the same store."""
        told = cursor.number if cursor.identity == place.identity.decode("latin-1") else 0
        last = max(told, self.number if self.identity == place.identity else 0)
        if place.number < last:
            _log.error(
                "the store was put back to an older state: what was rejected or deleted since then may be served "
                "again; invalidate the tenants that this matters to",
                changes_lost=last - place.number,
            )
        self.identity, self.number = place.identity, place.number


@dataclass(frozen=True, slots=True)
class _Polled:
    items: tuple[tuple[int, list[bytes]], ...]
    identity: bytes | None
    number: int


async def follow(
    link: Link | ClusterLink, keys: Keys, deadline: float, seen: Seen, cursor: StreamCursor | None = None
) -> AsyncIterator[Change | None]:
    """Follow from now on, or from where `cursor` stands; see `EntryStore.changes`.

    Args:
        link: Where connections come from.
        keys: Names of the stream, its sequence and the identity.
        deadline: Seconds within which the server must answer, beyond the time it may block.
        seen: What this process has seen of the store before; kept up to date.
        cursor: Told of every step.

    Raises:
        StoreError: the connection failed or the server refused.
    """
    cursor = cursor or StreamCursor()
    connection = await link.connection(keys.shared("changes"))
    try:
        place = await _start(connection, keys, deadline)
        seen.meet(place, cursor)
        if cursor.identity == place.identity.decode("latin-1") and cursor.number <= place.number:
            place.number = cursor.number
        else:
            _tell(cursor, place)
            yield StoreReset()
        while True:
            polled = await _poll(connection, keys, place, deadline)
            if _is_lost(place, polled):
                place = await _start(connection, keys, deadline)
                seen.meet(place, cursor)
                _tell(cursor, place)
                yield StoreReset()
                continue
            for number, fields in polled.items:
                for change in parse(fields):
                    yield change
                seen.number = place.number = number
                _tell(cursor, place)
            place.behind = not polled.items and polled.number > place.number
            if len(polled.items) < BATCH:
                yield None  # nothing was left over
    finally:
        await connection.disconnect(nowait=True)


def _tell(cursor: StreamCursor, place: _Place) -> None:
    cursor.identity, cursor.number = place.identity.decode("latin-1"), place.number


def parse(fields: Sequence[bytes]) -> Iterator[Change]:
    """Read one item of the stream; words of a later version are skipped.

    Args:
        fields: `t <tenant>` and then any of `P <id>`, `D <id>` ..., `E <key> V <value>`.
    """
    tenant, deleted, epoch = TenantId(""), list[EntryId](), ""
    for name, raw in zip(fields[::2], fields[1::2], strict=False):
        text = raw.decode("utf-8", "replace")
        match name:
            case b"t":
                tenant = TenantId(text)
            case b"D":
                deleted.append(EntryId(text))
            case b"P":
                if deleted:
                    yield EntriesDeleted(tenant, tuple(deleted))
                    deleted = []
                yield EntryPut(tenant, EntryId(text))
            case b"E":
                epoch = text
            case b"V":
                yield EpochBumped(tenant, epoch, a_number(raw))
    if deleted:
        yield EntriesDeleted(tenant, tuple(deleted))


def _is_lost(place: _Place, polled: _Polled) -> bool:
    if polled.identity != place.identity:
        return True
    if polled.items:
        return polled.items[0][0] != place.number + 1
    # Behind without items once may be a race between the two reads; twice, the items are gone.
    return polled.number < place.number or (place.behind and polled.number > place.number)


async def _start(connection: AbstractConnection, keys: Keys, deadline: float) -> _Place:
    identity = keys.shared("identity")
    _, found, _, number = await _ask(
        connection,
        (
            ("SET", identity, uuid.uuid4().hex, "NX"),
            ("GET", identity),
            ("SET", keys.shared("seq"), time.time_ns() // 1000, "NX"),
            ("GET", keys.shared("seq")),
        ),
        deadline,
    )
    return _Place(some_bytes(found), a_number(number))


async def _poll(connection: AbstractConnection, keys: Keys, place: _Place, deadline: float) -> _Polled:
    read = (
        "XREAD",
        "COUNT",
        BATCH,
        "BLOCK",
        BLOCK_MS,
        "STREAMS",
        keys.shared("changes"),
        f"{place.number}-0",
    )
    streams, identity, number = await _ask(
        connection,
        (read, ("GET", keys.shared("identity")), ("GET", keys.shared("seq"))),
        deadline + BLOCK_MS / 1000,
    )
    rows = a_list(a_list(a_list(streams, 1, 1)[0], 2, 2)[1]) if streams else []
    items = tuple(_item(*a_list(row, 2, 2)) for row in rows)
    return _Polled(items, bytes_or_nil(identity), a_number(number))


def _item(name: Reply, fields: Reply) -> tuple[int, list[bytes]]:
    number = a_number(some_bytes(name).split(b"-")[0])
    return number, [some_bytes(field) for field in a_list(fields)]


async def _ask(
    connection: AbstractConnection, commands: Sequence[Sequence[Argument]], deadline: float
) -> list[Reply]:
    try:
        async with asyncio.timeout(deadline):
            replies = await exchange(connection, commands)
    except (redis_errors.RedisError, OSError, EOFError) as error:
        raise to_store_error(error) from error
    for reply in replies:
        # On a replica identity and sequence cannot be set; if it is there to be read, that is enough.
        if isinstance(reply, redis_errors.ReadOnlyError) and isinstance(replies[1], bytes):
            continue
        if isinstance(reply, redis_errors.RedisError):
            raise to_store_error(reply) from reply
    return replies
