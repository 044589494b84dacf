"""Token counts in every dialect: OpenAI (chat and responses), Anthropic, Gemini, Ollama, DeepSeek, Langfuse. Pure.

Absent, negative and senseless counts make no usage, rather than a wrong one.
"""

from __future__ import annotations

from typing import Any

from semcache.advise.formats.fields import Fields, count, object_in
from semcache.records import Usage

_INPUT = (
    "prompt_tokens",
    "input_tokens",
    "promptTokens",
    "inputTokens",
    "input",
    "prompt_eval_count",
    "promptTokenCount",
    "prompt_token_count",
)
_OUTPUT = (
    "completion_tokens",
    "output_tokens",
    "completionTokens",
    "outputTokens",
    "output",
    "eval_count",
    "candidatesTokenCount",
    "candidates_token_count",
)
_DETAILS = (
    "prompt_tokens_details",
    "input_tokens_details",
    "input_token_details",
    "completion_tokens_details",
    "output_tokens_details",
    "output_token_details",
)
_CACHED = (
    "cached_tokens",
    "cache_read",
    "prompt_cache_hit_tokens",
    "cachedContentTokenCount",
    "cached_content_token_count",
    "input_cached_tokens",
    "cached_input_tokens",
)
_WRITTEN = ("cache_write_tokens", "cache_creation", "input_cache_creation")
_BESIDE = ("cache_read_input_tokens", "input_cache_read")
_WRITTEN_BESIDE = ("cache_creation_input_tokens", "input_cache_creation")
_REASONING = (
    "reasoning_tokens",
    "reasoning",
    "thoughtsTokenCount",
    "output_reasoning_tokens",
    "output_reasoning",
)


def usage_in(value: Any) -> Usage | None:
    """Read a usage object of any dialect; None when it does not say what went in and what came out."""
    if not isinstance(value, dict):
        return None
    total_in, total_out = _one_of(value, _INPUT), _one_of(value, _OUTPUT)
    if total_in is None or total_out is None:
        return None
    flat = _flat(value)
    if _is_apart(value):
        return _apart(value, flat, total_in, total_out)
    cached, written = _one_of(flat, _CACHED) or 0, _one_of(flat, _WRITTEN) or 0
    thoughts = count(value.get("thoughtsTokenCount")) or 0
    total_out += thoughts
    reasoning = _one_of(flat, _REASONING) or 0
    cached = min(cached, total_in)
    return Usage(
        total_in,
        total_out,
        cached,
        min(written, total_in - cached),
        reasoning_tokens=min(reasoning, total_out),
    )


def _is_apart(value: Fields) -> bool:
    """Anthropic counts what was cached beside the input; so does Langfuse, whose total says so."""
    if "prompt_tokens" in value or "prompt_tokens_details" in value:
        return False
    return any(
        name in value for name in (*_BESIDE, *_WRITTEN_BESIDE, "input_cached_tokens", "cache_creation")
    )


def _apart(value: Fields, flat: Fields, fresh: int, output: int) -> Usage:
    cached = _one_of(value, (*_BESIDE, "input_cached_tokens")) or 0
    by_life = object_in(value, "cache_creation")
    long = count(by_life.get("ephemeral_1h_input_tokens")) or 0
    written = _one_of(value, _WRITTEN_BESIDE)
    if written is None:
        written = long + (count(by_life.get("ephemeral_5m_input_tokens")) or 0)
    reasoning = _one_of(flat, _REASONING) or 0
    return Usage(
        fresh + cached + written, output, cached, written, min(long, written), min(reasoning, output)
    )


def _one_of(value: Fields, names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in value and (found := count(value[name])) is not None:
            return found
    return None


def _flat(value: Fields) -> Fields:
    details = [object_in(value, name) for name in _DETAILS if name in value]
    if not details:
        return value
    found = dict(value)
    for inner in details:
        found = {**inner, **found}
    return found
