"""What one tenant asked cannot be told from the time another's request takes: the same work is done, pass by pass."""

from __future__ import annotations

import pytest

from semcache.engine.layers import PUBLIC, Layer, Owner
from tests.engine.scheduling.fake_network import FakeNetwork
from tests.engine.scheduling.stage import Stage, ask
from tests.engine.scheduling.test_answers import numbers

VICTIM, THIEF = Owner("victim", b"one secret"), Owner("thief", b"another")
HEAD, SECRET = numbers(48), numbers(120, seed=5)


def work_of_a_guess(stage: Stage, guess: tuple[int, ...]) -> tuple[int, int, list[list[tuple[int, int]]]]:
    """Give what a thief may see of its request, and the position and size of every piece that was computed for it."""
    before = len(stage.network.passes)
    asked = stage.answer(ask(HEAD + guess, layers=(Layer(48, PUBLIC), Layer(168, THIEF)), max_tokens=4))
    shapes = [
        [(piece.position, len(piece.tokens)) for piece in pieces] for pieces in stage.network.passes[before:]
    ]
    return asked.done.cached_tokens, asked.done.reuse.public_tokens, shapes


@pytest.mark.parametrize("right", [0, 1, 60, 119, 120])
def test_a_guess_costs_the_same_whether_it_is_right_or_wrong(right: int) -> None:
    """`right` tokens of the guess are those of the victim's prompt, which it asked just before."""
    guess = SECRET[:right] + tuple((token + 1) % 40 for token in SECRET[right:])
    told = []
    for is_warm in (False, True):
        stage = Stage(FakeNetwork(1000))
        stage.answer(ask((*HEAD, 1), layers=(Layer(48, PUBLIC), Layer(49, THIEF)), max_tokens=1))
        if is_warm:
            stage.answer(ask(HEAD + SECRET, layers=(Layer(48, PUBLIC), Layer(168, VICTIM)), max_tokens=4))
        told.append(work_of_a_guess(stage, guess))
    assert told[0] == told[1]
    assert told[0][:2] == (48, 48)


def test_a_victim_that_runs_at_the_same_time_computes_for_itself() -> None:
    """The one prompt that is being read is not waited for, nor read along with, across owners."""
    together = Stage(FakeNetwork(1000))
    asked = [
        together.submit(ask(HEAD + SECRET, layers=(Layer(48, PUBLIC), Layer(168, owner)), max_tokens=4))
        for owner in (VICTIM, THIEF)
    ]
    together.run()
    assert {one.done.cached_tokens for one in asked} <= {0, 48}
    assert together.network.computed >= 48 + 2 * 120


def test_room_taken_by_a_victim_is_given_up_silently() -> None:
    """A pool full of another's prefixes is as good as an empty one: nothing fails, the same is computed."""
    told = []
    for is_full in (False, True):
        stage = Stage(FakeNetwork(400))
        stage.answer(ask((*HEAD, 1), layers=(Layer(48, PUBLIC), Layer(49, THIEF)), max_tokens=1))
        for seed in range(6 if is_full else 0):
            stage.answer(ask(numbers(150, seed=90 + seed), layers=(Layer(150, VICTIM),), max_tokens=2))
        stage.answer(ask((*HEAD, 1), layers=(Layer(48, PUBLIC), Layer(49, THIEF)), max_tokens=1))
        told.append(work_of_a_guess(stage, SECRET))
    assert told[0] == told[1]
