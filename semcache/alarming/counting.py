"""From sums by day to what happened just now: the differences between two looks at the book of costs.

The book knows whole days. So each look is compared with the one before, and what was added is counted in minutes, so
that "for long" and "suddenly" mean something. What is known is a JSON text, which the next leader goes on with.
Knows no levels and no store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from semcache.alarming.naming import quiet
from semcache.alarming.rules import DAY, HOUR, AlarmRules
from semcache.alarming.series import LARGEST, Series
from semcache.core import Outcome
from semcache.cost_port import CostKey, CostSums

MODELS = 32
"""Models of a tenant that are told apart: those with the most requests of the day."""
_MINUTE = 60.0
_SLOTS = 12
_ROUND = 600.0
_GAP = HOUR
"""A first look at a day counts in full only so soon after the look before; else nobody knows when it happened."""

_HITS = frozenset((Outcome.EXACT.value, Outcome.SEMANTIC.value))
_ASKED = frozenset((Outcome.MISS.value, Outcome.DRAFT.value, Outcome.BYPASS.value))
_OUTCOMES = frozenset(outcome.value for outcome in Outcome)
_MISSABLE = _HITS | {Outcome.MISS.value, Outcome.DRAFT.value}


@dataclass(slots=True)
class Counts:
    """What is counted of a group of requests; `eligible` could have been hits, `asked` went to a model.

    `unpriced` counts work beside requests too.
    """

    requests: int = 0
    eligible: int = 0
    hits: int = 0
    retries: int = 0
    asked: int = 0
    input: int = 0
    cached: int = 0
    repetitive: int = 0
    unpriced: int = 0

    def add(self, key: CostKey, sums: CostSums) -> None:
        """Count the sums of one key. What runs here costs hardware: without a price nothing is missing."""
        outcome = key.outcome
        if not key.is_local:
            self.unpriced += sums.unpriced
        if outcome not in _OUTCOMES:
            return
        self.requests += sums.requests
        self.retries += sums.retries
        if outcome in _MISSABLE:
            self.eligible += sums.requests
        if outcome in _HITS:
            self.hits += sums.requests
        if outcome in _ASKED:
            self.asked += sums.requests
            self.input += sums.input
            self.cached += sums.cached
            self.repetitive += sums.repetitive


COLUMNS = tuple(one.name for one in fields(Counts))
ALL = ""
"""The group of all requests of a tenant; every other group is a model, `backend/model`."""

Row = tuple[int, ...]
Looked = dict[int, dict[str, Row]]
"""By day and group: what the book said last."""


def gather(sums: Mapping[CostKey, CostSums]) -> Looked:
    """Give the counts of each day by group: the tenant as a whole, and its busiest models."""
    groups: dict[tuple[int, str], Counts] = defaultdict(Counts)
    weights: Counter[str] = Counter()
    for key, one in sums.items():
        name = quiet(f"{key.backend}/{key.model}" if key.backend else key.model)
        groups[key.day, ALL].add(key, one)
        if name and key.outcome not in _HITS:
            groups[key.day, name].add(key, one)
            weights[name] += one.requests
    kept = {name for name, _ in sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MODELS]} | {
        ALL
    }
    looked: Looked = defaultdict(dict)
    for (day, name), counts in groups.items():
        if name in kept:
            looked[day][name] = tuple(max(0, getattr(counts, column)) for column in COLUMNS)
    return dict(looked)


@dataclass(slots=True)
class Trail:
    """What happened in the last hour, by group, and in the last day by hours.

    Args:
        rules: how long a window is.
    """

    rules: AlarmRules
    at: float = 0.0
    looked: Looked = field(default_factory=dict)
    minutes: Series = field(init=False)
    hours: Series = field(init=False)
    models: dict[str, Series] = field(default_factory=dict)

    def __post_init__(self) -> None:
        window = max(self.rules.window, self.rules.sudden)
        self.minutes = Series(len(COLUMNS), _MINUTE, int(window // _MINUTE) + 1)
        self.hours = Series(2, HOUR, int(DAY // HOUR) + 1)

    def look(self, seen: Looked, now: float) -> Counts:
        """Count what the book has more than at the last look; gives what that is for the whole tenant."""
        new = Counts()
        for day, groups in seen.items():
            for name, row in groups.items():
                added = self._added(day, name, row, now)
                if any(added):
                    self._count(name, added, now)
                    if name == ALL:
                        new = Counts(*map(sum, zip(_row(new), added, strict=True)))
        today = int(now // DAY)
        kept = {day: groups for day, groups in self.looked.items() if abs(today - day) <= 1}
        self.looked = {**kept, **seen}
        self.at = now
        self.models = {name: one for name, one in self.models.items() if not one.is_idle(now)}
        return new

    def _added(self, day: int, name: str, row: Row, now: float) -> Row:
        """Give what came to a group's counts; nothing where it is not known when that was."""
        groups = self.looked.get(day)
        before = None if groups is None else groups.get(name)
        if before is not None:
            # A book that was erased or put back begins anew: nothing is taken off.
            fell = any(a < b for a, b in zip(row, before, strict=True))
            return (0,) * len(row) if fell else tuple(a - b for a, b in zip(row, before, strict=True))
        soon = 0 <= now - self.at <= _GAP
        is_new = groups is None or len(groups) <= MODELS
        return row if soon and is_new else (0,) * len(row)

    def _count(self, name: str, added: Row, now: float) -> None:
        if name != ALL:
            if name not in self.models and len(self.models) >= 2 * MODELS:
                return
            self.models.setdefault(name, self._model()).add(now, added)
            return
        self.minutes.add(now, added)
        counts = Counts(*added)
        self.hours.add(now, (counts.eligible, counts.hits))

    def _model(self) -> Series:
        return Series(len(COLUMNS), max(_MINUTE, self.rules.window / _SLOTS), _SLOTS + 1)

    def dump(self) -> dict[str, Any]:
        """Give all of it as plain JSON values."""
        return {
            # Not to the second: what is known of those who are idle stays the same text, and is not written again.
            "at": self.at // _ROUND * _ROUND,
            "looked": {
                str(day): {name: list(row) for name, row in groups.items()}
                for day, groups in self.looked.items()
            },
            "minutes": self.minutes.dump(),
            "hours": self.hours.dump(),
            "models": {name: series.dump() for name, series in self.models.items()},
        }

    @classmethod
    def load(cls, rules: AlarmRules, told: Mapping[str, Any]) -> Trail:
        """Read what `dump` gave; what is of another form is left out and begins anew."""
        trail = cls(rules)
        at = told.get("at")
        trail.at = float(at) if isinstance(at, int | float) and 0 <= at < LARGEST else 0.0
        trail.looked = _looked(told.get("looked"))
        trail.minutes.load(told.get("minutes"))
        trail.hours.load(told.get("hours"))
        models = told.get("models")
        for name, rows in list(models.items())[: 2 * MODELS] if isinstance(models, dict) else ():
            trail.models[name] = trail._model()
            trail.models[name].load(rows)
        return trail


def _row(counts: Counts) -> Row:
    return tuple(getattr(counts, column) for column in COLUMNS)


def _looked(told: Any) -> Looked:
    looked: Looked = {}
    for day, groups in told.items() if isinstance(told, dict) else ():
        if isinstance(groups, dict) and day.isascii() and day.isdigit() and len(day) < 8:
            looked[int(day)] = {name: tuple(row) for name, row in groups.items() if _is_row(row)}
    return looked


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, list)
        and len(row) == len(COLUMNS)
        and all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in row)
    )


def columns(counts: Sequence[int]) -> Counts:
    """Give a row of sums by name."""
    return Counts(*counts)
