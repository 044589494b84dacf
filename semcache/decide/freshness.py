"""Whether a stored answer may be served at all to an equal request. Pure; knows no similarity."""

from __future__ import annotations

from semcache.core import CachePolicy, Directives, Entry, ReviewStatus
from semcache.decide.decision import is_foreign, is_too_old
from semcache.decide.vouching import withheld
from semcache.review_rules import WHOLE


def is_servable(
    policy: CachePolicy, directives: Directives, entry: Entry, now: float, asker: str = ""
) -> bool:
    """True when the entry is the tenant's, alive, neither rejected nor withheld, and young enough for policy and client.

    `asker` names who asks, as in `Entry.author`.
    """
    alive = entry.is_fresh(now) and entry.status is not ReviewStatus.REJECTED
    if not alive or is_foreign(policy, entry) or withheld(entry, WHOLE, asker) is not None:
        return False
    return not is_too_old(policy, directives, entry, now)
