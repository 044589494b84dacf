"""What the cache may do with one request before its answer is there: read, match, store, how long.

Each function gives None for "yes" or the reason for "no", from the rows of `tiers`. Pure; a client can only tighten what
the policy allows. Knows nothing of entries (see `decision`) nor of HTTP; answers are `answer_tiers`'.
"""

from __future__ import annotations

from semcache.core import CachePolicy, ChatRequest, Directives, Mode
from semcache.decide.lifetimes import lifetime as lifetime  # noqa: PLC0414  handed on
from semcache.decide.reasons import Reason
from semcache.decide.tiers import Step, first


def bypass(policy: CachePolicy, request: ChatRequest, directives: Directives) -> str | None:
    """Say why the cache has no part in this request at all, or None."""
    return first(Step.BYPASS, policy, request, directives)


def may_read(policy: CachePolicy, directives: Directives) -> str | None:
    """Say why nothing stored may be served to this request, or None."""
    if policy.mode is Mode.OFF:
        return Reason.POLICY_OFF.value
    return Reason.NO_CACHE.value if directives.no_read else None


def may_match(policy: CachePolicy, request: ChatRequest, directives: Directives) -> str | None:
    """Say why only the exact tier applies to this request, or None."""
    return first(Step.MATCH, policy, request, directives)


def may_store(policy: CachePolicy, request: ChatRequest, directives: Directives) -> str | None:
    """Say why the answer to this request may not be stored, or None."""
    return first(Step.STORE, policy, request, directives)
