"""Token counts as logs have them: in every dialect, as those read them, and under Langfuse's own names. Pure.

Absent, negative and senseless counts make no usage, rather than a wrong one.
"""

from __future__ import annotations

from typing import Any

from semcache.advise.formats.fields import Fields, count, first
from semcache.dialects.usage import read_any
from semcache.records import Usage

_ALIASES = {
    "promptTokens": "prompt_tokens",
    "completionTokens": "completion_tokens",
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "input": "prompt_tokens",
    "output": "completion_tokens",
    "prompt_token_count": "promptTokenCount",
    "candidates_token_count": "candidatesTokenCount",
    "cached_content_token_count": "cachedContentTokenCount",
    "thoughts_token_count": "thoughtsTokenCount",
    "tool_use_prompt_token_count": "toolUsePromptTokenCount",
}
"""Other spellings of the dialects' names."""
_NAMES = frozenset(
    ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count", "eval_count", *_ALIASES)
)
"""One of these is in every object that tells counts."""
_LONGEST = 20
_BESIDE = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
_WRITTEN = ("input_cache_creation", "cache_creation_input_tokens")
_REASONING = ("output_reasoning_tokens", "output_reasoning")


def usage_in(value: Any) -> Usage | None:
    """Read a usage object of any dialect; None when it does not say what went in and what came out."""
    if not isinstance(value, dict):
        return None
    if "input" in value and "output" in value and "input_tokens" not in value:
        return _of_langfuse(value)
    return None if value.keys().isdisjoint(_NAMES) else read_any(_tidied(value))


def usage_of_answer(answer: Fields) -> Usage | None:
    """Read what an answer says of itself: under `usage`, under Gemini's name, or among its fields (Ollama)."""
    return usage_in(first(answer, "usage", "usageMetadata", "usage_metadata") or answer)


def _of_langfuse(value: Fields) -> Usage | None:
    """Langfuse counts what was cached beside the input, as its total says."""
    fresh, output = count(value["input"]), count(value["output"])
    if fresh is None or output is None:
        return None
    cached, written = count(first(value, *_BESIDE)) or 0, count(first(value, *_WRITTEN)) or 0
    reasoning = count(first(value, *_REASONING)) or 0
    return Usage(fresh + cached + written, output, cached, written, reasoning_tokens=min(reasoning, output))


def _tidied(value: Fields) -> dict[str, Any]:
    """Give counts as whole numbers: logs write them as texts and fractions too."""
    tidy: dict[str, Any] = {}
    for name, given in value.items():
        counted = {key: _counted(inner) for key, inner in given.items()} if isinstance(given, dict) else None
        tidy[_ALIASES.get(name, name)] = _counted(given) if counted is None else counted
    return tidy


def _counted(value: Any) -> Any:
    is_text = isinstance(value, str) and len(value) <= _LONGEST
    found = count(value) if is_text or isinstance(value, float) else None
    return value if found is None else found
