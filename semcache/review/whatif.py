"""What other thresholds would have done with recorded decisions, and how judges compare with humans. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from semcache.decide.risk.fixed import clopper_pearson
from semcache.review_port import Agreement, Decided

SERVED = frozenset(("semantic",))
"""Outcomes of decisions by meaning whose answer was served."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What a threshold would have done.

    Attributes:
        threshold, min_score: the ones asked about.
        decisions: recorded ones.
        since, until: times of the oldest and newest, None without any.
        served: how many were served.
        would: how many these thresholds would serve at most: other checks may still have kept some of them back.
        more, less: would be served and was not; was served and would not.
        judged: of those that would be served, the ones that somebody judged.
        wrong: of these, the wrong ones.
        interval: the exact 95 % interval of wrong per hit; (0, 1) while nothing was judged.
    """

    threshold: float
    min_score: float
    decisions: int
    since: float | None
    until: float | None
    served: int
    would: int
    more: int
    less: int
    judged: int
    wrong: int
    interval: tuple[float, float]

    @property
    def share(self) -> float | None:
        """Wrong per judged hit."""
        return self.wrong / self.judged if self.judged else None


def what_if(decisions: Iterable[Decided], threshold: float, min_score: float) -> WhatIf:
    """Count what these thresholds would have served of the decisions.

    Args:
        decisions: in any order.
        threshold: least similarity on the reference scale.
        min_score: least probability of the verifier; decisions without a score were made without it.
    """
    recorded = list(decisions)
    kept = [one for one in recorded if _passes(one, threshold, min_score)]
    judged = [one for one in kept if one.wrong is not None]
    wrong = sum(1 for one in judged if one.wrong)
    served = sum(1 for one in recorded if one.outcome in SERVED)
    kept_served = sum(1 for one in kept if one.outcome in SERVED)
    times = [one.at for one in recorded]
    return WhatIf(
        threshold=threshold,
        min_score=min_score,
        decisions=len(recorded),
        since=min(times, default=None),
        until=max(times, default=None),
        served=served,
        would=len(kept),
        more=len(kept) - kept_served,
        less=served - kept_served,
        judged=len(judged),
        wrong=wrong,
        interval=clopper_pearson(len(judged), wrong),
    )


def _passes(decided: Decided, threshold: float, min_score: float) -> bool:
    return decided.similarity >= threshold and (decided.score is None or decided.score >= min_score)


def kappa(table: Agreement) -> float | None:
    """Give Cohen's kappa (1960): agreement beyond chance; None where chance alone explains all or nothing is known."""
    n = table.both + table.only_judge + table.only_human + table.neither
    if n == 0:
        return None
    agreed = (table.both + table.neither) / n
    judge, human = (table.both + table.only_judge) / n, (table.both + table.only_human) / n
    chance = judge * human + (1 - judge) * (1 - human)
    return None if chance >= 1 else (agreed - chance) / (1 - chance)
