"""Evidence for tests: labels spread over bins and days."""

from __future__ import annotations

import numpy as np

from semcache.decide.risk.evidence import Cell, Evidence, Source
from semcache.decide.risk.grid import BINS, BUCKET_SECONDS

TODAY = 20_000
NOW = (TODAY + 0.5) * BUCKET_SECONDS


def labels(
    n: int, wrong: int = 0, *, bin: int = BINS - 1, ago: int = 0, source: Source = Source.AUDIT
) -> Evidence:
    """So many labels in one cell, `ago` days before today."""
    return Evidence.of([Cell(bin, TODAY - ago, source, n, wrong)])


def daily(rates: list[float], n: int, *, bin: int = BINS - 1) -> Evidence:
    """`n` labels a day up to today, rounded to the day's rate of wrong ones."""
    last = len(rates) - 1
    return Evidence.of(
        Cell(bin, TODAY - last + day, Source.AUDIT, n, round(rate * n)) for day, rate in enumerate(rates)
    )


def drawn(rng: np.random.Generator, risks: list[float], n: int) -> Evidence:
    """`n` labels in each bin, wrong at the bin's risk."""
    return Evidence.of(
        Cell(bin_, TODAY, Source.SHADOW, n, int(rng.binomial(n, risk))) for bin_, risk in enumerate(risks)
    )
