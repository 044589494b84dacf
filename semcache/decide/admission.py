"""What the cache may do with one request, before and after the answer: read, match, store, how long.

Each function gives None for "yes" or the reason for "no". Pure; a client can only tighten what
the policy allows. Knows nothing of entries (see `decision`) nor of HTTP.
"""

from __future__ import annotations

from semcache.core import CachePolicy, ChatRequest, Completion, Directives, Mode
from semcache.decide.reasons import Reason
from semcache.decide.volatile import is_volatile

_EMPTY_BODIES = (b"", b"null", b"{}", b"[]", b'""')


def bypass(policy: CachePolicy, request: ChatRequest, directives: Directives) -> str | None:
    """Say why the cache has no part in this request at all, or None."""
    if policy.mode is Mode.OFF:
        return Reason.POLICY_OFF.value
    if directives.mode == "off":
        return Reason.ASKED_OFF.value
    if directives.no_read and directives.no_store:
        return Reason.NO_CACHE_NO_STORE.value
    if request.uncacheable is not None:
        return Reason.UNCACHEABLE.value
    if not policy.allow_tools and _uses_tools(request):
        return Reason.TOOLS.value
    return _sampling(policy, request)


def _uses_tools(request: ChatRequest) -> bool:
    return request.exact_only == "tools" or bool(request.body.get("tools") or request.body.get("functions"))


def _sampling(policy: CachePolicy, request: ChatRequest) -> str | None:
    """Refuse requests that want variety; a temperature that is not a number is one of them."""
    if request.temperature is None:
        return None if policy.allow_default_temperature else Reason.DEFAULT_TEMPERATURE.value
    return None if request.temperature <= policy.max_temperature else Reason.TEMPERATURE.value


def may_read(policy: CachePolicy, directives: Directives) -> str | None:
    """Say why nothing stored may be served to this request, or None."""
    if policy.mode is Mode.OFF:
        return Reason.POLICY_OFF.value
    return Reason.NO_CACHE.value if directives.no_read else None


def may_match(policy: CachePolicy, request: ChatRequest, directives: Directives) -> str | None:
    """Say why only the exact tier applies to this request, or None."""
    if policy.mode not in (Mode.SEMANTIC, Mode.SHADOW) or directives.mode in ("exact", "off"):
        return Reason.EXACT_ONLY.value
    if request.exact_only is not None:
        return Reason.EXACT_ONLY.value
    if request.prompt is None or not request.prompt.strip():
        return Reason.NO_PROMPT.value
    return Reason.LONG_CONVERSATION.value if request.user_turns > policy.max_user_turns else None


def may_store(policy: CachePolicy, request: ChatRequest, directives: Directives) -> str | None:
    """Say why the answer to this request may not be stored, or None."""
    if policy.mode is Mode.OFF:
        return Reason.POLICY_OFF.value
    if directives.no_store or not policy.store:
        return Reason.NO_STORE.value
    if request.uncacheable is not None:
        return Reason.UNCACHEABLE.value
    return None if lifetime(policy, directives, 1.0) > 0 else Reason.NO_LIFETIME.value


def lifetime(
    policy: CachePolicy, directives: Directives, jitter01: float, prompt: str | None = None
) -> float:
    """Give the seconds an entry may live.

    Args:
        policy: Its `ttl`, spread by `ttl_jitter` (a fraction) so that entries do not expire together.
        directives: The client's `ttl` may shorten the result, never lengthen it.
        jitter01: A uniform number in [0, 1]; 0 gives the shortest life, 1 the longest.
        prompt: The last user text; one about the present lives `volatile_ttl` at most.
    """
    spread = policy.ttl_jitter * (2.0 * min(1.0, max(0.0, jitter01)) - 1.0)
    seconds = max(0.0, policy.ttl * (1.0 + spread))
    if prompt is not None and seconds > policy.volatile_ttl and is_volatile(prompt):
        seconds = max(0.0, policy.volatile_ttl)
    if directives.ttl is None:
        return seconds
    # `ttl` that is not a number compares false: no life at all.
    return min(seconds, directives.ttl) if directives.ttl > 0 else 0.0


def may_store_answer(policy: CachePolicy, completion: Completion) -> str | None:
    """Say why this finished answer may not be stored, or None."""
    if completion.body.strip() in _EMPTY_BODIES:
        return Reason.EMPTY_ANSWER.value
    if completion.size > policy.max_entry_bytes:
        return Reason.TOO_LARGE.value
    keeps_tools = policy.allow_tools and policy.store_tool_calls
    return Reason.TOOLS.value if completion.has_tool_calls and not keeps_tools else None
