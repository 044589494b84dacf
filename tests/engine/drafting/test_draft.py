"""A draft that follows an answer: blocks, disagreements of every kind, drafts that are no good."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.drafting.draft import Draft
from semcache.engine.drafting.pace import Stakes
from tests.engine.drafting.scripted import Course, passages, say, scattered, text

ANSWER = text(400)


def test_a_perfect_draft_is_confirmed_block_by_block() -> None:
    course = say(ANSWER, Draft(ANSWER), limit=16)
    assert course.rejected == 0
    assert course.accepted + course.steps == len(ANSWER)
    assert course.steps <= len(ANSWER) / 17 + 8


def test_without_a_draft_every_token_is_a_step() -> None:
    assert say(ANSWER, Draft(())) == Course(len(ANSWER), len(ANSWER), 0, 0)


def test_the_room_that_is_left_bounds_every_guess() -> None:
    draft = Draft(ANSWER)
    assert draft.propose(0) == ()
    assert draft.propose(3) == tuple(ANSWER[:3])
    assert draft.propose(-1) == ()


@pytest.mark.parametrize("length", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("kind", ["replace", "insert", "delete"])
def test_it_goes_on_soon_after_an_edit(kind: str, length: int) -> None:
    """The answer says something else, or more, or less than the draft; then both agree again."""
    answer, other = list(range(1_000, 1_200)), list(range(1, length + 1))
    changed = {
        "replace": [*answer[:100], *other, *answer[100 + length :]],
        "insert": [*answer[:100], *other, *answer[100:]],
        "delete": [*answer[:100], *answer[100 + length :]],
    }[kind]
    course = say(changed, Draft(answer))
    untouched = say(answer, Draft(answer))
    new = 0 if kind == "delete" else length
    assert course.steps <= untouched.steps + new + 6
    assert course.accepted >= len(changed) - new - course.steps


def test_an_answer_that_goes_back_is_followed() -> None:
    answer = list(range(1_000, 1_100))
    repeated = [*answer[:60], *answer[30:]]
    course = say(repeated, Draft(answer))
    assert course.steps < 40


def test_a_passage_that_moved_is_found() -> None:
    first, second, third = (list(range(at, at + 60)) for at in (1_000, 2_000, 3_000))
    course = say([*first, *third, *second], Draft([*first, *second, *third]), limit=16)
    assert course.steps < 60


def test_a_draft_of_something_else_costs_next_to_nothing() -> None:
    course = say(ANSWER, Draft(text(400, seed=9)))
    assert course.rows <= 1.15 * len(ANSWER)


def test_an_answer_that_repeats_itself_is_not_guessed_wrong_for_ever() -> None:
    """Each "3" of the answer finds one of the draft's, which goes on differently."""
    course = say([1, 2, 3] * 300, Draft([3, 9] * 100))
    assert course.accepted == 0
    assert course.rejected < 30


def test_after_long_silence_agreement_is_heard() -> None:
    good = list(range(1_000, 1_100))
    draft = Draft([*[3, 9] * 100, *good])
    assert say([1, 2, 3] * 300, draft).rejected < 30
    assert say(good, draft).accepted > 70


def test_a_draft_that_is_only_watched_earns_its_guesses() -> None:
    """Nothing is proposed for lack of room; what agrees meanwhile counts all the same."""
    draft = Draft(ANSWER, stakes=Stakes(trust=0.2, row_cost=0.3))
    assert draft.propose(16) == ()
    for token in ANSWER[:100]:
        draft.observe(token)
    assert draft.propose(16) == tuple(ANSWER[100:116])


def test_the_answer_may_outlast_the_draft() -> None:
    course = say(ANSWER, Draft(ANSWER[:200]))
    assert course.steps < 240
    assert course.rejected < 60


@pytest.mark.parametrize("edit", [scattered, passages])
def test_the_more_they_agree_the_fewer_the_steps(edit: object) -> None:
    tokens = text(2_000, seed=3)
    courses = [say(tokens, Draft(edit(tokens, share))) for share in (0.0, 0.5, 0.9, 1.0)]
    steps = [course.steps for course in courses]
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] < steps[0] / 8
    cost = [course.steps + Stakes().row_cost * (course.rows - course.steps) for course in courses]
    assert all(each <= 1.02 * len(tokens) for each in cost), "no draft may cost more than it saves"


few = st.lists(st.integers(0, 4), max_size=60)


@given(few, few, st.integers(0, 9))
def test_every_guess_is_a_piece_of_the_draft(tokens: list[int], answer: list[int], limit: int) -> None:
    draft = Draft(tokens)
    for token in answer:
        guess = draft.propose(limit)
        assert len(guess) <= limit
        assert not guess or any(
            tuple(tokens[at : at + len(guess)]) == guess for at in range(len(tokens) - len(guess) + 1)
        )
        draft.observe(token)


@given(few, few, st.integers(0, 9))
def test_the_answer_is_the_models_whatever_the_draft(
    tokens: list[int], answer: list[int], limit: int
) -> None:
    course = say(answer, Draft(tokens), limit)
    assert course.steps + course.accepted == len(answer)
    assert course.rows == course.steps + course.accepted + course.rejected


@pytest.mark.parametrize(
    "tokens", [[1] * 20_000, [1, 2] * 10_000, text(20_000)], ids=["one word", "two words", "text"]
)
def test_a_long_draft_costs_no_more_for_a_token(tokens: list[int]) -> None:
    draft = Draft(tokens)
    answer = scattered(tokens[:4_000], 0.5)
    began = time.process_time()
    for token in answer:
        draft.observe(token)
        draft.propose(16)
    assert (time.process_time() - began) / len(answer) < 300e-6
