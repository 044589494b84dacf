"""What is a hit to the evidence: those served, those that would have been, and answers revised from a near one. Pure."""

from __future__ import annotations

from dataclasses import replace

from semcache.core import Completion, Decision, Draft, EntryId, Hit, ReviewStatus
from semcache.decide.reasons import Reason
from semcache.decide.risk.grid import bin_of

NO_ENTRY = EntryId("")
"""Of an answer that was not stored."""
_UNSCORED = 0.5
"""Where nobody gave a score: all such drafts stand in one bin."""


def would_be(decision: Decision) -> Hit | None:
    """Give the hit that a decision would have been, had policy or evidence allowed it.

    A draft that nothing but the evidence stands against is one too: its label is how a domain opens.
    """
    match decision:
        case Hit():
            return decision
        case Draft(entry, similarity, (Reason.RISK,), score):
            return Hit(entry, exact=False, similarity=similarity, score=score, shadow=True)
        case _:
            return None


def bin_of_hit(hit: Hit) -> int | None:
    """Give the bin of a hit's score; None for an exact hit, and where nobody gave a score."""
    return None if hit.exact or hit.score is None else bin_of(hit.score)


def as_hit(draft: Draft, revised: Completion, id: EntryId | None) -> Hit:
    """Give a revised answer as what is checked: a hit on the entry that it was stored as, if it was."""
    score = _UNSCORED if draft.score is None else draft.score
    entry = replace(draft.entry, id=id or NO_ENTRY, completion=revised, status=ReviewStatus.UNREVIEWED)
    return Hit(entry, exact=False, similarity=draft.similarity, score=score)
