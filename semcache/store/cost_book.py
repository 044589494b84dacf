r"""What requests cost, by tenant and day: a `cost_port.CostBook` on one server or a cluster.

    {<tenant>}:cost:<day>        hash: key without tenant and day, \x1f between its parts -> its counters (see `cost_lua`)
    {<tenant>}:cost-days         the days that have any, by day
    {<tenant>}:cost-by:<writer>  hash: part of a batch -> the last number that this writer sent of it
    {!}:cost-tenants             tenants by when the last of their days fades

Days fade after `CostRules.keep`. A batch is named `<writer>.<number>`, and a writer's numbers grow: what comes again is told
by its number, so no list of names is kept. Knows no prices and no requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from semcache.core import TenantId
from semcache.cost_port import DAY, CostKey, CostSums
from semcache.errors import StoreError
from semcache.store.cluster import open_link
from semcache.store.cost_lua import ADD, FORGET, LIST, MOST
from semcache.store.keys import Keys
from semcache.store.link import LinkRules
from semcache.store.scripts import Script
from semcache.store.server import raw
from semcache.store.shapes import a_list, a_number, is_yes, pairs, some_bytes

COUNTERS = (
    "requests",
    "input",
    "cached",
    "written",
    "output",
    "reasoning",
    "saved_input",
    "saved_output",
    "cost",
    "embedding",
    "side",
    "charged",
    "by_response",
    "by_provider",
    "by_local",
    "unpriced",
    "estimated",
    "errors",
    "retries",
    "repetitive",
    "milliseconds",
    "saved_milliseconds",
)
"""The order of counters in a value. New ones come last: values of older releases end before them."""
OTHER = "~other"
LAST_DAY = 2_932_896
"""That of the year 9999."""
_REMEMBERED = 7 * DAY
"""Seconds that the last number of a writer is kept: a batch may be sent again that much later."""
_PART = 100
"""Keys written by one call: one or two milliseconds of the server's time."""
_AT_ONCE = 8
_BETWEEN = "\x1f"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CostRules:
    """How long days are kept, in days, and how many keys one has at most; further ones are added up under `~other`."""

    keep: int = 400
    keys: int = 5000


class RedisCostBook:
    """The book on the server that `url` names.

    Args:
        url: as for `RedisStore`.
        link: bounds of its link; a report reads megabytes and should be given seconds.
        prefix: keeps deployments in one database apart.
        rules: what is kept.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, link: LinkRules, prefix: str = "sc", rules: CostRules | None = None) -> None:
        self._link = open_link(url, link)
        self._keys = Keys(prefix)
        self._rules = rules or CostRules()
        self._add, self._forget, self._list = Script(ADD), Script(FORGET), Script(LIST)
        self._listed: set[str] = set()

    async def add(self, batch: str, sums: Mapping[CostKey, CostSums]) -> None:
        """Add sums; a batch of the same name counts once, however often it is sent.

        Args:
            batch: `<writer>.<number>`; the numbers of a writer grow. Sent again, it must hold the same.
            sums: by key.

        Raises:
            StoreError: unreachable, late, read-only or full; some of it may be written.
            ValueError: a batch of another name, or a day beyond all calendars.
        """
        writer, number = _batch(batch)
        if any(not 0 <= key.day <= LAST_DAY for key in sums):
            raise ValueError(f"days lie between 0 and {LAST_DAY}")
        await _some_at_once([partial(self._write, writer, number, *part) for part in _parts(sums)])

    async def read(self, tenant: TenantId, first: int, last: int) -> Mapping[CostKey, CostSums]:
        """Give the sums of a tenant's days, both ends included.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        base = self._keys.base(tenant)
        found = a_list(await self._link.call("ZRANGEBYSCORE", base + b"cost-days", first, last))
        days = [a_number(day) for day in found]
        sums: dict[CostKey, CostSums] = {}
        for reply, day in zip(
            await _some_at_once(
                [partial(self._link.call, "HGETALL", base + b"cost:%d" % day) for day in days]
            ),
            days,
            strict=True,
        ):
            for field, value in pairs(a_list(reply)):
                sums[_key(tenant, day, field)] = _sums(value)
            await asyncio.sleep(0)
        return sums

    async def tenants(self) -> tuple[TenantId, ...]:
        """Give who has any, sorted.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        reply = await self._link.run(self._list, (self._keys.shared("cost-tenants"),), ())
        names = (some_bytes(name).decode("utf-8", "surrogatepass") for name in a_list(reply))
        return tuple(sorted(map(TenantId, names)))

    async def forget(self, tenant: TenantId) -> int:
        """Erase all of a tenant's; gives how many days had any.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        base = self._keys.base(tenant)
        had = a_number(await self._link.run(self._forget, (base + b"cost-days",), (base + b"cost:",)))
        self._listed.discard(tenant)
        await self._link.call("ZREM", self._keys.shared("cost-tenants"), raw(tenant))
        return had

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()

    async def _write(
        self, writer: bytes, number: int, place: tuple[str, int], turn: int, rows: Sequence[_Row]
    ) -> None:
        tenant, day = place
        base = self._keys.base(TenantId(tenant))
        ends = (day + 1 + self._rules.keep) * DAY
        keys = (base + b"cost:%d" % day, base + b"cost-days", base + b"cost-by:" + writer)
        head = (number, f"{day}.{turn}", self._rules.keys, day, ends, _REMEMBERED)
        flat = [
            word for key, counters in rows for word in (_field(key), _field(_folded(key)), _value(counters))
        ]
        reply = await self._link.run(self._add, keys, (*head, *flat))
        is_new = is_yes(reply, b"new", (b"ok", b"again"))
        if is_new or tenant not in self._listed:
            await self._link.call("ZADD", self._keys.shared("cost-tenants"), "GT", ends, raw(tenant))
            self._listed.add(tenant)


_Row = tuple[CostKey, CostSums]


def _batch(name: str) -> tuple[bytes, int]:
    writer, dot, number = name.rpartition(".")
    if not (writer and dot and number.isascii() and number.isdigit() and len(number) < 16):
        raise ValueError("a batch is named <writer>.<number>")
    return raw(writer), int(number)


def _parts(sums: Mapping[CostKey, CostSums]) -> Iterator[tuple[tuple[str, int], int, list[_Row]]]:
    """Yield what one call each writes: a tenant's day, its turn, and the rows; the same for the same sums."""
    places: dict[tuple[str, int], list[_Row]] = {}
    for key, counters in sums.items():
        places.setdefault((key.tenant, key.day), []).append((key, counters))
    for place, rows in places.items():
        for at in range(0, len(rows), _PART):
            yield place, at // _PART, rows[at : at + _PART]


async def _some_at_once(calls: Sequence[Callable[[], Coroutine[Any, Any, _T]]]) -> list[_T]:
    """Await all, a few at a time, and give what they gave; the first fault once those beside it have ended."""
    given: list[_T] = []
    for at in range(0, len(calls), _AT_ONCE):
        for one in await asyncio.gather(
            *[call() for call in calls[at : at + _AT_ONCE]], return_exceptions=True
        ):
            if isinstance(one, BaseException):
                raise one
            given.append(one)
    return given


def _folded(key: CostKey) -> CostKey:
    """Give the key that a day without room adds up under."""
    return replace(
        key, model=OTHER, key_name=OTHER, project=OTHER, environment=OTHER, business_line=OTHER, task=OTHER
    )


def _field(key: CostKey) -> bytes:
    words = (
        key.model,
        key.backend,
        key.outcome,
        key.key_name,
        key.project,
        key.environment,
        key.business_line,
        key.task,
        "1" if key.is_local else "",
    )
    return raw(_BETWEEN.join([word.replace("%", "%25").replace(_BETWEEN, "%1F") for word in words]))


def _key(tenant: TenantId, day: int, field: bytes) -> CostKey:
    words = field.decode("utf-8", "surrogatepass").split(_BETWEEN)
    if len(words) < 9:
        raise StoreError("book of costs: a key of another shape", kind="corrupt")
    if b"%" in field:
        words = [word.replace("%1F", _BETWEEN).replace("%25", "%") for word in words]
    model, backend, outcome, key_name, project, environment, line, task, local, *_ = words
    return CostKey(
        tenant,
        day,
        model,
        backend,
        outcome,
        key_name,
        project,
        environment,
        line,
        task,
        is_local=local == "1",
    )


def _value(sums: CostSums) -> bytes:
    return b" ".join([b"%d" % max(-MOST, min(MOST, getattr(sums, name))) for name in COUNTERS])


def _sums(value: bytes) -> CostSums:
    try:
        return CostSums(*[int(word) for word in value.split()[: len(COUNTERS)]])
    except ValueError:
        raise StoreError("book of costs: counters that are no numbers", kind="corrupt") from None
