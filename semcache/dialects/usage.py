"""Token counts as upstreams write them, read into one shape: Chat Completions, Responses, Anthropic, Gemini, Ollama, Bedrock.

Pure. They differ in what a number means: most count cached tokens into the input, Anthropic and Bedrock beside it; Gemini counts
thoughts beside the output, others into it. Counts are hostile: one that must be there and is not sane makes the whole unknown, a part that
is not sane counts as 0, parts larger than their whole are cut, and `Usage.is_odd` says so. Prices and savings are counted elsewhere.
"""

from __future__ import annotations

from typing import Any

from semcache.core import Usage

_MOST = 2**31
"""Beyond this a count is nonsense, and sums of many would outgrow what stores can add up."""

_CACHED = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # DeepSeek
    ("cached_tokens",),  # Moonshot
    ("cache_read_input_tokens",),  # LiteLLM
)
_WRITTEN = (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens",))
_SHORT_WRITE = ("cache_creation", "ephemeral_5m_input_tokens")
_LONG_WRITE = ("cache_creation", "ephemeral_1h_input_tokens")


def read_usage(usage: Any) -> Usage | None:
    """Read the `usage` of a chat completion, text completion or embedding; None when it is missing or not sane."""
    if not isinstance(usage, dict):
        return None
    counts = _Counts(usage)
    prompt, completion = counts.must("prompt_tokens"), counts.must("completion_tokens")
    if completion is None and "completion_tokens" not in usage and usage.get("total_tokens") == prompt:
        completion = 0  # an embedding
    if prompt is None or completion is None:
        return None
    reasoning = counts.part(("completion_tokens_details", "reasoning_tokens"))
    if reasoning and usage.get("total_tokens") == prompt + completion + reasoning:
        completion += reasoning  # xAI counts it beside the answer
    cached = counts.part(*_CACHED)
    if "prompt_cache_miss_tokens" in usage and cached + counts.part(("prompt_cache_miss_tokens",)) != prompt:
        counts.is_odd = True
    long = counts.part(_LONG_WRITE)
    return _usage(prompt, completion, (cached, counts.part(*_WRITTEN), long, reasoning), odd=counts.is_odd)


def read_responses(usage: Any) -> Usage | None:
    """Read the `usage` of OpenAI's Responses: cached and written tokens are parts of the input."""
    if not isinstance(usage, dict):
        return None
    counts = _Counts(usage)
    prompt, completion = counts.must("input_tokens"), counts.must("output_tokens")
    if prompt is None or completion is None:
        return None
    cached = counts.part(("input_tokens_details", "cached_tokens"))
    written = counts.part(("input_tokens_details", "cache_write_tokens"))
    reasoning = counts.part(("output_tokens_details", "reasoning_tokens"))
    return _usage(prompt, completion, (cached, written, 0, reasoning), odd=counts.is_odd)


def read_anthropic(usage: Any) -> Usage | None:
    """Read the `usage` of Anthropic's Messages: cached and written tokens come on top of `input_tokens`."""
    if not isinstance(usage, dict):
        return None
    counts = _Counts(usage)
    fresh, completion = counts.must("input_tokens"), counts.must("output_tokens")
    if fresh is None or completion is None:
        return None
    cached = counts.part(("cache_read_input_tokens",))
    short, long = counts.part(_SHORT_WRITE), counts.part(_LONG_WRITE)
    written = counts.part(("cache_creation_input_tokens",))
    if short + long not in (0, written):
        # Older proxies drop the sum; with both, the sum is what is billed.
        counts.is_odd = counts.is_odd or written > 0
        written = written or short + long
    reasoning = counts.part(("output_tokens_details", "thinking_tokens"))
    parts = (cached, written, long, reasoning)
    return _usage(fresh + cached + written, completion, parts, odd=counts.is_odd)


def read_bedrock(usage: Any) -> Usage | None:
    """Read the `usage` of Bedrock's Converse: as Anthropic counts."""
    if not isinstance(usage, dict):
        return None
    counts = _Counts(usage)
    fresh, completion = counts.must("inputTokens"), counts.must("outputTokens")
    if fresh is None or completion is None:
        return None
    cached = counts.part(("cacheReadInputTokens",))
    written = counts.part(("cacheWriteInputTokens",))
    return _usage(fresh + cached + written, completion, (cached, written, 0, 0), odd=counts.is_odd)


def read_gemini(usage: Any) -> Usage | None:
    """Read Gemini's `usageMetadata`: cached tokens are part of the prompt, thoughts come on top of the candidates."""
    if not isinstance(usage, dict):
        return None
    counts = _Counts(usage)
    prompt = counts.must("promptTokenCount")
    if prompt is None:
        return None
    prompt += counts.part(("toolUsePromptTokenCount",))
    thoughts = counts.part(("thoughtsTokenCount",))
    # Counts of 0 are left out.
    completion = counts.must("candidatesTokenCount") if usage.get("candidatesTokenCount") is not None else 0
    if completion is None:
        return None
    cached = counts.part(("cachedContentTokenCount",))
    return _usage(prompt, completion + thoughts, (cached, 0, 0, thoughts), odd=counts.is_odd)


def read_ollama(reply: Any) -> Usage | None:
    """Read the counts in an Ollama reply (its last object): they stand among the other fields, those of 0 are left out."""
    if not isinstance(reply, dict) or not ("prompt_eval_count" in reply or "eval_count" in reply):
        return None
    counts = _Counts(reply)
    prompt = counts.must("prompt_eval_count") if "prompt_eval_count" in reply else 0
    completion = counts.must("eval_count") if "eval_count" in reply else 0
    if prompt is None or completion is None:
        return None
    return _usage(prompt, completion, (0, 0, 0, 0), odd=counts.is_odd)


def read_any(usage: Any) -> Usage | None:
    """Read a usage object whose dialect nobody named, by the fields that it has."""
    if not isinstance(usage, dict):
        return None
    if "prompt_tokens" in usage:
        return read_usage(usage)
    if "promptTokenCount" in usage:
        return read_gemini(usage)
    if "inputTokens" in usage:
        return read_bedrock(usage)
    if "input_tokens" in usage:
        is_anthropic = any(name.startswith("cache_") for name in usage if isinstance(name, str))
        return read_anthropic(usage) if is_anthropic else read_responses(usage)
    return read_ollama(usage)


def zeroed(usage: Any) -> dict[str, Any]:
    """Give the usage of a replay: nothing was spent; what the first answer cost, if known, stands beside."""
    nothing: dict[str, Any] = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return nothing | {"semcache_saved": usage} if isinstance(usage, dict) else nothing


class _Counts:
    """Reads the counts of one object; `is_odd` once a part of it was not sane."""

    def __init__(self, usage: dict[str, Any]) -> None:
        self._usage = usage
        self.is_odd = False

    def must(self, name: str) -> int | None:
        """Give a count that has to be there; None: it is not, or not sane."""
        return _count(self._usage.get(name))

    def part(self, *paths: tuple[str, ...]) -> int:
        """Give the first of these that is there, 0 without any."""
        for path in paths:
            value: Any = self._usage
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                count = _count(value)
                self.is_odd = self.is_odd or count is None
                return count or 0
        return 0


def _usage(prompt: int, completion: int, parts: tuple[int, int, int, int], *, odd: bool) -> Usage | None:
    """Put counts together; `parts` are cached, written, of it for long, and reasoning. None: too large altogether."""
    if prompt > _MOST or completion > _MOST:
        return None
    cached = min(parts[0], prompt)
    written = min(parts[1], prompt - cached)
    long, reasoning = min(parts[2], written), min(parts[3], completion)
    cut = (cached, written, long, reasoning) != parts
    return Usage(prompt, completion, cached, written, long, reasoning, is_odd=odd or cut)


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        return None
    return value
