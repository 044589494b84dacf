"""What lint found, by tenant and day: a `cost_port.LintShelf` on one server or a cluster.

    {<tenant>}:lint:<day>     hash: worker -> JSON list of its findings of that day
    {<tenant>}:lint-days      the days that have any, by day
    {!}:lint-tenants          tenants by their last day

Days fade after `LintKept.days`. Findings hold no text of prompts, only its masked shape. Knows no prompts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from semcache.core import TenantId
from semcache.cost_port import DAY, Cause, LintFinding
from semcache.errors import StoreError
from semcache.store.cluster import open_link
from semcache.store.keys import Keys
from semcache.store.link import LinkRules
from semcache.store.scripts import Script
from semcache.store.server import raw
from semcache.store.shapes import a_list, a_number, is_yes, some_bytes

_PUT = """#!lua
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[5]) then
  return 'full'
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIREAT', KEYS[1], ARGV[4])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', tonumber(ARGV[3]) - tonumber(ARGV[6]))
redis.call('EXPIREAT', KEYS[2], ARGV[4])
return 'ok'
"""
_LONGEST = 256
_MOST = (1 << 53) - 1
_LAST_DAY = 2_932_896
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class LintKept:
    """How long findings are kept, in days; how many a worker leaves a day, those that lost most; how many workers a day."""

    days: int = 92
    findings: int = 200
    workers: int = 256


class RedisLintShelf:
    """The shelf on the server that `url` names.

    Args:
        url: as for `RedisStore`.
        link: bounds of its link.
        prefix: keeps deployments in one database apart.
        kept: how much is kept.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, link: LinkRules, prefix: str = "sc", kept: LintKept | None = None) -> None:
        self._link = open_link(url, link)
        self._keys = Keys(prefix)
        self._kept = kept or LintKept()
        self._put = Script(_PUT)

    async def put(self, worker: str, findings: Sequence[LintFinding]) -> None:
        """Replace what a worker found on these findings' days; those of different workers stand beside each other.

        Raises:
            StoreError: unreachable, late, read-only or full; some of it may be written.
            ValueError: a day beyond all calendars.
        """
        if any(not 0 <= finding.day <= _LAST_DAY for finding in findings):
            raise ValueError(f"days lie between 0 and {_LAST_DAY}")
        days: dict[tuple[str, int], list[LintFinding]] = {}
        for finding in findings:
            days.setdefault((finding.tenant, finding.day), []).append(finding)
        for (tenant, day), found in days.items():
            base = self._keys.base(TenantId(tenant))
            rows = [_row(finding) for finding in sorted(found, key=_lost_most)[: self._kept.findings]]
            ends = (day + 1 + self._kept.days) * DAY
            arguments = (raw(worker), orjson.dumps(rows), day, ends, self._kept.workers, self._kept.days)
            keys = (base + b"lint:%d" % day, base + b"lint-days")
            is_yes(await self._link.run(self._put, keys, arguments), b"ok", (b"full",))
            await self._link.call("ZADD", self._keys.shared("lint-tenants"), "GT", day, raw(tenant))

    async def findings(self, tenant: TenantId, first: int, last: int) -> tuple[LintFinding, ...]:
        """Give what was found from one day to another, most tokens lost first; equal ones of several workers added up.

        Raises:
            StoreError: unreachable or late; `corrupt`.
        """
        base = self._keys.base(tenant)
        days = a_list(await self._link.call("ZRANGEBYSCORE", base + b"lint-days", first, last))
        found: list[LintFinding] = []
        for at in range(0, len(days), _AT_ONCE):
            some = [a_number(day) for day in days[at : at + _AT_ONCE]]
            replies = await asyncio.gather(
                *(self._link.call("HVALS", base + b"lint:%d" % day) for day in some), return_exceptions=True
            )
            for day, reply in zip(some, replies, strict=True):
                if isinstance(reply, BaseException):
                    raise reply
                found += [one for value in a_list(reply) for one in _read(tenant, day, some_bytes(value))]
        return added_up(found)

    async def tenants(self) -> tuple[TenantId, ...]:
        """Give who has any, sorted.

        Raises:
            StoreError: unreachable or late.
        """
        reply = a_list(await self._link.call("ZRANGE", self._keys.shared("lint-tenants"), 0, -1))
        return tuple(sorted(TenantId(some_bytes(name).decode("utf-8", "surrogatepass")) for name in reply))

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()


def added_up(findings: Iterable[LintFinding]) -> tuple[LintFinding, ...]:
    """Add equal findings up, and put those that lost most first; what differs is that of the one that saw most."""
    sums: dict[tuple[object, ...], LintFinding] = {}
    for one in findings:
        key = (one.tenant, one.day, one.group, one.cause, one.where, one.model)
        known = sums.get(key)
        sums[key] = one if known is None else _sum(known, one)
    return tuple(sorted(sums.values(), key=_lost_most))


def _sum(one: LintFinding, other: LintFinding) -> LintFinding:
    usual = max(one, other, key=lambda finding: finding.seen)
    return replace(
        usual,
        prompts=one.prompts + other.prompts,
        seen=one.seen + other.seen,
        tokens=one.tokens + other.tokens,
        money=None if one.money is None or other.money is None else one.money + other.money,
        labels=tuple(pair for pair in one.labels if pair in other.labels),
    )


def _lost_most(finding: LintFinding) -> tuple[int, int, str, str, str]:
    return -finding.tokens, finding.day, finding.group, finding.cause, finding.where


def _row(one: LintFinding) -> list[Any]:
    texts = [_cut(text) for text in (one.group, one.cause.value, one.where, one.sample, one.fix, one.model)]
    numbers = [_bound(number) for number in (one.byte, one.token, one.prompts, one.seen, one.tokens)]
    money = None if one.money is None else _bound(one.money)
    return [*texts, *numbers, money, [[_cut(name), _cut(value)] for name, value in one.labels[:_LONGEST]]]


def _read(tenant: str, day: int, value: bytes) -> list[LintFinding]:
    try:
        rows: Mapping[str, Any] | list[Any] = orjson.loads(value)
    except orjson.JSONDecodeError:
        raise _corrupt() from None
    if not isinstance(rows, list):
        raise _corrupt()
    return [found for row in rows if (found := _finding(tenant, day, row)) is not None]


def _finding(tenant: str, day: int, row: Any) -> LintFinding | None:
    """Read one row; None for a cause that only later releases know."""
    match row:
        case [
            str(group),
            str(cause),
            str(where),
            str(sample),
            str(fix),
            str(model),
            int(byte),
            int(token),
            int(prompts),
            int(seen),
            int(tokens),
            None | int() as money,
            list(labels),
            *_,
        ]:
            if cause not in set(Cause):
                return None
            pairs = tuple((str(pair[0]), str(pair[1])) for pair in labels if _is_pair(pair))
            return LintFinding(
                tenant=tenant,
                day=day,
                group=group,
                cause=Cause(cause),
                where=where,
                byte=byte,
                token=token,
                sample=sample,
                prompts=prompts,
                seen=seen,
                tokens=tokens,
                money=money,
                fix=fix,
                model=model,
                labels=pairs,
            )
        case _:
            raise _corrupt()


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2


def _bound(number: int) -> int:
    return max(-_MOST, min(_MOST, number))


def _cut(text: str) -> str:
    """Bound a text and make it Unicode, which JSON demands."""
    return text[:_LONGEST].encode("utf-8", "replace").decode()


def _corrupt() -> StoreError:
    return StoreError("lint: a stored value is damaged", kind="corrupt")
