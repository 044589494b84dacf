"""The decision after the gate: what the verifier takes away, what the evidence takes away, what it gives back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import (
    Directives,
    Draft,
    Hit,
    Miss,
    Mode,
    ReviewStatus,
    UntilProven,
)
from semcache.decide.decision import UNBOUNDED, Candidate, Serving, decide
from tests.decide.build import ASKED, NOW, candidate, entry, policy
from tests.fakes.verifier import FakeVerifier

NEAR = 0.97
STORED = "How can I reset my password?"
FIRST, SECOND, THIRD = STORED, "how do I reset my password please", "How could I reset my password?"


def run(
    *candidates: Candidate,
    verifier: FakeVerifier | None,
    serving: Serving = UNBOUNDED,
    directives: Directives | None = None,
    asked: str = ASKED,
    **changes: Any,
) -> Hit | Draft | Miss:
    rules = policy(**({"verifier": True} | changes))
    return decide(rules, directives or Directives(), asked, candidates, NOW, verifier, serving)


def says(score: float | None) -> FakeVerifier:
    return FakeVerifier(says=score)


# -- the verifier ---------------------------------------------------------------------


def test_it_is_asked_about_both_questions_and_their_similarity_and_its_score_goes_with_the_hit() -> None:
    verifier = says(0.8)
    assert run(candidate(NEAR), verifier=verifier) == Hit(entry(), False, NEAR, 0.8)
    assert verifier.calls == [(ASKED, STORED, NEAR)]


@pytest.mark.parametrize(
    ("score", "kind"),
    [(1.0, Hit), (0.5, Hit), (math.nextafter(0.5, 0), Draft), (0.0, Draft), (None, Draft), (math.nan, Draft)],
)
def test_a_score_must_reach_the_policy_s_least(score: float | None, kind: type) -> None:
    found = run(candidate(NEAR), verifier=says(score), min_score=0.5)
    assert isinstance(found, kind)
    if isinstance(found, Draft):
        assert found.reasons == ("verifier",)
        assert found.score is score


def test_even_a_policy_that_asks_for_nothing_serves_no_pair_that_it_cannot_tell() -> None:
    assert isinstance(run(candidate(NEAR), verifier=says(0.0), min_score=0.0), Hit)
    assert isinstance(run(candidate(NEAR), verifier=says(None), min_score=0.0), Draft)
    assert isinstance(run(candidate(NEAR), verifier=says(math.nan), min_score=0.0), Draft)


def test_no_verifier_means_no_hit_where_the_policy_wants_one() -> None:
    no_drafts = {"draft_threshold": 0.95}
    assert run(candidate(1.0), verifier=None, **no_drafts) == Miss("verifier", (), 1.0)
    assert isinstance(run(candidate(NEAR), verifier=None), Draft)
    assert isinstance(run(candidate(NEAR), verifier=None, min_score=0.0), Draft)


def test_a_policy_without_verifier_asks_none() -> None:
    verifier = says(0.0)
    rules = policy(verifier=False)
    found = decide(rules, Directives(), ASKED, [candidate(NEAR)], NOW, verifier)
    assert found == Hit(entry(), False, NEAR, None)
    assert verifier.calls == []


def test_a_human_s_approval_does_not_replace_it() -> None:
    """The answer was approved for the stored question, not for this one."""
    assert isinstance(run(candidate(NEAR, status=ReviewStatus.APPROVED), verifier=says(0.1)), Draft)


@pytest.mark.parametrize(
    ("stored", "similarity", "changes"),
    [
        (STORED, 0.9, {}),
        (STORED, 0.3, {}),
        ("How do I not reset my password?", NEAR, {}),
        (STORED, NEAR, {"mode": Mode.EXACT}),
    ],
)
def test_it_is_not_asked_about_what_is_lost_already(
    stored: str, similarity: float, changes: dict[str, Any]
) -> None:
    verifier = says(1.0)
    assert not isinstance(run(candidate(similarity, prompt=stored), verifier=verifier, **changes), Hit)
    assert verifier.calls == []


def test_certainty_does_not_lift_a_veto() -> None:
    found = run(candidate(0.99, prompt="Take 5 mg?"), asked="Take 50 mg?", verifier=says(1.0))
    assert isinstance(found, Draft)
    assert found.reasons == ("numbers",)


def test_a_doubted_best_candidate_does_not_end_the_search() -> None:
    verifier = FakeVerifier(scores={FIRST: 0.2, SECOND: 0.9})
    found = run(candidate(0.99, "a", prompt=FIRST), candidate(0.96, "b", prompt=SECOND), verifier=verifier)
    assert isinstance(found, Hit)
    assert (found.entry.id, found.score) == ("b", 0.9)


def test_a_miss_carries_the_score_of_the_obstacle() -> None:
    assert run(candidate(NEAR), verifier=says(0.2), draft_threshold=0.95) == Miss("verifier", (), NEAR, 0.2)


# -- the evidence ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut", "score", "hit"),
    [(0.9, 0.9, True), (0.9, 1.0, True), (0.9, 0.8999, False), (0.0, 0.5, True), (None, 1.0, False)],
)
def test_a_hit_needs_a_score_that_the_evidence_allows(cut: float | None, score: float, hit: bool) -> None:
    found = run(candidate(NEAR), verifier=says(score), serving=Serving(cut))
    assert isinstance(found, Hit if hit else Draft)
    if isinstance(found, Draft):
        assert (found.reasons, found.score) == (("risk",), score)


def test_without_a_score_the_evidence_can_only_be_open_or_closed() -> None:
    def found(serving: Serving) -> Hit | Draft | Miss:
        return decide(policy(verifier=False), Directives(), ASKED, [candidate(NEAR)], NOW, None, serving)

    assert isinstance(found(Serving(0.99)), Hit)
    assert isinstance(found(Serving(None)), Draft)


def test_where_it_is_closed_a_draft_is_what_there_is_with_or_without_a_band() -> None:
    """Only what is offered can be compared with what a model says, and so ever become evidence."""
    closed = Serving(None, otherwise=UntilProven.DRAFT)
    found = run(candidate(NEAR), verifier=says(0.9), serving=closed, draft_threshold=0.95)
    assert found == Draft(entry(), NEAR, ("risk",), 0.9)
    doubted = run(candidate(NEAR), verifier=says(0.1), serving=closed, draft_threshold=0.95)
    assert doubted == Miss("verifier", (), NEAR, 0.1)


def test_where_it_is_to_learn_in_the_shadow_the_hit_is_told_as_one_that_is_not_served() -> None:
    closed = Serving(0.95, otherwise=UntilProven.SHADOW)
    assert run(candidate(NEAR), verifier=says(0.9), serving=closed) == Hit(
        entry(), False, NEAR, 0.9, shadow=True
    )
    assert run(candidate(NEAR), verifier=says(0.96), serving=closed) == Hit(entry(), False, NEAR, 0.96)


def test_a_shadow_never_hides_a_candidate_that_may_be_served() -> None:
    verifier = FakeVerifier(scores={FIRST: 0.9, SECOND: 0.99, THIRD: 0.9})
    both = (candidate(0.99, "a", prompt=FIRST), candidate(0.97, "b", prompt=SECOND))
    found = run(*both, verifier=verifier, serving=Serving(0.95, otherwise=UntilProven.SHADOW))
    assert isinstance(found, Hit)
    assert (found.entry.id, found.shadow) == ("b", False)
    dark = (candidate(0.97, "c", prompt=THIRD), candidate(0.99, "a", prompt=FIRST))
    found = run(*dark, verifier=verifier, serving=Serving(0.95, otherwise=UntilProven.SHADOW))
    assert isinstance(found, Hit)
    assert (found.entry.id, found.shadow) == ("a", True)


@pytest.mark.parametrize("wish", UntilProven)
def test_nothing_else_becomes_a_shadow(wish: UntilProven) -> None:
    closed = Serving(None, otherwise=wish)
    assert isinstance(run(candidate(NEAR), verifier=says(0.1), serving=closed), Draft)
    assert isinstance(run(candidate(NEAR, expires_at=NOW), verifier=says(0.9), serving=closed), Miss)
    vetoed = run(
        candidate(0.99, prompt="Take 5 mg?"), asked="Take 50 mg?", verifier=says(1.0), serving=closed
    )
    assert isinstance(vetoed, Draft)
    assert isinstance(run(candidate(0.5), verifier=says(0.9), serving=closed), Miss)


def test_a_client_that_wants_drafts_only_gets_no_shadow() -> None:
    closed = Serving(None, otherwise=UntilProven.SHADOW)
    found = run(candidate(NEAR), verifier=says(0.9), serving=closed, directives=Directives(mode="draft"))
    assert found == Draft(entry(), NEAR, ("risk",), 0.9)


# -- what was proven says nothing of what lies below the threshold ---------------------

PROVEN = Serving(0.9, proven=True)


@pytest.mark.parametrize("similarity", [0.85, 0.90, math.nextafter(0.95, 0)])
def test_no_score_stands_in_for_similarity(similarity: float) -> None:
    assert isinstance(run(candidate(similarity), verifier=says(1.0), serving=PROVEN), Draft)
    at_the_threshold = run(candidate(0.95), verifier=says(1.0), serving=PROVEN)
    assert isinstance(at_the_threshold, Hit)


def test_without_a_draft_band_it_is_a_miss() -> None:
    found = run(candidate(0.90), verifier=says(1.0), serving=PROVEN, draft_threshold=0.95)
    assert found == Miss("below-threshold", (), 0.9)


# -- what is learnt from, where nothing is served -------------------------------------


def test_a_nearer_one_with_a_veto_keeps_none_from_being_learnt() -> None:
    nearer = candidate(0.99, "a", prompt="How do I reset my password 2 times?")
    found = run(nearer, candidate(0.97, "b"), verifier=says(0.95), serving=Serving(0.99))
    assert isinstance(found, Draft)
    assert (found.entry.id, found.reasons) == ("b", ("risk",))


def test_who_wants_a_draft_gets_the_nearest() -> None:
    verifier = FakeVerifier(scores={FIRST: 0.995, SECOND: 0.95})
    near = [candidate(0.99, "a", prompt=FIRST), candidate(0.97, "b", prompt=SECOND)]
    found = run(*near, verifier=verifier, serving=Serving(0.99), directives=Directives(mode="draft"))
    assert isinstance(found, Draft)
    assert found.entry.id == "a"


def test_below_the_threshold_nothing_is_learnt_before_a_proof() -> None:
    found = run(candidate(0.90), verifier=says(0.95), serving=Serving(0.99))
    assert isinstance(found, Draft)
    assert (found.reasons, found.score) == ((), None)


# -- every step only takes away -------------------------------------------------------

scores = st.none() | st.floats(0, 1) | st.just(math.nan)
servings = st.builds(
    Serving,
    cut=st.none() | st.floats(0, 1),
    proven=st.just(False),
    otherwise=st.sampled_from(UntilProven),
    trusts_humans=st.booleans(),
)
candidates = st.lists(
    st.builds(
        candidate,
        st.floats(0.8, 1.0),
        st.sampled_from(["a", "b", "c"]),
        prompt=st.sampled_from(
            [STORED, "Reset my password, how?", "How do I not reset my password?", "重置密码"]
        ),
        status=st.sampled_from(ReviewStatus),
    ),
    max_size=4,
)


def served(found: Hit | Draft | Miss) -> bool:
    return isinstance(found, Hit) and not found.shadow


@given(candidates, scores, servings)
def test_neither_verifier_nor_unproven_evidence_ever_adds_a_hit(
    drawn: list[Candidate], score: float | None, serving: Serving
) -> None:
    bare = decide(policy(verifier=False), Directives(), ASKED, drawn, NOW, None)
    verified = run(*drawn, verifier=says(score))
    bounded = run(*drawn, verifier=says(score), serving=serving)
    assert served(bare) >= served(verified) >= served(bounded)
    if isinstance(bounded, Hit):
        assert isinstance(bounded.score, float)
        assert bounded.score >= 0.5
        proven = serving.cut is not None and bounded.score >= serving.cut
        by_humans = serving.trusts_humans and bounded.entry.status.is_verified
        assert bounded.shadow or proven or by_humans


@given(candidates, st.floats(0, 1), st.floats(0, 1), st.floats(0.8, 1.0))
def test_whatever_was_proven_the_client_s_threshold_and_the_cut_hold(
    drawn: list[Candidate], score: float, cut: float, threshold: float
) -> None:
    found = run(
        *drawn,
        verifier=says(score),
        serving=Serving(cut, proven=True, trusts_humans=False),
        directives=Directives(threshold=threshold),
    )
    if isinstance(found, Hit):
        assert found.similarity >= max(0.85, threshold)
        assert score >= max(cut, 0.5)
