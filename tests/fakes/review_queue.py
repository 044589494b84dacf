"""The review queue in memory, under the same contract suite as the real one (tests/contracts/test_review_queue.py)."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from semcache.core import EntryId, TenantId
from semcache.errors import StoreError
from semcache.review_port import Agreement, Decided, Opinion, Question, QueuePage, Sighting, Waiting

Place = tuple[TenantId, EntryId]


@dataclass
class _Asked:
    question: Question
    risk: float = 0.0
    given: float = 0.0


@dataclass
class _Known:
    """What is kept of an entry; `weight` is None while it does not wait."""

    weight: float | None = None
    domain: str = ""
    reasons: Counter[str] = field(default_factory=Counter)
    sightings: int = 0
    last_at: float = 0.0
    asked: dict[str, _Asked] = field(default_factory=dict)


@dataclass
class FakeReviewQueue:
    """Args: bounds; `exists` says which entries the store holds; `wrong` what labels say of requests."""

    most: int = 10_000
    kept_questions: int = 50
    kept_decisions: int = 5000
    exists: Callable[[TenantId, EntryId], bool] = lambda tenant, entry: True
    wrong: dict[tuple[TenantId, str], bool] = field(default_factory=dict)
    away: bool = False
    known: dict[TenantId, dict[EntryId, _Known]] = field(default_factory=lambda: defaultdict(dict))
    said: dict[Place, dict[tuple[str, str], Opinion]] = field(default_factory=lambda: defaultdict(dict))
    counted: dict[tuple[TenantId, EntryId, str], tuple[bool, bool]] = field(default_factory=dict)
    kept: dict[tuple[TenantId, str], list[Decided]] = field(default_factory=lambda: defaultdict(list))
    stills: dict[str, list[EntryId]] = field(default_factory=dict)
    numbers: Iterable[int] = field(default_factory=lambda: itertools.count(1))

    def _reached(self) -> None:
        if self.away:
            raise StoreError("review queue: away", kind="down")

    async def sight(self, tenant: TenantId, sightings: Sequence[Sighting]) -> None:
        self._reached()
        for sighting in sightings:
            _valid(0 <= sighting.risk < math.inf and math.isfinite(sighting.at))
        for sighting in sightings:
            if self.exists(tenant, sighting.entry):
                self._count(tenant, sighting)
        waiting = self._order(tenant)
        for entry in waiting[self.most :]:
            self.known[tenant][entry].weight = None

    def _count(self, tenant: TenantId, sighting: Sighting) -> None:
        known = self.known[tenant].setdefault(sighting.entry, _Known())
        if sighting.risk > 0:
            if known.weight is None:
                known.reasons.clear()
                known.weight = 0.0
                for asked in known.asked.values():
                    asked.risk = asked.given = 0.0
            known.reasons.update(sighting.reasons)
        known.domain = sighting.domain
        known.sightings += 1
        known.last_at = max(known.last_at, sighting.at)
        asked = known.asked.setdefault(sighting.asked, _Asked(_question(sighting)))
        before, now = asked.question, _question(sighting)
        newer, older = (now, before) if sighting.at >= before.last_at else (before, now)
        text = newer.text or older.text
        asked.question = replace(newer, times=before.times + 1, first_at=before.first_at, text=text)
        if sighting.risk > 0 and known.weight is not None:
            weighed = sighting.risk * self._factor((tenant, sighting.entry), sighting.asked)
            asked.risk += sighting.risk
            asked.given += weighed
            known.weight += weighed
        newest = sorted(known.asked.items(), key=lambda item: -item[1].question.last_at)
        known.asked = dict(newest[: self.kept_questions])

    def _factor(self, place: Place, asked: str) -> float:
        fits = [opinion.fit for (question, _), opinion in self.said[place].items() if question == asked]
        return max(0.25, 2 * (1 - sum(fits) / len(fits))) if fits else 1.0

    def _order(self, tenant: TenantId) -> list[EntryId]:
        held = [
            (of.weight, name.encode(), name)
            for name, of in self.known[tenant].items()
            if of.weight is not None
        ]
        return [name for _, _, name in sorted(held, reverse=True)]

    async def waiting(
        self, tenant: TenantId, cursor: str = "", limit: int = 50, *, domain: str = "", reason: str = ""
    ) -> QueuePage:
        self._reached()
        if cursor:
            still, _, at = cursor.partition(".")
            _valid(still in self.stills and at.isdigit())
            order, start = self.stills[still], int(at)
        else:
            still, order, start = str(next(iter(self.numbers))), self._order(tenant), 0
            self.stills[still] = order
        found: list[Waiting] = []
        for start in range(start, len(order)):  # noqa: B020 - goes on from where it was
            waits = self._waits(tenant, order[start])
            if waits and domain in ("", waits.domain) and (not reason or reason in waits.reasons):
                found.append(waits)
            if len(found) == max(1, limit):
                break
        rest = start + 1 < len(order)
        return QueuePage(tuple(found), f"{still}.{start + 1}" if rest else "")

    def _waits(self, tenant: TenantId, id: EntryId) -> Waiting | None:
        known = self.known[tenant].get(id)
        if known is None or known.weight is None:
            return None
        if not self.exists(tenant, id):
            del self.known[tenant][id]
            return None
        return Waiting(id, known.weight, known.domain, dict(known.reasons), known.sightings, known.last_at)

    async def dismiss(self, tenant: TenantId, ids: Sequence[EntryId]) -> None:
        self._reached()
        for name in ids:
            self.decided(tenant, name)

    def decided(self, tenant: TenantId, id: EntryId) -> None:
        """Do what a verdict does to the queue."""
        if id in self.known[tenant]:
            self.known[tenant][id].weight = None

    async def waits(self, tenant: TenantId, id: EntryId) -> Waiting | None:
        self._reached()
        return self._waits(tenant, id)

    async def size(self, tenant: TenantId) -> int:
        self._reached()
        return len(self._order(tenant))

    async def questions(self, tenant: TenantId, id: EntryId) -> list[Question]:
        self._reached()
        known = self.known[tenant].get(id, _Known())
        return sorted((a.question for a in known.asked.values()), key=lambda q: (-q.last_at, q.asked))

    async def opine(self, tenant: TenantId, opinion: Opinion) -> None:
        self._reached()
        _valid(0 <= opinion.fit <= 1 and math.isfinite(opinion.at))
        place = (tenant, opinion.entry)
        before = self.said[place].get((opinion.asked, opinion.model))
        if not self.exists(tenant, opinion.entry) or (before is not None and before.at > opinion.at):
            return
        self.said[place][opinion.asked, opinion.model] = opinion
        known = self.known[tenant].get(opinion.entry)
        if known is not None and known.weight is not None and opinion.asked in known.asked:
            asked = known.asked[opinion.asked]
            weighed = asked.risk * self._factor(place, opinion.asked)
            known.weight = max(0.0, known.weight + weighed - asked.given)
            asked.given = weighed

    async def opinions(self, tenant: TenantId, id: EntryId) -> list[Opinion]:
        self._reached()
        return sorted(self.said[tenant, id].values(), key=lambda o: (-o.at, o.asked, o.model))

    async def settled(self, tenant: TenantId, id: EntryId, right: bool) -> None:
        self._reached()
        fits: dict[str, list[float]] = defaultdict(list)
        for opinion in self.said[tenant, id].values():
            fits[opinion.model].append(opinion.fit)
        for model, of in fits.items():
            self.counted[tenant, id, model] = (sum(of) / len(of) >= 0.5, right)

    async def agreement(self, tenant: TenantId) -> Mapping[str, Agreement]:
        self._reached()
        cells: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
        for (owner, _, model), cell in self.counted.items():
            if owner == tenant:
                cells[model][cell] += 1
        return {
            model: Agreement(of[True, True], of[True, False], of[False, True], of[False, False])
            for model, of in sorted(cells.items())
        }

    async def keep(self, tenant: TenantId, domain: str, decisions: Sequence[Decided]) -> None:
        self._reached()
        for decided in decisions:
            _valid(math.isfinite(decided.at) and math.isfinite(decided.similarity))
        rows = self.kept[tenant, domain]
        self.kept[tenant, domain] = [*reversed(decisions), *rows][: self.kept_decisions]

    async def decisions(self, tenant: TenantId, domain: str) -> list[Decided]:
        self._reached()
        rows = self.kept[tenant, domain]
        return [replace(row, wrong=self.wrong.get((tenant, row.request), row.wrong)) for row in rows]

    async def forget(self, tenant: TenantId, ids: Sequence[EntryId]) -> None:
        self._reached()
        for name in ids:
            self.known[tenant].pop(name, None)

    async def sweep(self, tenant: TenantId) -> int:
        self._reached()
        gone = [name for name in self.known[tenant] if not self.exists(tenant, name)]
        await self.forget(tenant, gone)
        return len(gone)


def _question(sighting: Sighting) -> Question:
    return Question(
        asked=sighting.asked,
        text=sighting.question[:1000],
        times=0,
        first_at=sighting.at,
        last_at=sighting.at,
        outcome=sighting.outcome,
        reasons=sighting.reasons,
        similarity=sighting.similarity,
        score=sighting.score,
    )


def _valid(usable: bool) -> None:
    if not usable:
        raise StoreError("review queue: invalid", kind="invalid")
