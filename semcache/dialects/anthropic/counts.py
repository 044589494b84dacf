"""Usage in Anthropic's words and in chat's: cached and written tokens stand beside the input there, inside it here. Pure.

Fields of either side that the other has no word for pass as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semcache.dialects.usage import read_anthropic, read_usage

_NATIVE = frozenset(
    (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "output_tokens_details",
    )
)
_CHAT = frozenset(
    (
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
    )
)
NOTHING: Mapping[str, Any] = {"input_tokens": 0, "output_tokens": 0}
_FREE: Mapping[str, Any] = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}
LATE = frozenset(
    (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "output_tokens_details",
        "server_tool_use",
        "iterations",
        "fallback_credit",
    )
)
"""What a stream tells again at its end; the other fields come with its start alone."""


def chat_usage(usage: Any) -> dict[str, Any] | None:
    """Give Anthropic's usage as a chat completion's; None when its counts are missing or not sane."""
    found = read_anthropic(usage)
    if found is None:
        return None
    out: dict[str, Any] = {
        "prompt_tokens": found.prompt_tokens,
        "completion_tokens": found.completion_tokens,
        "total_tokens": found.prompt_tokens + found.completion_tokens,
    }
    details: dict[str, Any] = {}
    if "cache_read_input_tokens" in usage:
        details["cached_tokens"] = usage["cache_read_input_tokens"]
    if "cache_creation_input_tokens" in usage:
        details["cache_write_tokens"] = usage["cache_creation_input_tokens"]
    elif found.written_tokens:
        details["cache_write_tokens"] = found.written_tokens
    if details:
        out["prompt_tokens_details"] = details
    thought = usage.get("output_tokens_details")
    if isinstance(thought, dict) and thought.keys() == {"thinking_tokens"}:
        out["completion_tokens_details"] = {"reasoning_tokens": thought["thinking_tokens"]}
    rest = {name: value for name, value in usage.items() if name not in _NATIVE | _CHAT}
    return {**out, **rest}


def native_usage(usage: Any) -> dict[str, Any]:
    """Give a chat completion's usage as Anthropic's; zeros when it is missing or not sane, since clients rely on it."""
    found = read_usage(usage)
    if found is None:
        return dict(NOTHING)
    details = _object(usage.get("prompt_tokens_details"))
    out: dict[str, Any] = {
        "input_tokens": found.prompt_tokens - found.cached_tokens - found.written_tokens,
    }
    for name, told, count in (
        ("cache_read_input_tokens", "cached_tokens", found.cached_tokens),
        ("cache_creation_input_tokens", "cache_write_tokens", found.written_tokens),
    ):
        if told in details or count:
            out[name] = count if details.get(told, count) is not None else None
    out["output_tokens"] = found.completion_tokens
    if _object(usage.get("completion_tokens_details")).get("reasoning_tokens") is not None:
        out["output_tokens_details"] = {"thinking_tokens": found.reasoning_tokens}
    rest = {name: value for name, value in usage.items() if name not in _NATIVE | _CHAT}
    return {**out, **rest}


def free(usage: Any) -> dict[str, Any]:
    """Give the usage of a replay: nothing was spent; what the first answer cost, if known, stands beside."""
    return {**_FREE, "semcache_saved": usage} if isinstance(usage, dict) else dict(_FREE)


def merged(before: Mapping[str, Any], usage: Any) -> dict[str, Any]:
    """Give counts after a later word: counts are cumulative, so the last one holds; what it leaves out stays."""
    out = dict(before)
    for name, value in usage.items() if isinstance(usage, dict) else ():
        if value is not None or name not in out:
            out[name] = value
    return out


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
