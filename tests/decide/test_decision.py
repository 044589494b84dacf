"""The decision: bars, order of candidates, what is skipped, what becomes a draft."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import (
    Directives,
    Draft,
    Effect,
    Entry,
    GateRules,
    Hit,
    Miss,
    Mode,
    ReviewStatus,
    TenantId,
)
from semcache.decide.decision import Candidate, bars, decide
from semcache.decide.reasons import Reason
from semcache.review_rules import PUBLIC
from tests.decide.build import ASKED, NOW, candidate, entry, policy


def run(
    *candidates: Candidate, asked: str = ASKED, directives: Directives | None = None, **changes: Any
) -> Hit | Draft | Miss:
    return decide(policy(**changes), directives or Directives(), asked, candidates, NOW, None)


def served(decision: Hit | Draft | Miss) -> str:
    return decision.entry.id if isinstance(decision, Hit) else ""


@pytest.mark.parametrize(
    ("similarity", "kind"),
    [
        (1.0, Hit), (0.951, Hit), (0.95, Hit), (math.nextafter(0.95, 0), Draft), (0.85, Draft),
        (math.nextafter(0.85, 0), Miss), (0.0, Miss), (-1.0, Miss),
    ],
)  # fmt: skip
def test_each_bar_is_reached_at_its_own_value(similarity: float, kind: type) -> None:
    assert isinstance(run(candidate(similarity)), kind)


def test_a_hit_says_what_and_how_near() -> None:
    assert run(candidate(0.97)) == Hit(entry(), exact=False, similarity=0.97)


def test_verified_entries_have_their_own_bar() -> None:
    for status in (ReviewStatus.APPROVED, ReviewStatus.EDITED):
        assert served(run(candidate(0.92, status=status))) == "e"
    assert isinstance(run(candidate(math.nextafter(0.92, 0), status=ReviewStatus.APPROVED)), Draft)
    assert isinstance(run(candidate(0.92)), Draft)


@pytest.mark.parametrize("bar", [0, 0.0, -1.0])
def test_falsy_bars_are_bars(bar: float) -> None:
    changes = {"threshold": bar, "verified_threshold": bar, "draft_threshold": bar}
    assert isinstance(run(candidate(0.0), **changes), Hit)
    if bar == 0:
        assert run(candidate(-0.01), **changes) == Miss("below-threshold", (), -0.01)


@pytest.mark.parametrize("similarity", [1.0, 0.999])
def test_one_means_exact_only(similarity: float) -> None:
    """fc-149: 1.0 must not be reached by another text, whatever the encoder says."""
    closed = {"threshold": 1.0, "verified_threshold": 1.0, "draft_threshold": 1.0}
    asked = "what's the highest lake in Peru"
    stored = candidate(similarity, prompt="What is the highest lake in Peru?")
    assert isinstance(run(stored, asked=asked, **closed), Miss)
    assert isinstance(run(stored, asked=asked, directives=Directives(threshold=1.0)), Miss)
    assert isinstance(run(stored, asked=asked), Hit)


def test_a_policy_may_keep_the_draft_band_while_serving_nothing() -> None:
    assert isinstance(run(candidate(1.0), threshold=1.0, verified_threshold=1.0), Draft)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(None, (0.9, 0.8, 0.7)), (0.0, (0.9, 0.8, 0.7)), (0.5, (0.9, 0.8, 0.7)), (0.75, (0.9, 0.8, 0.75)),
     (0.95, (0.95, 0.95, 0.95)), (1.0, (1.0, 1.0, 1.0)), (7.0, (7.0, 7.0, 7.0)), (math.nan, (1.0, 1.0, 1.0))],
)  # fmt: skip
def test_a_client_only_raises_the_bars(asked: float | None, expected: tuple[float, float, float]) -> None:
    found = bars(
        policy(threshold=0.9, verified_threshold=0.8, draft_threshold=0.7), Directives(threshold=asked)
    )
    assert (found.hit, found.verified, found.draft) == expected


def test_a_client_cannot_lower_the_bar() -> None:
    """fc-153."""
    found = run(candidate(0.7), directives=Directives(threshold=0.5), threshold=0.9, draft_threshold=0.9)
    assert found == Miss("below-threshold", (), 0.7)


@given(st.one_of(st.none(), st.floats()), st.floats(-1, 1))
def test_no_client_threshold_serves_what_the_policy_would_not(asked: float | None, similarity: float) -> None:
    strict = decide(policy(), Directives(threshold=asked), ASKED, [candidate(similarity)], NOW, None)
    plain = decide(policy(), Directives(), ASKED, [candidate(similarity)], NOW, None)
    assert not isinstance(strict, Hit) or isinstance(plain, Hit)
    assert not isinstance(strict, Draft) or not isinstance(plain, Miss)


DEAD: list[tuple[dict[str, Any], Reason]] = [
    ({"expires_at": NOW}, Reason.STALE),
    ({"expires_at": NOW - 1}, Reason.STALE),
    ({"status": ReviewStatus.REJECTED}, Reason.REJECTED),
    ({"embedding": None}, Reason.UNMATCHABLE),
    ({"tenant": TenantId("other")}, Reason.UNMATCHABLE),
]


@pytest.mark.parametrize(("changes", "reason"), DEAD)
def test_a_dead_entry_is_skipped_and_named(changes: dict[str, Any], reason: Reason) -> None:
    assert run(candidate(0.99, **changes)) == Miss(reason.value, (), 0.99)


@pytest.mark.parametrize("changes", [changes for changes, _ in DEAD])
def test_a_dead_best_candidate_does_not_end_the_search(changes: dict[str, Any]) -> None:
    """fc-145: fifty ghosts in front of one living entry."""
    ghosts = [candidate(0.99, f"ghost-{i}", **changes) for i in range(50)]
    assert served(run(*ghosts, candidate(0.96, "alive"))) == "alive"


def test_a_score_that_is_no_number_never_serves() -> None:
    nan = candidate(math.nan, "nan", status=ReviewStatus.APPROVED)
    everything = {"threshold": -1.0, "verified_threshold": -1.0, "draft_threshold": -1.0}
    assert run(nan, **everything) == Miss("unmatchable", (), None)
    assert served(run(nan, candidate(0.99, "ok"), **everything)) == "ok"


def test_only_what_was_made_public_crosses_tenants_and_only_to_those_who_take_part() -> None:
    foreign, public = (candidate(0.99, tenant=TenantId(name)) for name in ("other", PUBLIC))
    assert isinstance(run(public, commons=True), Hit)
    assert isinstance(run(public), Miss)
    assert isinstance(run(foreign, commons=True), Miss)


@pytest.mark.parametrize(
    ("ours", "theirs", "hit"),
    [(None, None, True), (100.0, None, True), (99.9, None, False), (None, 100.0, True), (None, 99.9, False),
     (200.0, 99.0, False), (99.0, 200.0, False), (None, 0.0, False), (0.0, None, False), (None, math.nan, False)],
)  # fmt: skip
def test_age_limits_of_policy_and_client(ours: float | None, theirs: float | None, hit: bool) -> None:
    """The entry is 100 s old; zero is a limit like any other."""
    found = run(candidate(0.99), directives=Directives(max_age=theirs), max_age=ours)
    assert isinstance(found, Hit) is hit
    if not hit:
        assert found == Miss("stale", (), 0.99)


def test_a_vetoed_best_candidate_does_not_end_the_search() -> None:
    """fc-069: the second entry answers the question."""
    asked = "Are guests turned away from the lab after 18:00?"
    first = candidate(0.99, "first", prompt="Are guests admitted to the lab after 18:00?")
    second = candidate(0.96, "second", prompt="After 18:00, does the lab turn guests away?")
    assert run(first, asked=asked, draft_threshold=0.95) == Miss("gate", ("antonyms",), 0.99)
    assert served(run(first, second, asked=asked)) == "second"


def test_a_vetoed_candidate_becomes_a_draft_with_its_reasons() -> None:
    found = run(candidate(0.99, prompt="Take 5 mg?"), asked="Take 50 mg?")
    assert isinstance(found, Draft)
    assert (found.similarity, found.reasons) == (0.99, ("numbers",))


def test_no_draft_without_a_band() -> None:
    found = run(candidate(0.99, prompt="Take 5 mg?"), asked="Take 50 mg?", draft_threshold=0.95)
    assert found == Miss("gate", ("numbers",), 0.99)


def test_no_draft_from_another_language() -> None:
    found = run(candidate(0.99, prompt="如何重置我的密码？"))
    assert isinstance(found, Miss)
    assert "language" in found.vetoes


def test_the_gate_follows_the_policy() -> None:
    off = GateRules(numbers=Effect.OFF)
    assert isinstance(run(candidate(0.99, prompt="Take 5 mg?"), asked="Take 50 mg?", gate=off), Hit)


@pytest.mark.parametrize("mode", ["exact", "off"])
def test_a_client_that_wants_exact_gets_neither_hit_nor_draft(mode: str) -> None:
    assert run(candidate(0.99), directives=Directives(mode=mode)) == Miss("exact-only")


@pytest.mark.parametrize(
    ("mode", "kind"), [(Mode.OFF, Miss), (Mode.EXACT, Miss), (Mode.SHADOW, Hit), (Mode.SEMANTIC, Hit)]
)
def test_policy_modes(mode: Mode, kind: type) -> None:
    assert isinstance(run(candidate(0.99), mode=mode), kind)


@pytest.mark.parametrize("band", [0.85, 0.95])
def test_a_client_may_ask_for_drafts_only(band: float) -> None:
    found = run(candidate(0.99), directives=Directives(mode="draft"), draft_threshold=band)
    assert found == Draft(entry(), 0.99, ())


def test_nothing_there() -> None:
    assert run() == Miss("empty", (), None)


def test_the_miss_names_the_nearest_obstacle_that_was_near_enough() -> None:
    stale = candidate(0.98, "a", expires_at=NOW)
    vetoed = candidate(0.97, "b", prompt="How do I not reset my password?")
    far = candidate(0.3, "c")
    no_drafts = {"draft_threshold": 0.95}
    assert run(far, vetoed, stale, **no_drafts) == Miss("stale", (), 0.98)
    assert run(far, vetoed, **no_drafts) == Miss("gate", ("negation",), 0.97)
    assert run(candidate(0.4, "d", expires_at=NOW), far, **no_drafts) == Miss("below-threshold", (), 0.4)


def test_equal_scores_prefer_the_reviewed_then_the_newer() -> None:
    old, new = candidate(0.99, "old", created_at=NOW - 50), candidate(0.99, "new", created_at=NOW - 10)
    reviewed = candidate(0.99, "reviewed", created_at=NOW - 90, status=ReviewStatus.APPROVED)
    assert served(run(old, new, reviewed)) == "reviewed"
    assert served(run(old, new)) == "new"


@pytest.mark.parametrize(
    ("given_", "kept"), [(1.0000001, 1.0), (5.0, 1.0), (-3.0, -1.0), (math.inf, 1.0), (0.5, 0.5)]
)
def test_similarity_is_clamped(given_: float, kept: float) -> None:
    assert candidate(given_).similarity == kept


scores = st.floats(allow_nan=True, allow_infinity=True)
entries = st.builds(
    entry,
    id=st.text(min_size=1, max_size=3),
    prompt=st.sampled_from([ASKED, "How can I reset my password?", "Take 5 mg", "如何重置密码"]),
    status=st.sampled_from(ReviewStatus),
    expires_at=st.sampled_from([NOW - 1, NOW, NOW + 1]),
    created_at=st.sampled_from([NOW - 500, NOW, NOW + 500]),
)


@given(st.lists(st.builds(Candidate, entries, scores), max_size=6), st.booleans())
def test_only_living_near_unopposed_entries_are_served(candidates: list[Candidate], verified: bool) -> None:
    found = decide(policy(), Directives(), ASKED, candidates, NOW, None)
    again = decide(policy(), Directives(), ASKED, candidates[::-1], NOW, None)
    assert type(found) is type(again)
    if isinstance(found, Hit):
        chosen: Entry = found.entry
        assert chosen.status is not ReviewStatus.REJECTED
        assert chosen.is_fresh(NOW)
        assert found.similarity >= (0.92 if chosen.status.is_verified else 0.95)
        assert "password" in chosen.prompt


def test_a_difference_that_only_raises_needs_a_nearer_candidate() -> None:
    rules = GateRules(numbers=Effect.RAISE, raise_by=0.5)
    asked, stored = "Explain chapter 3.", "Explain chapter 4."
    far, near = candidate(0.96, prompt=stored), candidate(0.98, prompt=stored)
    strict = policy(gate=rules, threshold=0.95, verified_threshold=0.95, draft_threshold=0.95)
    assert decide(strict, Directives(), asked, [far], NOW, None) == Miss("below-threshold", (), 0.96)
    assert isinstance(decide(strict, Directives(), asked, [near], NOW, None), Hit)
    shut = replace(strict, gate=replace(rules, raise_by=1.0))
    assert isinstance(decide(shut, Directives(), asked, [near], NOW, None), Miss)


def test_an_answer_that_was_revised_is_no_draft_while_another_is_near() -> None:
    freely, revised = candidate(0.87, "freely"), candidate(0.93, "revised", origin="draft:e0")
    found = run(revised, freely)
    assert isinstance(found, Draft)
    assert found.entry.id == "freely"
    alone = run(revised)
    assert isinstance(alone, Draft)
    assert alone.entry.id == "revised"
    looked_at = run(
        replace(revised, entry=replace(revised.entry, status=ReviewStatus.APPROVED)),
        freely,
        verified_threshold=0.99,
    )
    assert isinstance(looked_at, Draft)
    assert looked_at.entry.id == "revised"
