"""A shelf of findings in memory, under the same contract suite as the real one (tests/contracts/test_lint_shelf.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from semcache.core import TenantId
from semcache.cost_port import LintFinding
from semcache.errors import StoreError


@dataclass
class FakeLintShelf:
    """`away`: nothing is reached."""

    kept: dict[tuple[str, int, str], list[LintFinding]] = field(default_factory=dict)
    away: bool = False

    def _reached(self) -> None:
        if self.away:
            raise StoreError("lint shelf: away", kind="down")

    async def put(self, worker: str, findings: Sequence[LintFinding]) -> None:
        if any(not 0 <= finding.day <= 2_932_896 for finding in findings):
            raise ValueError("day")
        self._reached()
        for key in {(finding.tenant, finding.day, worker) for finding in findings}:
            self.kept[key] = [one for one in findings if (one.tenant, one.day) == key[:2]]

    async def findings(self, tenant: TenantId, first: int, last: int) -> tuple[LintFinding, ...]:
        self._reached()
        sums: dict[tuple[object, ...], LintFinding] = {}
        for (owner, day, _), found in self.kept.items():
            for one in found if owner == tenant and first <= day <= last else ():
                key = (day, one.group, one.cause, one.where, one.model)
                known = sums.get(key)
                if known is None:
                    sums[key] = one
                    continue
                most = one if one.seen > known.seen else known
                money = None if None in (one.money, known.money) else (one.money or 0) + (known.money or 0)
                sums[key] = replace(
                    most,
                    prompts=one.prompts + known.prompts,
                    seen=one.seen + known.seen,
                    tokens=one.tokens + known.tokens,
                    money=money,
                    labels=tuple(pair for pair in known.labels if pair in one.labels),
                )
        return tuple(sorted(sums.values(), key=lambda one: -one.tokens))

    async def tenants(self) -> tuple[TenantId, ...]:
        self._reached()
        return tuple(sorted({TenantId(tenant) for tenant, _, _ in self.kept}))
