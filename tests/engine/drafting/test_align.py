"""Where a draft goes on after the answer left it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.drafting.align import Aligner, Alignment
from semcache.errors import EngineError

DRAFT = list(range(100, 400))


def aligner(tokens: list[int], **rules: int) -> Aligner:
    return Aligner(tokens, Alignment(**rules))


def test_two_tokens_find_the_place() -> None:
    assert aligner(DRAFT).locate([7, 120, 121], home=18, elapsed=5, doubt=0) == 22


def test_a_single_token_will_do_close_to_where_the_place_was_lost() -> None:
    found = aligner(DRAFT)
    assert found.locate([7, 111], home=10, elapsed=2, doubt=0) == 12
    assert found.locate([7, 113], home=10, elapsed=2, doubt=0) == 14
    assert found.locate([7, 114], home=10, elapsed=2, doubt=0) is None
    assert found.locate([7, 109], home=10, elapsed=2, doubt=0) is None
    assert found.locate([7, 111], home=10, elapsed=2, doubt=1) is None
    assert aligner(DRAFT, close=0).locate([7, 111], home=10, elapsed=2, doubt=0) is None


@pytest.mark.parametrize(("ahead", "needed"), [(24, 2), (25, 3), (96, 3), (97, 4)])
def test_what_is_farther_away_must_agree_longer(ahead: int, needed: int) -> None:
    found = aligner(DRAFT)
    place = 10 + 5 + ahead
    recent = [7, *DRAFT[place - needed : place]]
    assert found.locate(recent, home=10, elapsed=5, doubt=0) == place
    assert found.locate([7, *recent[2:]], home=10, elapsed=5, doubt=0) is None


def test_it_looks_back_as_well() -> None:
    found = aligner(DRAFT)
    assert found.locate([7, *DRAFT[180:182]], home=200, elapsed=1, doubt=0) == 182
    assert found.locate([7, *DRAFT[20:24]], home=200, elapsed=1, doubt=0) == 24
    assert found.locate([7, *DRAFT[20:23]], home=200, elapsed=1, doubt=0) is None


def test_longer_agreement_wins_then_the_smaller_distance() -> None:
    tokens = [1, 2, 3, 0, 9, 2, 3, 0, 0, 8, 2, 3]
    found = aligner(tokens)
    assert found.locate([9, 2, 3], home=0, elapsed=1, doubt=0) == 7
    assert found.locate([5, 2, 3], home=0, elapsed=1, doubt=0) == 3
    assert found.locate([5, 2, 3], home=8, elapsed=4, doubt=0) == 12


def test_doubt_asks_for_more() -> None:
    found = aligner(DRAFT)
    assert found.locate([7, *DRAFT[20:24]], home=20, elapsed=1, doubt=2) == 24
    assert found.locate([7, *DRAFT[20:24]], home=20, elapsed=1, doubt=3) is None


def test_at_the_edges() -> None:
    assert aligner([]).locate([1, 2], home=0, elapsed=2, doubt=0) is None
    assert aligner([1]).locate([1], home=0, elapsed=1, doubt=0) == 1
    assert aligner([1, 2]).locate([1, 2], home=2, elapsed=2, doubt=0) == 2


@pytest.mark.parametrize(("shortest", "longest"), [(0, 8), (4, 3)])
def test_rules_that_make_no_sense_are_refused(shortest: int, longest: int) -> None:
    with pytest.raises(EngineError):
        Alignment(shortest=shortest, longest=longest)


small = st.lists(st.integers(0, 3), max_size=30)


@given(small, small.filter(bool), st.integers(0, 30), st.integers(0, 10), st.integers(0, 4))
def test_what_is_found_is_what_was_asked_for(
    tokens: list[int], recent: list[int], home: int, elapsed: int, doubt: int
) -> None:
    place = aligner(tokens, near=4, far=8).locate(recent, home, elapsed, doubt)
    if place is None:
        return
    agreed = 0
    while agreed < min(place, len(recent)) and tokens[place - 1 - agreed] == recent[-1 - agreed]:
        agreed += 1
    distance = max(0, home - place, place - home - elapsed)
    is_close = agreed >= 1 and not doubt and home < place <= home + 4
    assert is_close or agreed >= 2 + doubt + (distance > 4) + (distance > 8)


def test_a_draft_of_one_repeated_word_is_not_walked_through() -> None:
    class Counted(list[int]):
        looked = 0

        def __getitem__(self, at: slice) -> list[int]:  # type: ignore[override]  # only sliced here
            Counted.looked += at.stop - at.start
            return list.__getitem__(self, at)

    found = Aligner(Counted([1] * 20_000), Alignment())
    Counted.looked = 0
    assert found.locate([1] * 8, home=10_000, elapsed=3, doubt=0) is not None
    assert Counted.looked <= 16 * 8
