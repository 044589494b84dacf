"""What the cache may do with a request: every reason word, every boundary."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Completion, Directives, Mode
from semcache.decide.admission import bypass, lifetime, may_match, may_read, may_store
from semcache.decide.answer_tiers import may_store_answer
from tests.decide.build import policy, request

NO_WISH = Directives()


@pytest.mark.parametrize(
    ("ours", "theirs", "wish", "reason"),
    [
        ({}, {}, NO_WISH, None),
        ({"mode": Mode.OFF}, {}, NO_WISH, "policy-off"),
        ({"mode": Mode.SHADOW}, {}, NO_WISH, None),
        ({}, {}, Directives(mode="off"), "asked-off"),
        ({}, {}, Directives(mode="exact"), None),
        ({}, {}, Directives(no_read=True, no_store=True), "no-cache-no-store"),
        ({}, {}, Directives(no_read=True), None),
        ({}, {}, Directives(no_store=True), None),
        ({}, {"uncacheable": "audio"}, NO_WISH, "uncacheable"),
        ({}, {"temperature": 0.3}, NO_WISH, None),
        ({}, {"temperature": math.nextafter(0.3, 1)}, NO_WISH, "temperature"),
        ({}, {"temperature": math.nan}, NO_WISH, "temperature"),
        ({"max_temperature": 0.0}, {"temperature": 0.0}, NO_WISH, None),
        ({}, {"temperature": None}, NO_WISH, None),
        ({"allow_default_temperature": False}, {"temperature": None}, NO_WISH, "default-temperature"),
        ({"allow_tools": False}, {"exact_only": "tools"}, NO_WISH, "tools"),
        ({"allow_tools": False}, {"exact_only": "n", "body": {"tools": [{}]}}, NO_WISH, "tools"),
        ({"allow_tools": False}, {"body": {"functions": [{}]}}, NO_WISH, "tools"),
        ({"allow_tools": False}, {"body": {"tools": []}}, NO_WISH, None),
        ({}, {"exact_only": "tools"}, NO_WISH, None),
    ],
)
def test_bypass(ours: dict[str, Any], theirs: dict[str, Any], wish: Directives, reason: str | None) -> None:
    assert bypass(policy(**ours), request(**theirs), wish) == reason


@pytest.mark.parametrize(
    ("mode", "wish", "reason"),
    [(Mode.SEMANTIC, NO_WISH, None), (Mode.OFF, NO_WISH, "policy-off"), (Mode.EXACT, Directives(no_read=True), "no-cache"),
     (Mode.EXACT, Directives(no_store=True), None)],
)  # fmt: skip
def test_may_read(mode: Mode, wish: Directives, reason: str | None) -> None:
    assert may_read(policy(mode=mode), wish) == reason


@pytest.mark.parametrize(
    ("ours", "theirs", "wish", "reason"),
    [
        ({}, {}, NO_WISH, None),
        ({"mode": Mode.SHADOW}, {}, NO_WISH, None),
        ({"mode": Mode.EXACT}, {}, NO_WISH, "exact-only"),
        ({"mode": Mode.OFF}, {}, NO_WISH, "exact-only"),
        ({}, {}, Directives(mode="exact"), "exact-only"),
        ({}, {}, Directives(mode="draft"), None),
        ({}, {"exact_only": "seed"}, NO_WISH, "exact-only"),
        ({}, {"prompt": None}, NO_WISH, "no-prompt"),
        ({}, {"prompt": " \n"}, NO_WISH, "no-prompt"),
        ({}, {"user_turns": 2}, NO_WISH, "long-conversation"),
        ({"max_user_turns": 2}, {"user_turns": 2}, NO_WISH, None),
        ({"max_user_turns": 0}, {"user_turns": 1}, NO_WISH, "long-conversation"),
    ],
)
def test_may_match(
    ours: dict[str, Any], theirs: dict[str, Any], wish: Directives, reason: str | None
) -> None:
    assert may_match(policy(**ours), request(**theirs), wish) == reason


@pytest.mark.parametrize(
    ("ours", "theirs", "wish", "reason"),
    [
        ({}, {}, NO_WISH, None),
        ({"mode": Mode.OFF}, {}, NO_WISH, "policy-off"),
        ({"store": False}, {}, NO_WISH, "no-store"),
        ({}, {}, Directives(no_store=True), "no-store"),
        ({}, {}, Directives(no_read=True), None),
        ({}, {"uncacheable": "audio"}, NO_WISH, "uncacheable"),
        ({"ttl": 0.0}, {}, NO_WISH, "no-lifetime"),
        ({"ttl_jitter": 1.0}, {}, NO_WISH, None),
        ({}, {}, Directives(ttl=0.0), "no-lifetime"),
        ({}, {}, Directives(ttl=1.0), None),
    ],
)
def test_may_store(
    ours: dict[str, Any], theirs: dict[str, Any], wish: Directives, reason: str | None
) -> None:
    assert may_store(policy(**ours), request(**theirs), wish) == reason


@pytest.mark.parametrize(
    ("jitter", "wish", "seconds"),
    [(0.0, None, 90.0), (0.5, None, 100.0), (1.0, None, 110.0), (-5.0, None, 90.0), (9.0, None, 110.0), (0.5, 40.0, 40.0),
     (0.5, 100.0, 100.0), (0.0, 95.0, 90.0), (1.0, 1e9, 110.0), (0.5, 0.0, 0.0), (0.5, -1.0, 0.0), (0.5, math.nan, 0.0)],
)  # fmt: skip
def test_lifetime(jitter: float, wish: float | None, seconds: float) -> None:
    found = lifetime(policy(ttl=100.0, ttl_jitter=0.1), Directives(ttl=wish), jitter)
    assert found == pytest.approx(seconds)


@given(st.floats(0, 1e9), st.floats(0, 1), st.floats(0, 1), st.one_of(st.none(), st.floats()))
def test_a_client_only_shortens(ttl: float, spread: float, jitter: float, wish: float | None) -> None:
    ours = policy(ttl=ttl, ttl_jitter=spread)
    found = lifetime(ours, Directives(ttl=wish), jitter)
    assert 0 <= found <= lifetime(ours, NO_WISH, jitter)
    assert wish is None or not wish >= 0 or found <= wish


@pytest.mark.parametrize(
    ("completion", "ours", "reason"),
    [
        (Completion(b'{"a":1}', None), {}, None),
        (Completion(b" {} ", None), {}, "empty-answer"),
        (Completion(b"", None), {}, "empty-answer"),
        (Completion(b'{"a":1}', None), {"max_entry_bytes": 7}, None),
        (Completion(b'{"a":1}', None), {"max_entry_bytes": 6}, "too-large"),
        (Completion(b'{"a":1}', None, chunks=b"[1]"), {"max_entry_bytes": 9}, "too-large"),
        (Completion(b'{"a":1}', None, has_tool_calls=True), {}, "tools"),
        (Completion(b'{"a":1}', None, has_tool_calls=True), {"store_tool_calls": True}, None),
        (
            Completion(b'{"a":1}', None, has_tool_calls=True),
            {"store_tool_calls": True, "allow_tools": False},
            "tools",
        ),
    ],
)
def test_may_store_answer(completion: Completion, ours: dict[str, Any], reason: str | None) -> None:
    assert may_store_answer(policy(**ours), request(), completion) == reason
