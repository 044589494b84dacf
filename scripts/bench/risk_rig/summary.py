"""What is reported of the runs of a world: one figure each, by name. NaN where there is nothing to say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from risk_rig.running import Trace
from risk_rig.worlds import World

Floats = NDArray[np.float64]
Figures = dict[str, float]


def summary(world: World, trace: Trace, window: int) -> Figures:
    """Condense the runs.

    Args:
        world: As run.
        trace: What happened.
        window: Hits of a window; a run's worst one is the worst stretch of whole steps with at least so many.
    """
    return (
        _kept(world, trace, window)
        | _opening(trace)
        | _given_up(trace)
        | _of_bound(trace)
        | _of_change(world, trace)
    )


def _kept(world: World, trace: Trace, window: int) -> Figures:
    """Shares of runs in which wrong / hits stayed within the budget; a run that served nothing kept it."""
    budget = world.rules.budget
    hits = trace.hits.sum(axis=0)
    divisor = np.maximum(hits, 1.0)
    worst = _worst(trace, window)
    return {
        "runs": float(hits.size),
        "runs_that_served": float((hits > 0).mean()),
        "runs_within_budget": float((trace.wrong.sum(axis=0) <= budget * hits).mean()),
        "runs_within_budget_in_the_mean": float((trace.expected.sum(axis=0) / divisor <= budget).mean()),
        "worst_window_within_budget": float((worst <= budget).mean()),
        "worst_window_median": float(np.median(worst)),
        "worst_window_p95": float(np.quantile(worst, 0.95)),
        "wrong_per_hit": float(trace.wrong.sum() / max(1.0, hits.sum())),
        "wrong_per_request": float(trace.wrong.sum() / trace.would.sum()),
        "wrong_a_run": float(np.median(trace.wrong.sum(axis=0))),
        "hits_a_run": float(np.median(hits)),
    }


def _worst(trace: Trace, window: int) -> Floats:
    """Greatest expected wrong / hits of any window, [runs]; 0 where there is none."""
    zero = np.zeros((1, trace.hits.shape[1]))
    hits = np.vstack([zero, np.cumsum(trace.hits, axis=0)])
    wrong = np.vstack([zero, np.cumsum(trace.expected, axis=0)])
    worst = np.zeros(hits.shape[1])
    for run in range(worst.size):
        ends = np.searchsorted(hits[:, run], hits[:, run] + window)
        first = np.flatnonzero(ends < len(hits))
        last = ends[first]
        if first.size:
            worst[run] = ((wrong[last, run] - wrong[first, run]) / (hits[last, run] - hits[first, run])).max()
    return worst


def _opening(trace: Trace) -> Figures:
    """Would-be hits and labels that came before the first hit, medians of the runs that ever served."""
    opened = trace.hits > 0
    runs = np.flatnonzero(opened.any(axis=0))
    first = opened.argmax(axis=0)[runs]
    seen, labels = (
        np.vstack([np.zeros((1, opened.shape[1])), np.cumsum(column, axis=0)])[first, runs]
        for column in (trace.would, trace.labels)
    )
    return {"would_be_hits_until_open": _median(seen), "labels_until_open": _median(labels)}


def _given_up(trace: Trace) -> Figures:
    late = slice(len(trace.hits) // 2, None)
    return {
        "hit_rate": float(trace.hits.sum() / trace.would.sum()),
        "oracle_hit_rate": float(trace.oracle.sum() / trace.would.sum()),
        "given_up": _lost(trace, slice(None)),
        "given_up_second_half": _lost(trace, late),
        "labels_per_would_be_hit": float(trace.labels.sum() / trace.would.sum()),
    }


def _lost(trace: Trace, part: slice) -> float:
    oracle = trace.oracle[part].sum()
    return float(1.0 - trace.hits[part].sum() / oracle) if oracle else float("nan")


def _of_bound(trace: Trace) -> Figures:
    """Share of runs in which no claim was ever false: about the labels it rests on, and about what was served then."""
    claimed = ~np.isnan(trace.bound) & (trace.bound > 0.0)
    if not claimed.any():
        return {}
    return {
        "bound_kept": float(1.0 - (claimed & (trace.past > trace.bound)).any(axis=0).mean()),
        "bound_kept_by_the_present": float(1.0 - (claimed & (trace.truth > trace.bound)).any(axis=0).mean()),
        "runs_ever_alarmed": float((trace.alarmed > 0).any(axis=0).mean()),
    }


def _of_change(world: World, trace: Trace) -> Figures:
    """What was served over the budget after the change; medians of the runs in which anything was."""
    if world.change < 0:
        return {}
    after = slice(world.change, None)
    over = (trace.truth[after] > world.rules.budget) & (trace.hits[after] > 0)
    runs = over.any(axis=0)

    def total(column: Floats) -> float:
        return _median((column[after] * over).sum(axis=0)[runs])

    audited = trace.labels * trace.hits / np.maximum(trace.would, 1.0)
    return {
        "runs_over_after_change": float(runs.mean()),
        "days_over": _median(over.sum(axis=0)[runs]) / world.steps_a_day,
        "hits_over": total(trace.hits),
        "wrong_over": total(trace.wrong),
        "audits_over": total(audited),
    }


def _median(values: Floats) -> float:
    return float(np.median(values)) if values.size else float("nan")
