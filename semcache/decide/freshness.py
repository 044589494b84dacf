"""Whether a stored answer may be served at all to an equal request. Pure; knows no similarity."""

from __future__ import annotations

from semcache.core import CachePolicy, Directives, Entry, ReviewStatus
from semcache.decide.decision import is_too_old


def is_servable(policy: CachePolicy, directives: Directives, entry: Entry, now: float) -> bool:
    """True when the entry is the tenant's, alive, not rejected, and young enough for policy and client."""
    alive = entry.is_fresh(now) and entry.status is not ReviewStatus.REJECTED
    return alive and entry.tenant == policy.tenant and not is_too_old(policy, directives, entry, now)
