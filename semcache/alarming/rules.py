"""When alarms are raised and when they are over: frozen values, made from settings by whoever puts the parts together.

Knows no tenant and no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from semcache.cost_port import AlarmKind

HOUR = 3600.0
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Limit:
    """Two levels with room between them, and how long each must hold (seconds).

    With `is_low` an alarm is raised at or below `raises` and over above `clears`, else at or above `raises` and over
    below `clears`; so `clears` lies on the good side of `raises`.
    """

    raises: float
    clears: float
    lasts: float = 0.0
    calms: float = 0.0
    is_low: bool = False

    def is_bad(self, value: float) -> bool:
        """True where a value asks for the alarm."""
        return value <= self.raises if self.is_low else value >= self.raises

    def is_good(self, value: float) -> bool:
        """True where a value asks for its end."""
        return value > self.clears if self.is_low else value < self.clears


LIMITS: Mapping[AlarmKind, Limit] = {
    AlarmKind.HIT_RATIO_LOW: Limit(0.05, 0.08, HOUR, 600, is_low=True),
    AlarmKind.CACHED_RATIO_LOW: Limit(0.10, 0.15, HOUR, 600, is_low=True),
    AlarmKind.HITS_JUMPED: Limit(0.20, 0.10, 120, 600),
    AlarmKind.INPUT_GROWING: Limit(0.50, 0.30, 0, 0),
    AlarmKind.REPETITION: Limit(0.05, 0.02, 300, 900),
    AlarmKind.RETRIES: Limit(0.10, 0.05, 300, 900),
    AlarmKind.PRICE_UNKNOWN: Limit(1, 1, 0, HOUR),
    AlarmKind.BOUND_BROKEN: Limit(1, 1, 0, 0),
}
"""The defaults. Shares of 1, but for growth (0.5: half as much again), models without a price (requests) and the bound (1 while it is broken)."""


@dataclass(frozen=True, slots=True)
class AlarmRules:
    """What the conditions go by; times in seconds.

    `limits` has no entry for kinds that are switched off. Ratios are taken over `window`, sudden rises over `sudden`; with
    fewer than `least` requests there (a quarter of them for a sudden rise, all of them on both sides of growth) nothing
    is said. `prompt` is the least mean prompt, in tokens, of which a provider's cache can be expected to hold a part.
    `forget`: a raised alarm of which nothing was heard for so long is over.
    """

    every: float = 30.0
    window: float = HOUR
    sudden: float = 900.0
    least: int = 200
    prompt: int = 1024
    steps: tuple[float, ...] = (0.5, 0.8, 1.0)
    forget: float = DAY
    limits: Mapping[AlarmKind, Limit] = field(default_factory=lambda: LIMITS)
