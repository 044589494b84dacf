"""What a process holds, read now and then; and whether it grows (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import psutil


@dataclass(frozen=True)
class Bound:
    """How much a figure may grow over the judged time: a share of its middle, or so much, whichever is more."""

    share: float
    least: float


BOUNDS = {
    "proxy MiB": Bound(0.02, 6.0),
    "valkey MiB": Bound(0.02, 3.0),
    "held MiB": Bound(0.02, 3.0),
    "files": Bound(0.05, 12.0),
    "threads": Bound(0.0, 1.0),
    "tasks": Bound(0.10, 10.0),
}
"""Of the serving process and of the store's; `held` is what the server of the store counts as used, records apart."""


@dataclass
class Samples:
    """Figures by name, each a list over time."""

    at: list[float] = field(default_factory=list)
    rows: dict[str, list[float]] = field(default_factory=dict)

    def add(self, at: float, figures: dict[str, float]) -> None:
        """Add one look."""
        self.at.append(at)
        for name, value in figures.items():
            self.rows.setdefault(name, []).append(value)

    def growth(self, name: str, since: float) -> tuple[float, float]:
        """Give by how much a figure grew from `since` to the end, by its slope, and its middle there."""
        pairs = [(at, value) for at, value in zip(self.at, self.rows[name], strict=True) if at >= since]
        if len(pairs) < 3:
            raise ValueError(f"too few looks at {name}")
        return slope(pairs) * (pairs[-1][0] - pairs[0][0]), median(value for _, value in pairs)


@dataclass(frozen=True)
class Growth:
    """What became of one figure."""

    name: str
    middle: float
    grew: float
    allowed: float

    @property
    def is_flat(self) -> bool:
        """True when it grew no more than it may."""
        return self.grew <= self.allowed


def judged(samples: Samples, since: float) -> list[Growth]:
    """Hold every figure against its bound, from `since` (the end of the warm-up) on."""
    found = []
    for name, bound in BOUNDS.items():
        grew, middle = samples.growth(name, since)
        found.append(Growth(name, middle, grew, max(bound.share * middle, bound.least)))
    return found


def slope(pairs: Sequence[tuple[float, float]]) -> float:
    """Give the median of the slopes of all pairs of points (Theil and Sen): a few odd looks do not move it."""
    points = pairs[:: max(1, len(pairs) // 300)]
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for place, earlier in enumerate(points)
        for later in points[place + 1 :]
        if later[0] > earlier[0]
    ]
    return median(slopes)


def quantile(values: Sequence[float], share: float) -> float:
    """Give a quantile (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def process_figures(pid: int) -> dict[str, float]:
    """Read a process: resident memory, open files, threads."""
    process = psutil.Process(pid)
    return {
        "MiB": process.memory_info().rss / 2**20,
        "files": float(process.num_fds()),
        "threads": float(process.num_threads()),
    }
