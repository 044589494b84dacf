"""What is a hit to the evidence: those served, and those that would have been. Pure."""

from __future__ import annotations

from semcache.core import Decision, Draft, Hit
from semcache.decide.reasons import Reason
from semcache.decide.risk.grid import bin_of


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
