"""What a replay served, counted by domain; and the answers that a sample of hits is judged by.

Knows no pipeline. Holds texts of the log only until they are compared.
"""

from __future__ import annotations

import asyncio
import random
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from semcache.advise.wrong import Compared
from semcache.asking.likeness import Similar
from semcache.core import CachePolicy
from semcache.decide.answers.comparison import compare

_BY_MEANING, _BY_REPEAT = 300, 100
"""Pairs of answers compared in a domain, drawn by chance from all."""
_LONGEST = 12_000
"""Characters; longer answers are not compared (undecided)."""


class Answers(NamedTuple):
    """A question, the answer that was stored, and what the model really answered."""

    question: str
    stored: str
    fresh: str


class Drawn:
    """A fair draw of so many from a stream of unknown length (Vitter 1985, R).

    Args:
        most: kept.
        coin: chance.
    """

    def __init__(self, most: int, coin: random.Random) -> None:
        self.kept: list[Answers] = []
        self.seen = 0
        self._most = most
        self._coin = coin

    def offer(self, answers: Answers) -> None:
        """Take one, or not."""
        self.seen += 1
        if len(self.kept) < self._most:
            self.kept.append(answers)
        elif (at := self._coin.randrange(self.seen)) < self._most:
            self.kept[at] = answers


@dataclass(slots=True)
class Saved:
    """What hits spared: micro-USD, tokens and seconds of waiting; `unpriced` of them have no price."""

    cost: int = 0
    input: int = 0
    output: int = 0
    seconds: float = 0.0
    unpriced: int = 0


@dataclass(slots=True)
class Tally:
    """One domain's counts, under the policy that was met first there; fields as in `findings.DomainReplay`."""

    policy: CachePolicy
    by_meaning: Drawn
    by_repeat: Drawn
    requests: int = 0
    exact: int = 0
    semantic: int = 0
    drafts: int = 0
    would_be: int = 0
    personal: int = 0
    volatile: int = 0
    looked: int = 0
    asked_seconds: float = 0.0
    timed: int = 0
    examples: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    scores: array[float] = field(default_factory=lambda: array("d"))
    spared_exact: Saved = field(default_factory=Saved)
    spared_meaning: Saved = field(default_factory=Saved)


class Tallies:
    """All domains' counts.

    Args:
        seed: of the draws.
    """

    def __init__(self, seed: int) -> None:
        self._coin = random.Random(seed)  # noqa: S311 - an experiment, repeatable by its seed
        self.domains: dict[str, Tally] = {}

    def of(self, policy: CachePolicy) -> Tally:
        """Give the counts of a policy's domain."""
        tally = self.domains.get(policy.domain)
        if tally is None:
            tally = Tally(policy, Drawn(_BY_MEANING, self._coin), Drawn(_BY_REPEAT, self._coin))
            self.domains[policy.domain] = tally
        return tally


async def judged(pairs: Sequence[Answers], similar: Similar | None) -> Compared:
    """Compare answers as an audit of a hit does, but for the second opinion, which a log cannot give."""
    found = Compared()
    for pair in pairs:
        if max(len(pair.stored), len(pair.fresh)) > _LONGEST:
            found += Compared(undecided=1)
            continue
        alike = await similar(pair.stored, pair.fresh) if similar is not None else None
        verdict = await asyncio.to_thread(compare, pair.question, pair.stored, pair.fresh, alike)
        match verdict.agree:
            case True:
                found += Compared(right=1, equal=int(verdict.reasons == ("equal",)))
            case False:
                found += Compared(wrong=1)
            case None:
                found += Compared(undecided=1)
    return found
