"""Which alarms are raised, in Redis: one hash and one list a tenant, and what the last leader knew.

    {<tenant>}:alr      hash: kind and subject -> the alarm, of those that are raised
    {<tenant>}:all      list of the last changes, newest first
    {!}:alarm-known     hash: tenant -> JSON of the last leader
    {!}:alarm-tenants   set of tenants that have alarms raised
    {!}:alarm-lead      who looks at present

Bounded by number and by time: 200 changes and 100 raised alarms a tenant, for 400 days. Knows no conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import orjson

from semcache.core import TenantId
from semcache.cost_port import AlarmKind, CostAlarm
from semcache.store.cluster import open_link
from semcache.store.keys import Keys
from semcache.store.lease import Lease
from semcache.store.link import Argument, LinkRules
from semcache.store.scripts import Script
from semcache.store.server import raw
from semcache.store.shapes import a_list, a_number, is_yes, pairs, some_bytes

LISTED = 200
"""Changes of a tenant that are listed."""
RAISED = 100
"""Alarms of a tenant that stand at once."""
MOST_TENANTS = 2000
LONGEST = 1 << 18
"""Bytes of what is known of one tenant."""
_LIFE_MS = 400 * 86_400_000
_BETWEEN = "\x1f"
_KINDS = {kind.value: kind for kind in AlarmKind}

# ARGV: how many are listed, how many stand, their life; then for each change its place, "1" where raised, and the alarm.
# The same change twice is listed once.
_PUT = """#!lua
local raised, list = KEYS[1], KEYS[2]
for i = 4, #ARGV, 3 do
  local place, stands, alarm = ARGV[i], ARGV[i + 1] == '1', ARGV[i + 2]
  local was = redis.call('HEXISTS', raised, place) == 1
  if stands then
    if was or redis.call('HLEN', raised) < tonumber(ARGV[2]) then redis.call('HSET', raised, place, alarm) end
  else
    redis.call('HDEL', raised, place)
  end
  if was ~= stands then redis.call('LPUSH', list, alarm) end
end
redis.call('LTRIM', list, 0, tonumber(ARGV[1]) - 1)
redis.call('PEXPIRE', list, ARGV[3])
redis.call('PEXPIRE', raised, ARGV[3])
return redis.call('HLEN', raised)
"""

_LIST = """#!lua flags=no-writes
return {redis.call('HVALS', KEYS[1]), redis.call('LRANGE', KEYS[2], 0, -1)}
"""

_KNOW = """#!lua
for i = 3, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 or redis.call('HLEN', KEYS[1]) < tonumber(ARGV[1]) then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'ok'
"""


@dataclass(frozen=True, slots=True)
class _Scripts:
    put: Script = field(default_factory=lambda: Script(_PUT))
    list: Script = field(default_factory=lambda: Script(_LIST))
    know: Script = field(default_factory=lambda: Script(_KNOW))


class RedisAlarmShelf:
    """`AlarmShelf` on one server or a cluster.

    Args:
        url: as for `RedisStore`.
        rules: bounds of its link.
        prefix: keeps deployments in one database apart.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, rules: LinkRules, prefix: str = "sc") -> None:
        self._link = open_link(url, rules)
        self._keys = Keys(prefix)
        self._scripts = _Scripts()
        self._lead = Lease(self._link, self._keys.shared("alarm-lead"))

    async def lead(self, worker: str, seconds: float) -> bool:
        """Take or renew the right to look for alarms, or (with 0 seconds) give it up; False while another has it.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        return await self._lead.take(worker, seconds)

    async def load(self) -> Mapping[str, str]:
        """Give what the last leader knew, by tenant.

        Raises:
            StoreError: unreachable or late.
        """
        found = pairs(a_list(await self._link.call("HGETALL", self._keys.shared("alarm-known"))))
        return {_text(tenant): _text(known) for tenant, known in found}

    async def save(self, known: Mapping[str, str]) -> None:
        """Keep what is known of these tenants; that of others stays. Longer than `LONGEST` is not kept.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        rows = [(raw(tenant), raw(text)) for tenant, text in known.items()]
        kept = [row for row in rows if len(row[1]) <= LONGEST]
        for begin in range(0, len(kept), 50):
            flat: list[Argument] = [MOST_TENANTS, _LIFE_MS]
            for row in kept[begin : begin + 50]:
                flat += row
            key = self._keys.shared("alarm-known")
            is_yes(await self._link.run(self._scripts.know, (key,), flat), b"ok", ())

    async def put(self, alarms: Sequence[CostAlarm]) -> None:
        """Write changes down: each tenant's in one step, once however often they are put.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        ordered = sorted(alarms, key=lambda alarm: alarm.tenant)
        for tenant, changes in groupby(ordered, key=lambda alarm: TenantId(alarm.tenant)):
            flat: list[Argument] = [LISTED, RAISED, _LIFE_MS]
            for alarm in changes:
                flat += [_place(alarm), b"1" if alarm.is_raised else b"0", _value(alarm)]
            reply = await self._link.run(self._scripts.put, self._of(tenant), flat)
            word = "SADD" if a_number(reply) else "SREM"
            await self._link.call(word, self._keys.shared("alarm-tenants"), raw(tenant))

    async def alarms(self, tenant: TenantId) -> tuple[CostAlarm, ...]:
        """Give a tenant's alarms: those that are raised, then the last changes, both newest first.

        Raises:
            StoreError: unreachable or late.
        """
        raised, listed = a_list(await self._link.run(self._scripts.list, self._of(tenant), ()), 2, 2)
        standing = _alarms(tenant, a_list(raised))
        known = set(standing)
        return (*standing, *(alarm for alarm in _alarms(tenant, a_list(listed)) if alarm not in known))

    async def raised(self) -> tuple[CostAlarm, ...]:
        """Give the alarms of all tenants that are raised, newest first.

        Raises:
            StoreError: unreachable or late.
        """
        names = a_list(await self._link.call("SMEMBERS", self._keys.shared("alarm-tenants")))[:MOST_TENANTS]
        found: list[CostAlarm] = []
        for name in map(_text, names):
            reply = await self._link.call("HVALS", self._of(TenantId(name))[0])
            found += _alarms(name, a_list(reply))
        return tuple(sorted(found, key=_newest))

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()

    def _of(self, tenant: TenantId) -> tuple[bytes, bytes]:
        base = self._keys.base(tenant)
        return base + b"alr", base + b"all"


def _place(alarm: CostAlarm) -> bytes:
    return raw(f"{alarm.kind}{_BETWEEN}{alarm.subject}")


def _value(alarm: CostAlarm) -> bytes:
    texts = [
        alarm.kind.value,
        *(raw(text).decode("utf-8", "replace") for text in (alarm.subject, alarm.text)),
    ]
    numbers = (alarm.since, alarm.at, alarm.value, alarm.limit)
    told = [one if math.isfinite(one) else 0.0 for one in numbers]
    return orjson.dumps([*texts, alarm.is_raised, *told])


def _alarms(tenant: str, values: Iterable[Any]) -> tuple[CostAlarm, ...]:
    found = [_alarm(tenant, value) for value in values]
    return tuple(sorted((alarm for alarm in found if alarm is not None), key=_newest))


def _alarm(tenant: str, value: Any) -> CostAlarm | None:
    """Read an alarm; None for one that another release wrote, or somebody else."""
    try:
        found = orjson.loads(some_bytes(value))
    except orjson.JSONDecodeError:
        return None
    match found:
        case [str(kind), str(subject), str(text), bool(raised), *numbers] if len(numbers) == 4:
            known = _KINDS.get(kind)
            if known is None or not all(isinstance(one, int | float) for one in numbers):
                return None
            since, at, seen, limit = map(float, numbers)
            return CostAlarm(tenant, known, subject, raised, since, at, seen, limit, text)
        case _:
            return None


def _newest(alarm: CostAlarm) -> tuple[float, str, str, str]:
    return -alarm.at, alarm.tenant, alarm.kind, alarm.subject


def _text(value: Any) -> str:
    return some_bytes(value).decode("utf-8", "surrogatepass")
