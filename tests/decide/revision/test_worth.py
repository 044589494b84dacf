"""Money and tokens: worth it beforehand, saved afterwards, and whether a domain goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import DraftPolicy
from semcache.decide.revision.band import Band, band
from semcache.decide.revision.worth import Prices, Saved, Spent, expected, saved

BIG, SMALL = Prices(5_000_000, 15_000_000), Prices(1_000_000, 3_000_000)


def test_a_long_draft_for_a_short_answer_is_not_worth_it() -> None:
    found = expected(30, 4_000, BIG, reviser=SMALL, plain_answer_tokens=50)
    assert found.draft is not None
    assert found.plain == 900  # 30 read and 50 written
    assert found.draft > 4_000
    assert not found.worth


def test_a_long_answer_is_worth_it_with_and_without_a_price() -> None:
    priced, unpriced = expected(20, 800, BIG, reviser=BIG), expected(20, 800, None)
    assert priced.worth
    assert unpriced.worth
    assert (unpriced.draft, unpriced.plain) == (None, None)


def test_a_short_answer_is_not_worth_the_instructions() -> None:
    assert not expected(20, 20, BIG, reviser=BIG).worth
    assert not expected(20, 20, None).worth


def test_a_price_that_only_one_side_has_does_not_decide() -> None:
    found = expected(20, 800, BIG, reviser=None)
    assert found.draft is None
    assert found.plain is not None
    assert found.worth


def test_expected_failures_count_for_what_they_cost() -> None:
    assert expected(20, 800, BIG, reviser=BIG, failed_share=0.0).worth
    assert not expected(20, 800, BIG, reviser=BIG, failed_share=1.0).worth


@given(st.integers(0, 10**5), st.integers(0, 10**5), st.floats(allow_nan=False))
def test_estimates_never_fail_and_are_never_negative(question: int, answer: int, share: float) -> None:
    found = expected(question, answer, BIG, reviser=SMALL, failed_share=share)
    assert found.draft is not None
    assert found.draft >= 0
    assert found.draft_weight >= 0


def test_a_failed_revision_is_lost_and_nothing_saved() -> None:
    plain, revision = Spent(20, 800), Spent(900, 40)
    assert saved(plain, revision, BIG, BIG, failed=False) == Saved(12_100 - 5_100, 3220 - 1060)
    assert saved(plain, revision, BIG, BIG, failed=True) == Saved(-5_100, -1060)
    assert saved(plain, revision, None, BIG, failed=True) == Saved(-5_100, -1060)
    assert saved(plain, revision, None, BIG, failed=False) == Saved(None, 3220 - 1060)


RULES = DraftPolicy(max_failed=0.3, min_trials=20)


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({}, Band(open=True, why="trial")),
        ({"draft-tried": 19, "draft-failed": 19, "draft-saved": -900}, Band(open=True, why="trial")),
        ({"draft-tried": 20, "draft-failed": 6, "draft-saved": 5}, Band(open=True, why="pays")),
        ({"draft-tried": 20, "draft-failed": 7, "draft-saved": 5}, Band(open=False, why="failed")),
        ({"draft-tried": 20, "draft-saved": -1, "draft-saved-tokens": 9}, Band(open=False, why="lost")),
        ({"draft-tried": 20, "draft-saved": 1, "draft-saved-tokens": -9}, Band(open=True, why="pays")),
        ({"draft-tried": 20, "draft-saved-tokens": -9}, Band(open=False, why="lost")),
        ({"draft-tried": 20, "draft-saved": 0, "draft-saved-tokens": 9}, Band(open=True, why="pays")),
    ],
)
def test_a_band_closes_when_drafts_fail_or_lose(counts: dict[str, int], found: Band) -> None:
    assert band(counts, RULES) == found


def test_without_a_least_number_one_trial_is_made_all_the_same() -> None:
    assert band({}, DraftPolicy(min_trials=0)).open
