"""What a client asks for: honoured where it is stricter, ignored where it is not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import CachePolicy, Directives, Mode, Scope
from semcache.policy.directives import apply, wishes_of
from semcache.policy.effective import domain_policy
from tests.policy.samples import TWO_DOMAINS, chat, source
from tests.policy.test_match import is_not_looser

CHAT = domain_policy(source(TWO_DOMAINS).policy, "chat", "g")
PRIVATE = domain_policy(source(TWO_DOMAINS).policy, "private", "g")
CODE = domain_policy(source(TWO_DOMAINS).policy, "code", "g")


def wished(policy: CachePolicy, end_user: str = "", **asked: object) -> CachePolicy:
    return apply(policy, wishes_of(chat(end_user=end_user), Directives(**asked)))


def test_no_wishes_change_nothing() -> None:
    assert wished(CHAT) is CHAT


@pytest.mark.parametrize("asked", [0.5, 0.0, -1.0, 0.85, None, math.nan, -math.inf])
def test_a_lower_threshold_changes_nothing(asked: float | None) -> None:
    assert wished(CHAT, threshold=asked) == CHAT


def test_a_threshold_inside_the_bands_raises_only_what_lies_below() -> None:
    after = wished(CHAT, threshold=0.91)
    assert (after.threshold, after.verified_threshold, after.draft_threshold) == (0.92, 0.91, 0.91)


@pytest.mark.parametrize("asked", [0.97, 1.0])
def test_a_higher_threshold_is_honoured_everywhere(asked: float) -> None:
    after = wished(CHAT, threshold=asked)
    assert (after.threshold, after.verified_threshold, after.draft_threshold) == (asked,) * 3


def test_wishes_leave_the_scale_of_an_encoder_without_a_table_alone() -> None:
    assert CHAT.curves_of("house") == (((0.94, 0.85), (0.96, 0.90), (0.97, 0.92)),)
    for asked in (0.5, 0.91, 0.93):
        assert wished(CHAT, threshold=asked).encoder_scales == CHAT.encoder_scales
    assert CHAT.curves_of("another") == ()


@pytest.mark.parametrize(
    ("asked", "mode"), [("auto", Mode.SEMANTIC), ("", Mode.SEMANTIC), ("exact", Mode.EXACT), ("off", Mode.OFF), ("semantic", Mode.SEMANTIC)]
)  # fmt: skip
def test_modes(asked: str, mode: Mode) -> None:
    assert wished(CHAT, mode=asked).mode is mode


def test_a_client_never_turns_shadow_into_serving() -> None:
    shadow = replace(CHAT, mode=Mode.SHADOW)
    assert wished(shadow, mode="exact").mode is Mode.SHADOW
    assert wished(CODE, mode="auto").mode is Mode.EXACT


def test_mode_draft_serves_nothing_by_meaning_but_keeps_the_drafts() -> None:
    after = wished(CHAT, mode="draft")
    assert after.threshold > 1.0
    assert after.verified_threshold > 1.0
    assert after.draft_threshold == CHAT.draft_threshold


@pytest.mark.parametrize(
    ("asked", "ttl", "store"),
    [(60.0, 60.0, True), (1e9, 86_400.0, True), (math.inf, 86_400.0, True), (math.nan, 86_400.0, True), (0.0, 0.0, False), (-5.0, 0.0, False), (-math.inf, 0.0, False)],
)  # fmt: skip
def test_lifetimes(asked: float, ttl: float, store: bool) -> None:
    after = wished(CHAT, ttl=asked)
    assert (after.ttl, after.store) == (ttl, store)


@pytest.mark.parametrize(
    ("policy_age", "asked", "age"),
    [(None, 10.0, 10.0), (None, None, None), (None, math.nan, None), (60.0, 10.0, 10.0), (60.0, 600.0, 60.0), (60.0, None, 60.0), (None, 0.0, 0.0), (60.0, -1.0, 0.0)],
)  # fmt: skip
def test_greatest_ages(policy_age: float | None, asked: float | None, age: float | None) -> None:
    assert wished(replace(CHAT, max_age=policy_age), max_age=asked).max_age == age


def test_no_store_and_user() -> None:
    assert wished(CHAT, no_store=True).store is False
    assert wished(CHAT, user="u1").scope is Scope.USER
    assert wished(CHAT, end_user="u1").scope is Scope.TENANT


def test_scope_user_without_a_user_closes_the_cache() -> None:
    assert wished(PRIVATE).mode is Mode.OFF
    assert wished(PRIVATE, end_user="u1").mode is Mode.SEMANTIC
    assert wished(PRIVATE, user="u1").mode is Mode.SEMANTIC


anything = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@given(
    st.sampled_from([CHAT, PRIVATE, CODE]),
    st.builds(
        Directives,
        mode=st.sampled_from(["auto", "exact", "draft", "off", "semantic", "?"]),
        ttl=anything,
        threshold=anything,
        max_age=anything,
        no_store=st.booleans(),
        user=st.sampled_from(["", "u"]),
    ),
    st.sampled_from(["", "u"]),
)
def test_no_wish_ever_loosens_a_knob(policy: CachePolicy, directives: Directives, end_user: str) -> None:
    after = apply(policy, wishes_of(chat(end_user=end_user), directives))
    verdict = is_not_looser(after, policy)
    assert all(verdict.values()), verdict
    assert apply(after, wishes_of(chat(end_user=end_user), directives)) == after
