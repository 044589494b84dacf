"""Labels as plain counts by score bin, time bucket and source. Pure; knows no policy, bound or store.

Counters of replicas are added up, so nothing here depends on an order. What random sampling
brought in (audits of hits, shadow answers of would-be hits) may prove that a domain is safe; what
came because somebody looked or complained (verdicts, feedback) may only speak against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semcache.decide.risk.grid import BINS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_LATEST = 1 << 40


class Source(IntEnum):
    """Where a label comes from; the numbers are part of stored counters."""

    AUDIT = 0
    SHADOW = 1
    VERDICT = 2
    FEEDBACK = 3
    SEEN = 4
    """No label: hits and would-be hits as such (`wrong` 0). Says how many hits complaints came from."""


class Cell(NamedTuple):
    """One pair of counters: `n` labels in the score bin and time bucket, `wrong` of them wrong."""

    bin: int
    bucket: int
    source: Source
    n: int
    wrong: int


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Cells in columns (int64 [cells], read-only), each key once, in the order of keys.

    Counters that are read while others write may be torn: a negative count is taken as 0, and
    where more are wrong than there are, there are as many as are wrong.
    """

    bins: Ints
    buckets: Ints
    sources: Ints
    n: Ints
    wrong: Ints

    @classmethod
    def of(cls, cells: Iterable[Cell] = ()) -> Evidence:
        """Collect cells; the same key may come more than once."""
        rows = np.array([tuple(cell) for cell in cells], np.int64).reshape(-1, 5)
        return cls.of_columns(*rows.T)

    @classmethod
    def of_columns(
        cls, bins: ArrayLike, buckets: ArrayLike, sources: ArrayLike, n: ArrayLike, wrong: ArrayLike
    ) -> Evidence:
        """Collect cells given as columns of equal length; cells off the grid are left out."""
        columns = [np.asarray(column, np.int64) for column in (bins, buckets, sources)]
        bad = np.maximum(np.asarray(wrong, np.int64), 0)
        total = np.maximum(np.asarray(n, np.int64), bad)
        limits = (BINS, _LATEST, len(Source))
        valid = np.all(
            [(column >= 0) & (column < top) for column, top in zip(columns, limits, strict=True)], 0
        )
        key = (columns[1] * BINS + columns[0]) * len(Source) + columns[2]
        keys, place = np.unique(key[valid], return_inverse=True)
        sums = [np.zeros(keys.size, np.int64) for _ in range(2)]
        for into, counts in zip(sums, (total, bad), strict=True):
            np.add.at(into, place, counts[valid])
        slots, source = np.divmod(keys, len(Source))
        bucket, bin_ = np.divmod(slots, BINS)
        made = (bin_, bucket, source, *sums)
        for column in made:
            column.flags.writeable = False
        return cls(*made)

    def __add__(self, other: Evidence) -> Evidence:
        """Merge: counts of equal keys add up."""
        return Evidence.of_columns(
            *(np.concatenate(pair) for pair in zip(self._columns(), other._columns(), strict=True))
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evidence):
            return NotImplemented
        pairs = zip(self._columns(), other._columns(), strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def __hash__(self) -> int:
        return hash(tuple(column.tobytes() for column in self._columns()))

    def __iter__(self) -> Iterator[Cell]:
        for bin_, bucket, source, n, wrong in zip(*(c.tolist() for c in self._columns()), strict=True):
            yield Cell(bin_, bucket, Source(source), n, wrong)

    def since(self, bucket: int) -> Evidence:
        """Leave out what is older than the bucket."""
        return Evidence.of_columns(*(column[self.buckets >= bucket] for column in self._columns()))

    def window(self, last: int, buckets: int) -> Floats:
        """Lay out the `buckets` buckets up to `last`.

        What claims to be from later counts as from `last`: a clock that is ahead must not hide labels.

        Returns:
            float64 [5, buckets, BINS], the oldest bucket first: sampled labels (audit and shadow),
            wrong ones among them, wrong by verdict, wrong by complaint, hits and would-be hits seen.
        """
        first = last - buckets + 1
        chosen = self.buckets >= first
        kind = np.maximum(self.sources[chosen] - Source.SHADOW, 0)
        place = (kind * buckets + np.minimum(self.buckets[chosen], last) - first) * BINS + self.bins[chosen]
        kinds = len(Source) - 1
        n, wrong = (
            np.bincount(place, counts[chosen], kinds * buckets * BINS).reshape(kinds, buckets, BINS)
            for counts in (self.n, self.wrong)
        )
        return np.concatenate([n[:1], wrong[:3], n[3:]]).astype(np.float64, copy=False)

    def _columns(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        return self.bins, self.buckets, self.sources, self.n, self.wrong
