"""Whether the drafts of a domain go on, from tallies of the policy's window. Pure.

The words: `draft-tried` and `draft-failed` count revisions, `draft-saved` is micro-USD and `draft-saved-tokens` weighted
tokens (see `worth`) that they saved, both less than 0 where they lost. The window moves on: days on which
revisions failed leave it, and then the band is open for new trials by itself. Between, nothing is
tried and nothing changes, so that it cannot flap faster than the window is long. A tenant's tallies are its own: who
asks for failing drafts on purpose closes the band of that tenant's domain and loses it a saving, never an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from semcache.core import DraftPolicy

TRIED, FAILED, SAVED, SAVED_TOKENS = "draft-tried", "draft-failed", "draft-saved", "draft-saved-tokens"


@dataclass(frozen=True, slots=True)
class Band:
    """`why` is a closed word: `trial` (too few to tell), `pays`, or `failed`, `lost` for one that is closed."""

    open: bool
    why: str


def band(counts: Mapping[str, int], rules: DraftPolicy) -> Band:
    """Say whether revisions of a domain go on.

    Args:
        counts: the tallies of the last `rules.window` seconds; words that are not there count 0.
        rules: the domain's; as `tried` counts at least one trial is made whatever `min_trials` says.
    """
    tried = counts.get(TRIED, 0)
    if tried < max(1, rules.min_trials):
        return Band(open=True, why="trial")
    if counts.get(FAILED, 0) > rules.max_failed * tried:
        return Band(open=False, why="failed")
    # Money decides where anything had a price; tokens where nothing had.
    gained = counts[SAVED] if counts.get(SAVED) else counts.get(SAVED_TOKENS, 0)
    return Band(open=False, why="lost") if gained < 0 else Band(open=True, why="pays")
