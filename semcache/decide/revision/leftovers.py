"""Whether a revised answer still names what only the older question named. Pure; a door to `remains`."""

from __future__ import annotations

from semcache.core import GateRules
from semcache.decide.features import features
from semcache.decide.gate import compare
from semcache.decide.revision.remains import gone, read_whole, stand_in


def leftovers(asked: str, stored: str, answer: str) -> bool:
    """True when something that only `stored` names stands in an answer to `asked`, or where that cannot be told."""
    one, other = features(asked), features(stored)
    found = compare(one, other, GateRules())
    lost = gone(one, other, frozenset((*found.vetoes, *found.raised)))
    texts = read_whole(answer)
    return texts is None or stand_in(lost, texts)
