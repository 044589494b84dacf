"""The evidence in memory, under the same contract suite as the real one (tests/contracts/test_evidence_store.py)."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from semcache.core import EntryId, TenantId
from semcache.errors import StoreError
from semcache.evidence_port import Alarm, Cell, Finding, Label, ServedHit, Source, Spending

DAY = 86_400
Place = tuple[TenantId, str]


@dataclass
class FakeEvidence:
    buckets: int = 90
    days: int = 90
    listed: int = 2000
    away: bool = False
    cells: dict[Place, dict[tuple[Source, int, int], list[float]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    known: set[tuple[TenantId, str]] = field(default_factory=set)
    resets: dict[Place, float] = field(default_factory=dict)
    list: dict[TenantId, list[Label]] = field(default_factory=lambda: defaultdict(list))
    wrongs: dict[TenantId, Counter[EntryId]] = field(default_factory=lambda: defaultdict(Counter))
    words: dict[Place, Counter[tuple[int, str]]] = field(default_factory=lambda: defaultdict(Counter))
    alarms: dict[Place, Alarm] = field(default_factory=dict)

    def _reached(self) -> None:
        if self.away:
            raise StoreError("evidence: away", kind="down")

    async def add(self, label: Label) -> bool:
        self._reached()
        if not 0 < label.weight <= 100 or not math.isfinite(label.at):
            raise StoreError("evidence: invalid", kind="invalid")
        place = (label.tenant, label.domain)
        cells = self.cells[place]
        newest = max((bucket for _, bucket, _ in cells), default=-math.inf)
        if label.at > time.time() + DAY or label.at <= self.resets.get(place, -math.inf):
            return False
        if label.bucket <= newest - self.buckets or (label.tenant, label.id) in self.known:
            return False
        self.known.add((label.tenant, label.id))
        if label.bin is not None and label.finding is not Finding.UNDECIDED:
            cell = cells.setdefault((label.source, label.bucket, label.bin), [0.0, 0.0])
            cell[0] += label.weight
            cell[1] += label.weight * (label.finding is Finding.WRONG)
            newest = max(newest, label.bucket)
            for key in [key for key in cells if key[1] <= newest - self.buckets]:
                del cells[key]
        self._count(place, label.at, f"{label.source}-{label.finding}", 1)
        if label.entry:
            self.list[label.tenant] = [label, *self.list[label.tenant]][: self.listed]
            self.wrongs[label.tenant][label.entry] += label.finding is Finding.WRONG
        return True

    def _count(self, place: Place, at: float, word: str, count: int) -> None:
        day = int(at // DAY)
        words = self.words[place]
        newest = max([day, *(day for day, _ in words)])
        for key in [key for key in words if key[0] <= newest - self.days]:
            del words[key]
        words[day, word] += count

    async def see(
        self, tenant: TenantId, domain: str, at: float, hits: Mapping[tuple[int, int], int]
    ) -> None:
        self._reached()
        place = (tenant, domain)
        if not hits or at > time.time() + DAY or at <= self.resets.get(place, -math.inf):
            return
        cells = self.cells[place]
        self.words[place] += Counter()
        for (bucket, score_bin), count in sorted(hits.items()):
            newest = max([bucket, *(b for _, b, _ in cells)])
            for key in [key for key in cells if key[1] <= newest - self.buckets]:
                del cells[key]
            if bucket > newest - self.buckets:
                cells.setdefault((Source.SEEN, bucket, score_bin), [0.0, 0.0])[0] += count

    async def counts(self, tenant: TenantId, domain: str) -> tuple[Cell, ...]:
        self._reached()
        cells = self.cells[tenant, domain]
        return tuple(Cell(*key, *cells[key]) for key in sorted(cells))

    async def reset(self, tenant: TenantId, domain: str, at: float) -> None:
        self._reached()
        self.cells[tenant, domain].clear()
        self.resets[tenant, domain] = max(at, self.resets.get((tenant, domain), 0.0))

    async def recent(self, tenant: TenantId, limit: int) -> list[Label]:
        self._reached()
        return self.list[tenant][: max(0, limit)]

    async def flags(self, tenant: TenantId) -> Mapping[EntryId, int]:
        self._reached()
        return {entry: count for entry, count in self.wrongs[tenant].items() if count}

    async def tally(self, tenant: TenantId, domain: str, at: float, counts: Mapping[str, int]) -> None:
        self._reached()
        for word, count in counts.items():
            self._count((tenant, domain), at, word, count)

    async def tallies(self, tenant: TenantId, domain: str, since: float) -> Mapping[str, int]:
        self._reached()
        sums: Counter[str] = Counter()
        for (day, word), count in self.words[tenant, domain].items():
            if day >= since // DAY:
                sums[word] += count
        return sums

    async def sound(self, tenant: TenantId, domain: str, alarm: Alarm) -> None:
        self._reached()
        self.alarms[tenant, domain] = alarm
        self._count((tenant, domain), alarm.at, "alarms", 1)

    async def alarm(self, tenant: TenantId, domain: str) -> Alarm | None:
        self._reached()
        return self.alarms.get((tenant, domain))

    async def domains(self, tenant: TenantId) -> tuple[str, ...]:
        self._reached()
        return tuple(sorted(domain for owner, domain in self.words if owner == tenant))

    async def tenants(self) -> tuple[TenantId, ...]:
        self._reached()
        return tuple(sorted({owner for owner, _ in self.words}))


@dataclass
class FakeAuditBudget:
    away: bool = False
    days: dict[tuple[TenantId, int], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    events: Counter[tuple[TenantId, str]] = field(default_factory=Counter)

    def _reached(self) -> None:
        if self.away:
            raise StoreError("evidence: away", kind="down")

    async def reserve(self, tenant: TenantId, at: float, wanted: Spending, most: Spending) -> bool:
        self._reached()
        day = self.days[tenant, int(at // DAY)]
        if day[1] + wanted.calls > most.calls or (wanted.money > 0 and day[0] + wanted.money > most.money):
            return False
        day[0] += wanted.money
        day[1] += wanted.calls
        return True

    async def settle(self, tenant: TenantId, at: float, correction: int) -> None:
        self._reached()
        self.days[tenant, int(at // DAY)][0] += correction

    async def spent(self, tenant: TenantId, at: float) -> Spending:
        self._reached()
        money, calls = self.days[tenant, int(at // DAY)]
        return Spending(max(0, money), calls)

    async def allows(self, tenant: TenantId, who: str, most: int, seconds: float) -> bool:
        self._reached()
        self.events[tenant, who] += 1
        return self.events[tenant, who] <= most


@dataclass
class FakeServedHits:
    away: bool = False
    hits: dict[TenantId, dict[str, ServedHit]] = field(default_factory=lambda: defaultdict(dict))

    def _reached(self) -> None:
        if self.away:
            raise StoreError("evidence: away", kind="down")

    async def note(self, tenant: TenantId, hits: Sequence[ServedHit]) -> None:
        self._reached()
        self.hits[tenant] |= {hit.request: hit for hit in hits}

    async def by_request(self, tenant: TenantId, request: str) -> ServedHit | None:
        self._reached()
        return self.hits[tenant].get(request)

    async def settle(self, tenant: TenantId, request: str) -> None:
        self._reached()
        if request in self.hits[tenant]:
            self.hits[tenant][request] = replace(self.hits[tenant][request], settled=True)

    async def by_entry(self, tenant: TenantId, entry: EntryId, principal: str) -> ServedHit | None:
        self._reached()
        found = [h for h in self.hits[tenant].values() if (h.entry, h.principal) == (entry, principal)]
        return max(found, key=lambda hit: hit.at, default=None)
