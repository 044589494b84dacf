r"""Served hits that can still be judged, and what audits may spend: two small adapters beside the evidence.

    {<tenant>}:qs           hash: `r:<request>` -> the hit, `e:<entry>\x1f<principal>` -> its newest request,
                            `u:<request>` -> digest of the end user, where one was named
    {<tenant>}:qo           the requests by time, so that the oldest go first
    {<tenant>}:qb:<day>     micro-USD and calls of a day's audits
    {<tenant>}:qr:<who>     events of somebody within a window

Bounded by number and by time. Knows no labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import EntryId, ExactKey, TenantId
from semcache.evidence_port import ServedHit, Spending
from semcache.store.cluster import ClusterLink, open_link
from semcache.store.evidence import DAY, EvidenceRules, RedisEvidence
from semcache.store.evidence_lua import EvidenceScripts
from semcache.store.evidence_record import corrupt, json_of, number_or_none
from semcache.store.keys import Keys, digest
from semcache.store.link import Link, LinkRules, Reply
from semcache.store.server import raw
from semcache.store.shapes import a_list, a_number, bytes_or_nil, is_yes

_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class HitRules:
    """How many hits of a tenant stay open to judgement, and for how long (seconds)."""

    most: int = 20_000
    life: float = 7.0 * DAY


class RedisServedHits:
    """`ServedHits` on one server or a cluster; arguments as for `RedisEvidence`."""

    def __init__(self, link: Link | ClusterLink, keys: Keys, rules: HitRules) -> None:
        self._link = link
        self._keys = keys
        self._rules = rules
        self._scripts = EvidenceScripts()

    async def note(self, tenant: TenantId, hits: Sequence[ServedHit]) -> None:
        """Keep hits for a while.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        if not hits:
            return
        base, rules = self._keys.base(tenant), self._rules
        newest = max(hit.at for hit in hits)
        flat: list[bytes | float] = []
        for hit in hits:
            names = raw(hit.request[:_LONGEST_NAME]), _reader(hit.entry, hit.principal)
            flat += [*names, hit.at, _value(hit), raw(hit.subject[:_LONGEST_NAME])]
        arguments = (rules.most, newest - rules.life, int(rules.life * 1000), *flat)
        reply = await self._link.run(self._scripts.note, (base + b"qs", base + b"qo"), arguments)
        is_yes(reply, b"ok", ())

    async def by_request(self, tenant: TenantId, request: str) -> ServedHit | None:
        """Give the hit that a request got.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        key = self._keys.base(tenant) + b"qs"
        name = raw(request[:_LONGEST_NAME])
        return _hit(await self._link.call("HMGET", key, b"r:" + name, b"u:" + name))

    async def settle(self, tenant: TenantId, request: str) -> None:
        """Note that a complaint about the hit of a request was acted on.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        key, name = self._keys.base(tenant) + b"qs", b"r:" + raw(request[:_LONGEST_NAME])
        is_yes(await self._link.run(self._scripts.settle, (key,), (name,)), b"ok", ())

    async def by_entry(self, tenant: TenantId, entry: EntryId, principal: str) -> ServedHit | None:
        """Give the newest hit on an entry by callers of that principal.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        key = self._keys.base(tenant) + b"qs"
        reply = await self._link.run(self._scripts.by_entry, (key,), (_reader(entry, principal),))
        return _hit(reply)


class RedisAuditBudget:
    """`AuditBudget` on one server or a cluster; arguments as for `RedisEvidence`."""

    def __init__(self, link: Link | ClusterLink, keys: Keys) -> None:
        self._link = link
        self._keys = keys
        self._scripts = EvidenceScripts()

    async def reserve(self, tenant: TenantId, at: float, wanted: Spending, most: Spending) -> bool:
        """Take from the day's allowance; False when it would go over.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        arguments = (wanted.money, wanted.calls, most.money, most.calls, 3 * DAY * 1000)
        reply = await self._link.run(self._scripts.reserve, (self._day(tenant, at),), arguments)
        return is_yes(reply, b"ok", (b"over",))

    async def settle(self, tenant: TenantId, at: float, correction: int) -> None:
        """Correct the money taken on that day.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        if correction:
            await self._link.call("HINCRBY", self._day(tenant, at), "money", correction)

    async def spent(self, tenant: TenantId, at: float) -> Spending:
        """Give what that day has cost so far; never below nothing.

        Raises:
            StoreError: unreachable or late.
        """
        key = self._day(tenant, at)
        money = bytes_or_nil(await self._link.call("HGET", key, "money")) or b"0"
        calls = a_number(await self._link.call("HGET", key, "calls"))
        return Spending(0 if money.startswith(b"-") else a_number(money), calls)

    async def allows(self, tenant: TenantId, who: str, most: int, seconds: float) -> bool:
        """Count an event; False once there were `most` within the window.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        key = self._keys.base(tenant) + b"qr:" + digest(who).hex().encode()
        reply = await self._link.run(self._scripts.allows, (key,), (most, max(1, int(seconds * 1000))))
        return is_yes(reply, b"ok", (b"over",))

    def _day(self, tenant: TenantId, at: float) -> bytes:
        return self._keys.base(tenant) + b"qb:%d" % int(at // DAY)


class EvidenceShelves:
    """All of the evidence on the server that `url` names.

    Args:
        url: as for `RedisStore`.
        rules: bounds of its link.
        prefix: keeps deployments in one database apart.
        kept: how much evidence is kept.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(
        self, url: str, rules: LinkRules, prefix: str = "sc", kept: EvidenceRules | None = None
    ) -> None:
        self._link = open_link(url, rules)
        keys = Keys(prefix)
        self.labels = RedisEvidence(self._link, keys, kept or EvidenceRules())
        self.hits = RedisServedHits(self._link, keys, HitRules())
        self.budget = RedisAuditBudget(self._link, keys)

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()


def _reader(entry: EntryId, principal: str) -> bytes:
    return raw(f"{entry[:_LONGEST_NAME]}\x1f{principal}")


def _value(hit: ServedHit) -> bytes:
    fields = [hit.request, hit.entry, hit.domain, hit.principal, hit.key, hit.asked]
    *names, key, asked = [text[:_LONGEST_NAME].encode("utf-8", "replace").decode() for text in fields]
    numbers = (hit.exact, hit.bin, hit.at, hit.score, hit.similarity)
    return orjson.dumps([*names, *numbers, key, asked, hit.public, int(hit.settled)])


def _hit(reply: Reply) -> ServedHit | None:
    found_at, subject = a_list(reply, 2, 2) if reply is not None else (None, None)
    value = bytes_or_nil(found_at)
    if value is None:
        return None
    found: Any = json_of(value)
    match found:
        case [
            str(request),
            str(entry),
            str(domain),
            str(principal),
            bool(exact),
            bin_,
            at,
            score,
            similarity,
            *pair,
        ]:
            return ServedHit(
                request,
                EntryId(entry),
                domain,
                principal,
                exact,
                number_or_none(bin_, int),
                float(at),
                number_or_none(score, float),
                number_or_none(similarity, float),
                *_pair(pair),
                (bytes_or_nil(subject) or b"").decode("utf-8", "replace"),
            )
        case _:
            raise corrupt()


def _pair(found: list[Any]) -> tuple[ExactKey, str, bool, bool]:
    """Read what stands behind a hit's numbers; rows of earlier releases end there."""
    match found:
        case []:
            return ExactKey(""), "", False, False
        case [str(key), str(asked), bool(public), 0 | 1 as settled]:
            return ExactKey(key), asked, public, bool(settled)
        case _:
            raise corrupt()
