"""The evidence on Redis: labels in cells, tallies by day, the newest findings, flags of entries.

    {<tenant>}:qv:<domain>  cells of a domain (`store.evidence_lua` says how they are named)
    {<tenant>}:qt:<domain>  tallies of a domain by day, and its last alarm (`!`)
    {<tenant>}:qi:<label>   a label was counted; fades after a month
    {<tenant>}:ql           the newest labels, newest first
    {<tenant>}:qf           entry -> how often it was found wrong
    {<tenant>}:qd           names of the tenant's domains
    {!}:evidence            names of tenants

Domain and label stand in key names as digests. Survives restarts as entries do; nothing here holds a
word of a prompt or an answer, so flushing a tenant's entries leaves it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from semcache.core import EntryId, TenantId
from semcache.errors import StoreError
from semcache.evidence_port import Alarm, Cell, Finding, Label, Source
from semcache.store.cluster import ClusterLink
from semcache.store.evidence_lua import EvidenceScripts
from semcache.store.evidence_record import (
    LONGEST_TEXT,
    a_float,
    cell_of,
    corrupt,
    json_of,
    label_of,
    record_of,
    text_of,
)
from semcache.store.keys import Keys, digest
from semcache.store.link import Argument, Link
from semcache.store.server import raw
from semcache.store.shapes import a_list, a_number, bytes_or_nil, is_yes, pairs, some_bytes

DAY = 86_400
_MOST_WEIGHT = 100.0
_MOST_TENANTS = 10_000


@dataclass(frozen=True, slots=True)
class EvidenceRules:
    """How much evidence is kept.

    Attributes:
        buckets: time buckets of cells, the newest included.
        days: of tallies.
        listed: newest labels of a tenant.
        life: seconds after which evidence that nothing is added to fades as a whole.
        memory: seconds for which a label that comes again is known.
    """

    buckets: int = 90
    days: int = 90
    listed: int = 2000
    life: float = 180.0 * DAY
    memory: float = 30.0 * DAY


class RedisEvidence:
    """An `EvidenceStore` on one server or a cluster.

    Args:
        link: to the server; whoever made it closes it.
        keys: names of keys.
        rules: how much is kept.
    """

    def __init__(self, link: Link | ClusterLink, keys: Keys, rules: EvidenceRules) -> None:
        self._link = link
        self._keys = keys
        self._rules = rules
        self._scripts = EvidenceScripts()

    async def add(self, label: Label) -> bool:
        """Count a label once; see the port.

        Raises:
            StoreError: unreachable, late, read-only or full; `invalid`: a weight or time that is none.
        """
        if not 0 < label.weight <= _MOST_WEIGHT or not math.isfinite(label.at):
            raise StoreError("evidence: a label's weight or time is not usable", kind="invalid")
        rules, life = self._rules, int(self._rules.life * 1000)
        decided = {Finding.RIGHT: "0", Finding.WRONG: "1", Finding.UNDECIDED: ""}[label.finding]
        reply = await self._link.run(
            self._scripts.add,
            (
                self._of(label.tenant, "qv", label.domain),
                self._of(label.tenant, "qi", label.id),
                self._of(label.tenant, "ql"),
                self._of(label.tenant, "qt", label.domain),
                self._of(label.tenant, "qd"),
                self._of(label.tenant, "qf"),
            ),
            (
                label.source.value,
                label.bucket,
                "" if label.bin is None else label.bin,
                repr(float(label.weight)),
                decided,
                repr(label.at),
                int(label.at // DAY),
                f"{label.source}-{label.finding}",
                record_of(label),
                raw((label.entry or "")[:LONGEST_TEXT]),
                rules.buckets,
                rules.days,
                rules.listed,
                life,
                int(rules.memory * 1000),
                raw(label.domain),
            ),
        )
        counted = is_yes(reply, b"ok", (b"again", b"old", b"early"))
        if counted:
            await self._know(label.tenant)
        return counted

    async def see(
        self, tenant: TenantId, domain: str, at: float, hits: Mapping[tuple[int, int], int]
    ) -> None:
        """Count hits and would-be hits by (bucket, bin).

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        if not hits:
            return
        keys = (self._of(tenant, "qv", domain), self._of(tenant, "qd"))
        flat: list[int] = []
        for (bucket, bin_), count in sorted(hits.items()):
            flat += [bucket, bin_, count]
        life = int(self._rules.life * 1000)
        arguments: list[Argument] = [self._rules.buckets, life, repr(at), raw(domain), *flat]
        if is_yes(await self._link.run(self._scripts.see, keys, arguments), b"ok", (b"old", b"early")):
            await self._know(tenant)

    async def counts(self, tenant: TenantId, domain: str) -> tuple[Cell, ...]:
        """Give all cells that are not aged out.

        Raises:
            StoreError: unreachable or late.
        """
        found: dict[tuple[Source, int, int], list[float]] = {}
        newest: int | None = None
        for name, value in await self._all(self._of(tenant, "qv", domain)):
            if name == b"#b":
                newest = int(a_float(value))
            elif not name.startswith(b"#"):
                key, side = cell_of(name)
                found.setdefault(key, [0.0, 0.0])[side] = a_float(value)
        least = -math.inf if newest is None else newest - self._rules.buckets
        return tuple(Cell(*key, *found[key]) for key in sorted(found) if key[1] > least)

    async def reset(self, tenant: TenantId, domain: str, at: float) -> None:
        """Forget the cells, and refuse labels observed until `at`.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        key, life = self._of(tenant, "qv", domain), int(self._rules.life * 1000)
        is_yes(await self._link.run(self._scripts.reset, (key,), (repr(at), life)), b"ok", ())

    async def recent(self, tenant: TenantId, limit: int) -> list[Label]:
        """Give the newest labels that have an entry, newest first.

        Raises:
            StoreError: unreachable or late; `corrupt`: a record is none.
        """
        if limit <= 0:
            return []
        key = self._of(tenant, "ql")
        return [label_of(tenant, row) for row in a_list(await self._link.call("LRANGE", key, 0, limit - 1))]

    async def flags(self, tenant: TenantId) -> Mapping[EntryId, int]:
        """Give how often each entry was found wrong.

        Raises:
            StoreError: unreachable or late.
        """
        rows = await self._all(self._of(tenant, "qf"))
        return {EntryId(text_of(name)): a_number(value) for name, value in rows}

    async def tally(self, tenant: TenantId, domain: str, at: float, counts: Mapping[str, int]) -> None:
        """Add to the day's counters.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        if not counts:
            return
        keys = (self._of(tenant, "qt", domain), self._of(tenant, "qd"))
        life = int(self._rules.life * 1000)
        arguments: list[Argument] = [int(at // DAY), self._rules.days, life, raw(domain)]
        for word, count in counts.items():
            arguments += [word, count]
        is_yes(await self._link.run(self._scripts.tally, keys, arguments), b"ok", ())
        await self._know(tenant)

    async def tallies(self, tenant: TenantId, domain: str, since: float) -> Mapping[str, int]:
        """Give the counters summed over the days from `since` on.

        Raises:
            StoreError: unreachable or late.
        """
        sums: dict[str, int] = {}
        first = since // DAY
        for name, value in await self._all(self._of(tenant, "qt", domain)):
            day, colon, word = name.decode("utf-8", "replace").partition(":")
            if colon and word and int(a_float(day.encode())) >= first:
                sums[word] = sums.get(word, 0) + int(a_float(value))
        return sums

    async def sound(self, tenant: TenantId, domain: str, alarm: Alarm) -> None:
        """Keep the last alarm.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        key = self._of(tenant, "qt", domain)
        await self._link.call("HSET", key, "!", orjson.dumps([alarm.at, alarm.reason]))
        await self.tally(tenant, domain, alarm.at, {"alarms": 1})

    async def alarm(self, tenant: TenantId, domain: str) -> Alarm | None:
        """Give the last alarm.

        Raises:
            StoreError: unreachable or late; `corrupt`: it is none.
        """
        value = bytes_or_nil(await self._link.call("HGET", self._of(tenant, "qt", domain), "!"))
        if value is None:
            return None
        match json_of(value):
            case [(int() | float()) as at, str(reason)]:
                return Alarm(float(at), reason)
            case _:
                raise corrupt()

    async def domains(self, tenant: TenantId) -> tuple[str, ...]:
        """Name the tenant's domains that have evidence, sorted.

        Raises:
            StoreError: unreachable or late.
        """
        return tuple(sorted(map(text_of, await self._members(self._of(tenant, "qd")))))

    async def tenants(self) -> tuple[TenantId, ...]:
        """Name the tenants that have evidence, sorted.

        Raises:
            StoreError: unreachable or late.
        """
        names = await self._members(self._keys.shared("evidence"))
        return tuple(sorted(TenantId(text_of(name)) for name in names))[:_MOST_TENANTS]

    async def _know(self, tenant: TenantId) -> None:
        await self._link.call("SADD", self._keys.shared("evidence"), raw(tenant))

    async def _members(self, key: bytes) -> list[bytes]:
        return [some_bytes(name) for name in a_list(await self._link.call("SMEMBERS", key))]

    async def _all(self, key: bytes) -> list[tuple[bytes, bytes]]:
        return pairs(a_list(await self._link.call("HGETALL", key)))

    def _of(self, tenant: TenantId, name: str, part: str | None = None) -> bytes:
        key = self._keys.base(tenant) + name.encode()
        return key if part is None else key + b":" + digest(part).hex().encode()
