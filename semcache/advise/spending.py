"""Tokens and money of a log: in all, by model, tenant and day; and how long answers took. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from semcache.advise.findings import Spending, Spent
from semcache.advise.rows import LogRow
from semcache.records import Usage

_MOST = 200
_SHOWN = 20
_MOST_DAYS = 1000
OTHERS = "~other"
_STEPS = 32
"""Buckets of durations in every factor of e: quantiles are right to 3 %."""


@dataclass(slots=True)
class _Sum:
    requests: int = 0
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0
    cost: int = 0
    logged: int = 0
    unpriced: int = 0
    estimated: int = 0
    failed: int = 0
    from_cache: int = 0

    def add(self, row: LogRow, usage: Usage, cost: int | None, *, logged: bool) -> None:
        self.requests += 1
        self.input += usage.prompt_tokens
        self.cached += usage.cached_tokens
        self.written += usage.written_tokens
        self.output += usage.completion_tokens
        self.reasoning += usage.reasoning_tokens
        self.cost += cost or 0
        self.logged += logged
        self.unpriced += cost is None and not row.failed
        self.estimated += row.usage is None
        self.failed += row.failed
        self.from_cache += row.from_cache

    def join(self, other: _Sum) -> None:
        for name in _Sum.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def spent(self) -> Spent:
        return Spent(*(getattr(self, name) for name in _Sum.__slots__))


class SpendingCount:
    """Takes rows in any order."""

    def __init__(self) -> None:
        self._total = _Sum()
        self._models: dict[str, _Sum] = {}
        self._tenants: dict[str, _Sum] = {}
        self._days: dict[str, _Sum] = {}
        self._seconds: dict[int, int] = {}

    def add(self, row: LogRow, usage: Usage, cost: int | None, *, logged: bool) -> None:
        """Take a row.

        Args:
            row: what was asked.
            usage: its tokens, as logged or guessed.
            cost: in micro-USD; None: not known.
            logged: the log itself says what it cost.
        """
        sums = [self._total, _named(self._models, row.model, _MOST), _named(self._tenants, row.tenant, _MOST)]
        if row.at is not None:
            day = datetime.fromtimestamp(row.at, UTC).date().isoformat()
            sums.append(_named(self._days, day, _MOST_DAYS))
        for each in sums:
            each.add(row, usage, cost, logged=logged)
        if row.seconds is not None and not row.failed:
            bucket = math.floor(math.log(max(row.seconds, 1e-4)) * _STEPS)
            self._seconds[bucket] = self._seconds.get(bucket, 0) + 1

    def findings(self, price_version: str = "") -> Spending:
        """Give all sums."""
        return Spending(
            total=self._total.spent(),
            by_model=_largest(self._models),
            by_tenant=_largest(self._tenants),
            by_day=tuple((day, each.spent()) for day, each in sorted(self._days.items())),
            seconds_p50=self._quantile(0.5),
            seconds_p95=self._quantile(0.95),
            timed=sum(self._seconds.values()),
            price_version=price_version,
        )

    def _quantile(self, share: float) -> float | None:
        wanted = share * sum(self._seconds.values())
        for bucket in sorted(self._seconds):
            wanted -= self._seconds[bucket]
            if wanted <= 0:
                return math.exp((bucket + 0.5) / _STEPS)
        return None


def _named(sums: dict[str, _Sum], name: str, most: int) -> _Sum:
    if name not in sums and len(sums) >= most:
        name = OTHERS
    found = sums.get(name)
    if found is None:
        found = sums[name] = _Sum()
    return found


def _largest(sums: Mapping[str, _Sum]) -> tuple[tuple[str, Spent], ...]:
    ranked = sorted(
        sums.items(), key=lambda each: (each[0] == OTHERS, -each[1].cost, -each[1].input, each[0])
    )
    shown = [(name, each.spent()) for name, each in ranked[:_SHOWN]]
    if ranked[_SHOWN:]:
        rest = _Sum()
        for _, each in ranked[_SHOWN:]:
            rest.join(each)
        shown.append((OTHERS, rest.spent()))
    return tuple(shown)
