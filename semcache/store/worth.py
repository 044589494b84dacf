"""What keeping an answer is worth: what it saved lately, counted so that nothing ever needs counting anew (pure).

Each time an answer is served it saves what making it cost. Its worth is the sum of those savings, its making included,
each halved again and again as time goes by. Time is counted in stored answers, not in seconds: `HALF_LIFE`
turnovers of its tenant's room halve it, so a quiet tenant forgets nothing and clocks that jump change nothing. Kept is
the score log2(sum) + time: while all sums halve alike, scores stay as they are, and only an answer that is served
gets another one. This is LRFU (Lee et al., 2001) with costs for counts; scripts/bench/eviction.py shows what it saves.

Knows no entries' order and no server.
"""

from __future__ import annotations

import math

from semcache.core import Entry

HALF_LIFE = 2.0
"""Turnovers of a tenant's room in which worth halves; `store.lua_worth` has the same number."""

_INPUT, _OUTPUT = 0.15, 0.6
"""Micro-USD of a token, where nobody knows a price: those of a small hosted model."""
_BYTES = 4
"""Of an answer a token, where nobody counted."""
_MOST = 1e12
"""Micro-USD; what claims to have cost more did not."""


def made_for(entry: Entry) -> float:
    """Give what making an answer cost, in micro-USD, at least 1: as it was noted, else guessed by its length."""
    cost, usage = entry.worth, entry.completion.usage
    if not cost > 0:
        read, written = (
            (usage.prompt_tokens, usage.completion_tokens)
            if usage is not None
            else (len(entry.prompt) // _BYTES, len(entry.completion.body) // _BYTES)
        )
        cost = max(0, read) * _INPUT + max(0, written) * _OUTPUT
    return min(max(1.0, cost), _MOST)


def level(cost: float, times: int = 1) -> float:
    """Give what `times` savings of a cost add to a score at time 0."""
    return math.log2(cost * times)


def added(score: float | None, more: float) -> float:
    """Give the score of what had `score` (None: nothing) and saved `more` beside it."""
    if score is None:
        return more
    high, low = max(score, more), min(score, more)
    return high + math.log2(1 + 2 ** (low - high))


def step(size: int, entries: int, bytes: int) -> float:
    """Give by how much time goes on when an answer of `size` bytes is stored in a room of so many entries and bytes."""
    return max(1 / entries, size / bytes) / HALF_LIFE
