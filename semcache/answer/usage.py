"""Token counts of a chat answer: read from the protocol's `usage`, and set to zero for replays.

Pure. Prices and savings are counted elsewhere.
"""

from __future__ import annotations

from typing import Any

from semcache.core import Usage

_MOST = 2**53
"""Beyond this a count is nonsense (and no longer exact in JavaScript)."""


def read_usage(usage: Any) -> Usage | None:
    """Read a chat `usage` object; None when it is missing or its counts are not sane.

    The cached part is `prompt_tokens_details.cached_tokens`, or DeepSeek's
    `prompt_cache_hit_tokens`; it never exceeds the prompt.
    """
    if not isinstance(usage, dict):
        return None
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if cached is None:
        cached = usage.get("prompt_cache_hit_tokens")
    return Usage(prompt, completion, min(_count(cached) or 0, prompt))


def zeroed(usage: Any) -> dict[str, Any]:
    """Give the usage of a replay: nothing was spent; what the first answer cost, if known, stands beside."""
    nothing: dict[str, Any] = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return nothing | {"semcache_saved": usage} if isinstance(usage, dict) else nothing


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        return None
    return value
