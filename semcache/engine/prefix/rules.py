"""The knobs of eviction, all in one place."""

from __future__ import annotations

from dataclasses import dataclass

from semcache.engine.prefix.frequency import HOUR


@dataclass(frozen=True, slots=True)
class EvictionRules:
    """How the order of eviction is made; the defaults are what the benchmark measures.

    Attributes:
        shallow: a node whose prefix is shorter than this many tokens counts as shallow; once reused,
            it goes by decayed frequency, after all deep ones.
        shallow_share: the part of the pool up to which shallow nodes go last. What they hold above
            it competes with the deep ones, since a pool full of short prompts has no others.
        half_life: seconds after which a hit counts half in the frequency of shallow nodes.
        floor: a deep node that was reused fewer times than this (rounded to 1, 2, 4, 8 ...) is on
            probation: by the plain rule it is pruned before any other. 1: never reused.
        learns: False gives the plain rule (probation, then recency, then frequency); True orders
            the deep nodes by what slots of their kind and age have turned out to be worth.
        evidence: reuses to be seen before what was learned is trusted; until then a guess stands
            for it, by which a slot is worth more if used more often or later.
        ghosts: how many evicted nodes are remembered, at some 200 bytes each. 0: none.
    """

    shallow: int = 128
    shallow_share: float = 0.125
    half_life: float = HOUR
    floor: int = 1
    learns: bool = True
    evidence: int = 100
    ghosts: int = 65_536

    def __post_init__(self) -> None:
        numbers = (self.shallow, self.shallow_share, self.floor, self.evidence, self.ghosts)
        if min(numbers) < 0 or self.half_life <= 0:
            message = "the knobs of eviction are not negative, and the half-life is positive"
            raise ValueError(message)
