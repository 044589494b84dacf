"""One knob moved over its range: what would be served at each place. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from semcache.evaluate.domains import Variation
from semcache.evaluate.pairs import Seen

OUR_THRESHOLDS = (0.80, 0.85, 0.88, 0.90, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99)
OUR_SCORES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
VARIATIONS = (
    *(Variation(threshold=at) for at in OUR_THRESHOLDS),
    *(Variation(min_score=at) for at in OUR_SCORES),
)
"""Under which our own decision is asked; each costs one more decision a pair."""
BARE_THRESHOLDS = tuple(i / 200 for i in range(100, 200))
"""Of a peer that has a threshold and nothing else."""

Place = tuple[float, int, int]
"""Where the knob stands, good pairs served, traps served."""


def by_threshold(seen: Sequence[Seen]) -> list[Place]:
    """Move our threshold, all else as the policy states it."""
    return [_place(at, seen, _by_variation(n)) for n, at in enumerate(OUR_THRESHOLDS)]


def by_score(seen: Sequence[Seen]) -> list[Place]:
    """Move the verifier's least score, all else as the policy states it."""
    return [_place(at, seen, _by_variation(n)) for n, at in enumerate(OUR_SCORES, len(OUR_THRESHOLDS))]


def bare(seen: Sequence[Seen]) -> list[Place]:
    """Move a threshold with nothing behind it."""
    return [_place(at, seen, _from(at)) for at in BARE_THRESHOLDS]


def has_scores(seen: Sequence[Seen]) -> bool:
    """True when the verifier was asked at least once."""
    return any(one.score is not None for one in seen)


def served(seen: Sequence[Seen], holds: Callable[[Seen], bool]) -> tuple[int, int]:
    """Count good pairs and traps for which something holds."""
    return sum(one.pair.same and holds(one) for one in seen), sum(
        not one.pair.same and holds(one) for one in seen
    )


def _place(at: float, seen: Sequence[Seen], holds: Callable[[Seen], bool]) -> Place:
    return at, *served(seen, holds)


def _by_variation(number: int) -> Callable[[Seen], bool]:
    return lambda one: one.swept[number]


def _from(threshold: float) -> Callable[[Seen], bool]:
    return lambda one: one.similarity is not None and one.similarity >= threshold
