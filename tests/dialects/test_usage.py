"""Token counts of every dialect, sane and hostile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from genai_prices import extract_usage
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Usage
from semcache.dialects.usage import (
    read_anthropic,
    read_any,
    read_bedrock,
    read_gemini,
    read_ollama,
    read_responses,
    read_usage,
    zeroed,
)

Reader = Callable[[Any], Usage | None]

CASES: dict[str, tuple[Reader, dict[str, Any], Usage]] = {
    "chat": (
        read_usage,
        {
            "prompt_tokens": 10_000,
            "completion_tokens": 100,
            "total_tokens": 10_100,
            "prompt_tokens_details": {"cached_tokens": 8_000, "cache_write_tokens": 500},
            "completion_tokens_details": {"reasoning_tokens": 40},
        },
        Usage(10_000, 100, 8_000, 500, 0, 40),
    ),
    "embedding": (read_usage, {"prompt_tokens": 8, "total_tokens": 8}, Usage(8, 0)),
    "no-details": (
        read_usage,
        {"prompt_tokens": 8, "completion_tokens": 2, "prompt_tokens_details": None},
        Usage(8, 2),
    ),
    "deepseek": (
        read_usage,
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
        },
        Usage(100, 5, 64),
    ),
    "moonshot": (
        read_usage,
        {"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 64},
        Usage(100, 5, 64),
    ),
    "xai": (
        read_usage,
        {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "total_tokens": 55,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        Usage(20, 35, reasoning_tokens=30),
    ),
    "litellm": (
        read_usage,
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 20,
        },
        Usage(100, 5, 60, 20),
    ),
    "responses": (
        read_responses,
        {
            "input_tokens": 500,
            "input_tokens_details": {"cached_tokens": 400, "cache_write_tokens": 10},
            "output_tokens": 90,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 590,
        },
        Usage(500, 90, 400, 10, 0, 64),
    ),
    "anthropic": (
        read_anthropic,
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 64,
            "cache_creation_input_tokens": 7,
            "output_tokens": 3,
        },
        Usage(76, 3, 64, 7),
    ),
    "anthropic-lives": (
        read_anthropic,
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            "output_tokens": 3,
            "output_tokens_details": {"thinking_tokens": 2},
        },
        Usage(35, 3, 0, 30, 20, 2),
    ),
    "anthropic-sum-left-out": (
        read_anthropic,
        {"input_tokens": 5, "cache_creation": {"ephemeral_1h_input_tokens": 20}, "output_tokens": 3},
        Usage(25, 3, 0, 20, 20),
    ),
    "anthropic-plain": (read_anthropic, {"input_tokens": 5, "output_tokens": 3}, Usage(5, 3)),
    "bedrock": (
        read_bedrock,
        {"inputTokens": 5, "cacheReadInputTokens": 64, "cacheWriteInputTokens": 7, "outputTokens": 3},
        Usage(76, 3, 64, 7),
    ),
    "gemini": (
        read_gemini,
        {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 60,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 30,
            "totalTokenCount": 150,
        },
        Usage(100, 50, 60, 0, 0, 30),
    ),
    "gemini-tools": (
        read_gemini,
        {"promptTokenCount": 100, "toolUsePromptTokenCount": 11, "candidatesTokenCount": 20},
        Usage(111, 20),
    ),
    "gemini-nothing-said": (read_gemini, {"promptTokenCount": 100}, Usage(100, 0)),
    "ollama": (
        read_ollama,
        {"model": "llama3.2", "done": True, "prompt_eval_count": 26, "eval_count": 298},
        Usage(26, 298),
    ),
    "ollama-embedding": (read_ollama, {"embeddings": [[0.1]], "prompt_eval_count": 8}, Usage(8, 0)),
}
THEIRS = {
    "chat": ("openai", "chat", "gpt-4o", "usage"),
    "embedding": ("openai", "embeddings", "text-embedding-3-small", "usage"),
    "responses": ("openai", "responses", "gpt-4o", "usage"),
    "anthropic": ("anthropic", "default", "claude-sonnet-4-5", "usage"),
    "anthropic-lives": ("anthropic", "default", "claude-sonnet-4-5", "usage"),
    "gemini": ("google", "default", "gemini-2.5-pro", "usageMetadata"),
    "gemini-tools": ("google", "default", "gemini-2.5-pro", "usageMetadata"),
    "xai": ("x-ai", "chat", "grok-3", "usage"),
}
NAMES = sorted({name for _, usage, _ in CASES.values() for name in usage})
HOSTILE: tuple[Any, ...] = (-1, -(2**70), 2**70, 1e300, math.nan, math.inf, 3.5, True, "7", [], {}, None)
anything = st.one_of(
    st.sampled_from(HOSTILE),
    st.integers(),
    st.integers(0, 2**31),
    st.dictionaries(
        st.sampled_from(
            [
                "cached_tokens",
                "cache_write_tokens",
                "reasoning_tokens",
                "ephemeral_1h_input_tokens",
                "thinking_tokens",
            ]
        ),
        st.integers() | st.sampled_from(HOSTILE),
        max_size=3,
    ),
)


@pytest.mark.parametrize("name", CASES)
def test_a_dialect_is_read(name: str) -> None:
    reader, usage, expected = CASES[name]
    read = reader(usage)
    assert read == expected
    assert read is not None
    assert not read.is_odd


@pytest.mark.parametrize("name", CASES)
def test_a_dialect_is_known_by_its_fields(name: str) -> None:
    _, usage, expected = CASES[name]
    if name != "anthropic-sum-left-out":
        assert read_any(usage) == expected


@pytest.mark.parametrize("name", THEIRS)
def test_genai_prices_reads_the_same(name: str) -> None:
    provider, flavor, model, field = THEIRS[name]
    _, usage, expected = CASES[name]
    reply = {"model": model, "modelVersion": model, field: usage}
    theirs = extract_usage(reply, provider_id=provider, api_flavor=flavor).usage
    ours = (
        expected.prompt_tokens,
        expected.completion_tokens,
        expected.cached_tokens,
        expected.written_tokens,
        expected.written_long_tokens,
        expected.reasoning_tokens,
    )
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cache_write_1h_tokens",
        "output_reasoning_tokens",
    )
    assert ours == tuple(theirs.reported_value(name) for name in names)


def test_fc_062_cached_tokens_are_a_part_or_come_on_top_and_both_give_one_total() -> None:
    openai = read_usage(
        {"prompt_tokens": 10_000, "prompt_tokens_details": {"cached_tokens": 8_000}, "completion_tokens": 100}
    )
    anthropic = read_anthropic(
        {"input_tokens": 2_000, "cache_read_input_tokens": 8_000, "output_tokens": 100}
    )
    for read in (openai, anthropic):
        assert read is not None
        assert (read.prompt_tokens, read.cached_tokens) == (10_000, 8_000)
        assert read.prompt_tokens - read.cached_tokens == 2_000
        assert read.cached_tokens / read.prompt_tokens == 0.8
        assert not read.is_odd


@pytest.mark.parametrize(
    ("reader", "usage", "expected"),
    [
        (
            read_usage,
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 99}},
            Usage(10, 5, 10),
        ),
        (
            read_usage,
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": -3}},
            Usage(10, 5),
        ),
        (
            read_usage,
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 8},
            },
            Usage(10, 5, 8, 2),
        ),
        (
            read_usage,
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 9},
            },
            Usage(10, 5, reasoning_tokens=5),
        ),
        (
            read_usage,
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 4,
                "prompt_cache_miss_tokens": 4,
            },
            Usage(10, 5, 4),
        ),
        (
            read_anthropic,
            {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": "8"},
            Usage(1, 1),
        ),
        (
            read_anthropic,
            {
                "input_tokens": 1,
                "output_tokens": 1,
                "cache_creation_input_tokens": 4,
                "cache_creation": {"ephemeral_1h_input_tokens": 9},
            },
            Usage(5, 1, 0, 4, 4),
        ),
        (
            read_gemini,
            {"promptTokenCount": 4, "cachedContentTokenCount": 5, "candidatesTokenCount": 1},
            Usage(4, 1, 4),
        ),
    ],
)
def test_what_does_not_fit_is_cut_and_flagged(reader: Reader, usage: dict[str, Any], expected: Usage) -> None:
    read = reader(usage)
    assert read == expected
    assert read is not None
    assert read.is_odd


@pytest.mark.parametrize("bad", [value for value in HOSTILE if value is not None], ids=repr)
@pytest.mark.parametrize(
    ("reader", "usage"),
    [
        (read_usage, {"prompt_tokens": 1, "completion_tokens": 1}),
        (read_responses, {"input_tokens": 1, "output_tokens": 1}),
        (read_anthropic, {"input_tokens": 1, "output_tokens": 1}),
        (read_bedrock, {"inputTokens": 1, "outputTokens": 1}),
        (read_gemini, {"promptTokenCount": 1, "candidatesTokenCount": 1}),
        (read_ollama, {"prompt_eval_count": 1, "eval_count": 1}),
    ],
    ids=["chat", "responses", "anthropic", "bedrock", "gemini", "ollama"],
)
def test_a_count_that_is_none_makes_all_unknown(reader: Reader, usage: dict[str, Any], bad: Any) -> None:
    for name in usage:
        assert reader({**usage, name: bad}) is None


@pytest.mark.parametrize("what", [None, [], "usage", 7, True, {}, {"total_tokens": 5}], ids=repr)
@pytest.mark.parametrize(
    "reader",
    [read_usage, read_responses, read_anthropic, read_bedrock, read_gemini, read_ollama, read_any],
)
def test_what_is_no_usage_is_none(reader: Reader, what: Any) -> None:
    assert reader(what) is None


@given(st.dictionaries(st.sampled_from(NAMES), anything))
def test_nothing_is_negative_and_no_part_exceeds_its_whole(usage: dict[str, Any]) -> None:
    for reader in (
        read_usage,
        read_responses,
        read_anthropic,
        read_bedrock,
        read_gemini,
        read_ollama,
        read_any,
    ):
        read = reader(usage)
        if read is None:
            continue
        assert 0 <= read.cached_tokens + read.written_tokens <= read.prompt_tokens <= 2**31
        assert 0 <= read.written_long_tokens <= read.written_tokens
        assert 0 <= read.reasoning_tokens <= read.completion_tokens <= 2**31
        assert min(read.cached_tokens, read.written_tokens) >= 0


def test_a_replay_has_spent_nothing() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    assert zeroed(usage) == {
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "total_tokens": 0,
        "semcache_saved": usage,
    }
    assert "semcache_saved" not in zeroed(None)
