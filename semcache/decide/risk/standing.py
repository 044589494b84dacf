"""What the evidence allows one tenant's domain: from which score up it may serve, and why not. Pure.

A function of counts, rules, prior and time; the standing before is used for hysteresis only, so
replicas and restarts agree up to that. docs/risk.md says what is guaranteed and derives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from semcache.decide.risk.bound import (
    bets_above,
    bets_below,
    labels_needed,
    log_wealth,
    refuting,
    upper_bound,
)
from semcache.decide.risk.counting import Counts, ageing, counted, estimates, from_bin_up, since, until
from semcache.decide.risk.drift import Alarms, alarms
from semcache.decide.risk.evidence import Evidence
from semcache.decide.risk.grid import BINS, EDGES, bucket_of
from semcache.decide.risk.operating import Start, least_proven, level, starts
from semcache.decide.risk.prior import Prior, faded
from semcache.decide.risk.rules import RiskRules, UntilProven

Floats = NDArray[np.float64]
_COMFORT = 0.5


class State(StrEnum):
    """Why a domain may or may not serve."""

    THIN = "thin"
    """Too few labels to tell; the policy's `until_proven` applies."""

    OPEN = "open"
    """Proven from the cut up."""

    CLOSED = "closed"
    """There are labels enough, and no cut is within the budget."""

    ALARMED = "alarmed"
    """It had been proven, then the risk rose; what is proven since (or above) is still served."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What one (tenant, domain) may do.

    Attributes:
        state: See `State`.
        cut: Least score served, an edge of the grid; None: nothing is.
        bound: Upper confidence bound on wrong / hits at the cut (or where it looks best, if there is none).
        estimate: Weighted share of wrong labels there, corrected for noise; 0 without labels.
        audits: Weighted labels there.
        wrong: Weighted wrong ones, as labelled.
        needed: Labels, all right, that would prove a cut from nothing.
        by_prior: The cut rests on the declared prior.
    """

    state: State
    cut: float | None
    bound: float
    estimate: float
    audits: float
    wrong: float
    needed: float
    by_prior: bool = False


def stand(
    evidence: Evidence, rules: RiskRules, prior: Prior | None, now: float, before: Standing | None = None
) -> Standing:
    """Say what the evidence allows.

    Args:
        evidence: Counts of all replicas.
        rules: The policy's.
        prior: Offline calibration; used only when the policy says `serve` until proven.
        now: Unix time in seconds.
        before: The standing so far, if known: a cut that is in use is kept up to the full budget.
    """
    window = from_bin_up(evidence.window(bucket_of(now), rules.buckets))
    found = alarms(rules.budget, rules.noise, rules.run_length, window[0], window[1])
    weight = ageing(rules.half_life, rules.buckets)
    everything = counts = counted(window, weight, rules.feedback_weight)
    if found.discards:
        counts = counted(window, since(weight, found.kept_from()), rules.feedback_weight)
    claims = _claims(rules, before)
    proven = _proven(_wealth(rules, claims, counts), counts.n, rules)
    alarmed = found.discards and _broken(window, rules, found, proven)
    if proven is not None:
        return _told(State.ALARMED if alarmed else State.OPEN, proven, proven, counts, rules)
    best = _best(everything, rules)
    if alarmed:
        return _told(State.ALARMED, None, best, everything, rules)
    if _refuted(everything, rules):
        return _told(State.CLOSED, None, best, everything, rules)
    trusted = _by_prior(prior, rules, claims, everything, found)
    return _told(State.THIN, trusted, trusted or best, everything, rules)


def may_serve(standing: Standing, score: float) -> bool:
    """True when a hit of this score may be served directly; a score that is no number never may."""
    return standing.cut is not None and standing.cut <= score <= 1.0


def audit_share(standing: Standing, rules: RiskRules) -> float:
    """Give the share of hits, and of would-be hits alike, to label; never 0.

    While nothing is served the share for that; else the thin share, unless the bound is well under
    the budget: then it falls in a straight line to the proven share at half the budget.
    """
    if standing.cut is None:
        return rules.audit_unserved
    if standing.state is not State.OPEN:
        return rules.audit_thin
    used = (standing.bound / rules.budget - _COMFORT) / (1.0 - _COMFORT)
    return rules.audit_proven + (rules.audit_thin - rules.audit_proven) * min(1.0, max(0.0, used))


def _claims(rules: RiskRules, before: Standing | None) -> Floats:
    """Risk that must be refuted at each cut: a little less than the budget where it isn't open yet."""
    claims = np.full(BINS, rules.budget * (1.0 - rules.margin))
    if before is not None and before.cut is not None:
        claims[np.array(EDGES) >= before.cut] = rules.budget
    return claims


def _wealth(rules: RiskRules, claims: Floats, counts: Counts) -> Floats:
    return refuting(bets_below(rules.budget, rules.noise), rules.confidence, claims, *counts)


def _proven(wealth: Floats, n: Floats, rules: RiskRules) -> Start | None:
    return least_proven(wealth, n, rules.confidence, starts(rules.budget))


def _broken(window: Floats, rules: RiskRules, found: Alarms, proven: Start | None) -> bool:
    """True when an alarm took away a cut that the buckets before its onset had proven."""
    if proven is not None and proven.bin <= found.reach:
        return False
    onset = int(found.onset[found.last >= 0][0])
    weight = until(ageing(rules.half_life, rules.buckets), onset)
    counts = counted(window, weight, rules.feedback_weight)
    once = _proven(_wealth(rules, np.full(BINS, rules.budget), counts), counts.n, rules)
    return once is not None and once.bin <= found.reach


@lru_cache(maxsize=256)
def needed(rules: RiskRules) -> float:
    """Give how many labels, all of them right, prove a cut from nothing."""
    return labels_needed(
        bets_below(rules.budget, rules.noise),
        1.0 - level(rules.confidence, starts(rules.budget)[0].share),
        rules.budget * (1.0 - rules.margin),
    )


def _best(counts: Counts, rules: RiskRules) -> Start:
    """Cut whose hits are nearest to being proven."""
    at = int(_wealth(rules, np.full(BINS, rules.budget), counts).argmax())
    return Start(at, starts(rules.budget)[0].share)


def _refuted(counts: Counts, rules: RiskRules) -> bool:
    """True when every cut with enough labels to be proven looks worse than the budget, and one has them."""
    told = counts.n >= needed(rules)
    return bool(told.any()) and bool((estimates(counts, rules.noise)[told] > rules.budget).all())


def _by_prior(
    prior: Prior | None, rules: RiskRules, claims: Floats, counts: Counts, found: Alarms
) -> Start | None:
    """Loosest cut proven by labels and prior together; where there is an alarm no prior counts."""
    if prior is None or rules.until_proven is not UntilProven.SERVE:
        return None
    over = log_wealth(bets_above(rules.budget, rules.noise), rules.budget, counts.n, counts.wrong)
    hits, wrong = faded(prior, rules.prior_strength, counts.n, over)
    # The card's labels are true ones; they are entered as the comparer would have read them.
    read = rules.noise.false_alarm * hits + (1.0 - rules.noise.false_alarm - rules.noise.miss) * wrong
    both = Counts(counts.n + hits, counts.wrong + read, counts.human)
    wealth = _wealth(rules, claims, both)
    wealth[: found.reach + 1] = -np.inf
    # Each cut's share of the prior is cut down on its own: only the card itself says which bins it looked into.
    return _proven(wealth, counts.n + prior.from_bin_up()[0], rules)


def _told(state: State, cut: Start | None, at: Start, counts: Counts, rules: RiskRules) -> Standing:
    """Put the figures of one cut beside the state."""
    n, wrong, human = (float(column[at.bin]) for column in counts)
    confidence = 1.0 - level(rules.confidence, at.share)
    return Standing(
        state,
        None if cut is None else EDGES[cut.bin],
        upper_bound(bets_below(rules.budget, rules.noise), confidence, n, wrong, human),
        float(estimates(counts, rules.noise)[at.bin]),
        n,
        wrong + human,
        needed(rules),
        state is State.THIN and cut is not None,
    )
