"""Sums in memory on their way to the book of costs: bounded, whatever clients name their models and labels. Thread-safe.

Names are cut at 100 characters. A tenant's day has a bounded number of models and of keys: what comes on top is added up under
`~other`, so totals stay right. Models without a price, and those that only ever failed, have a smaller bound: anybody can
make such names up, and real ones shall find room. Knows neither prices nor store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from semcache.cost_port import CostKey, CostSums

OTHER = "~other"
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class CellLimits:
    """Bounds.

    Attributes:
        keys: of a tenant's day.
        models: of a tenant's day.
        doubtful: of these, models without a price or an answer.
        known: keys of all tenants and days that are told apart.
        waiting: keys that wait to be booked; beyond them new ones lose their labels.
    """

    keys: int = 2000
    models: int = 200
    doubtful: int = 50
    known: int = 100_000
    waiting: int = 50_000


@dataclass(slots=True)
class _Day:
    """What was told apart of one tenant's day."""

    keys: set[CostKey] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)


class Cells:
    """A worker's sums.

    Args:
        folded: hears why sums were added up under `~other`: `keys`, `models` or `waiting`.
        limits: bounds.
    """

    def __init__(self, folded: Callable[[str], None], limits: CellLimits | None = None) -> None:
        self._folded = folded
        self._limits = limits or CellLimits()
        self._lock = threading.Lock()
        self._sums: dict[CostKey, CostSums] = {}
        self._days: dict[tuple[str, int], _Day] = {}
        self._looked_at: dict[CostKey, CostKey] = {}
        self._known = 0
        self._latest = 0

    def __len__(self) -> int:
        """Give how many keys wait."""
        return len(self._sums)

    def add(self, key: CostKey, sums: CostSums) -> None:
        """Add what one record came to."""
        with self._lock:
            key = self._named(key, sums)
            kept = self._sums.get(key)
            if kept is None and len(self._sums) >= self._limits.waiting:
                self._folded("waiting")
                key = _bare(key)
                kept = self._sums.get(key)
            if kept is None:
                kept = self._sums[key] = CostSums()
            kept.add(sums)

    def take(self) -> Mapping[CostKey, CostSums]:
        """Give everything, and begin anew."""
        with self._lock:
            taken, self._sums = self._sums, {}
            self._forget()
            return taken

    def _named(self, key: CostKey, sums: CostSums) -> CostKey:
        """Give the key under which a raw one is added up; once it was looked at, that costs a look-up."""
        found = self._looked_at.get(key)
        if found is None:
            found = self._admitted(_cut(key), sums)
            if OTHER not in (found.model, found.task):
                if len(self._looked_at) >= self._limits.known:
                    self._looked_at.clear()
                self._looked_at[key] = found
        return found

    def _admitted(self, key: CostKey, sums: CostSums) -> CostKey:
        """Give the key, or the one that it is added up under."""
        place = (key.tenant, key.day)
        day = self._days.get(place)
        if day is None:
            day = self._days[place] = _Day()
            self._latest = max(self._latest, key.day)
        if key in day.keys:
            return key
        if not self._has_room_for_model(day, key, sums):
            self._folded("models")
            key = replace(key, model=OTHER)
            if key in day.keys:
                return key
        if len(day.keys) >= self._limits.keys or self._known >= self._limits.known:
            self._folded("keys")
            return _bare(key)
        day.keys.add(key)
        self._known += 1
        return key

    def _has_room_for_model(self, day: _Day, key: CostKey, sums: CostSums) -> bool:
        limits, model = self._limits, key.model
        if model in day.models or model == OTHER:
            return True
        if sums.unpriced or sums.errors:
            if model not in day.doubtful and len(day.doubtful) >= limits.doubtful:
                return False
            day.doubtful.add(model)
            return True
        if len(day.models) >= limits.models:
            return False
        day.models.add(model)
        day.doubtful.discard(model)
        return True

    def _forget(self) -> None:
        """Let days go that nobody adds to any more."""
        gone = [place for place in self._days if place[1] < self._latest - 1]
        for place in gone:
            self._known -= len(self._days.pop(place).keys)
        if gone:
            self._looked_at.clear()


def _cut(key: CostKey) -> CostKey:
    """Give the key with names that are short, and Unicode."""
    words = (key.model, key.backend, key.key_name, key.project, key.environment, key.business_line, key.task)
    if all(len(word) <= _LONGEST and _is_clean(word) for word in words):
        return key
    model, backend, key_name, project, environment, line, task = map(_clean, words)
    return CostKey(
        key.tenant,
        key.day,
        model,
        backend,
        key.outcome,
        key_name,
        project,
        environment,
        line,
        task,
        is_local=key.is_local,
    )


def _is_clean(word: str) -> bool:
    return word.isascii() or word == _clean(word)


def _clean(word: str) -> str:
    return word[:_LONGEST].encode("utf-8", "replace").decode()


def _bare(key: CostKey) -> CostKey:
    """Give the key under which a day is added up that has too many."""
    return replace(
        key, model=OTHER, key_name=OTHER, project=OTHER, environment=OTHER, business_line=OTHER, task=OTHER
    )
