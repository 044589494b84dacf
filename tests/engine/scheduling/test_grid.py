"""A network whose bits depend on the cut: pieces on a grid, answers private and computed again when idle."""

from __future__ import annotations

import pytest

from semcache.engine.forward import Exactness
from semcache.engine.layers import PUBLIC, Layer, Owner
from semcache.engine.scheduling.planning import Limits
from tests.engine.scheduling.fake_network import FakeNetwork
from tests.engine.scheduling.stage import Stage, ask
from tests.engine.scheduling.test_answers import numbers

GRID = Exactness(16, shares_generated=False)
NEVER = 10**9


def stage_of(slots: int = 900, **limits: int) -> Stage:
    return Stage(FakeNetwork(slots, GRID, end_every=NEVER), limits=Limits(**limits), context=600)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 32, 33, 100])
def test_reuse_is_rounded_down_to_the_grid(length: int) -> None:
    stage = stage_of()
    request = ask(numbers(length), max_tokens=7)
    stage.assert_true(stage.answer(request))
    again = stage.answer(request)
    stage.assert_true(again)
    assert again.done.cached_tokens == (length - 1) // 16 * 16


def test_an_answer_is_computed_again_when_idle_so_that_the_next_turn_finds_it() -> None:
    stage = stage_of()
    asked = stage.submit(ask(numbers(40), max_tokens=30))
    while not asked.is_over:
        stage.step()
    assert stage.tree.tokens == 32
    stage.run()
    assert stage.tree.tokens == 64
    assert stage.scheduler.counters.background > 0
    following = stage.answer(ask((*numbers(40), *asked.said(), 1, 2), max_tokens=5))
    stage.assert_true(following)
    assert following.done.cached_tokens == 64


def test_choices_read_the_part_of_a_prompt_that_is_off_the_grid() -> None:
    stage = stage_of(tail=4)
    asked = stage.submit(ask(numbers(41), choices=4, max_tokens=9))
    most = 0
    while not asked.is_over:
        stage.step()
        most = max(most, stage.allocator.used)
    stage.assert_true(asked)
    assert most <= 41 + 4 * 12
    stage.run()


def test_a_preempted_answer_is_said_again_token_by_token() -> None:
    stage = stage_of(100, tail=4, active=4)
    asked = [stage.submit(ask((seed, *numbers(19, seed=seed)), max_tokens=50)) for seed in range(4)]
    stage.run()
    for one in asked:
        stage.assert_true(one)
        assert one.done.completion_tokens == 50
    assert stage.scheduler.counters.preemptions > 0


def test_layers_meet_on_the_grid() -> None:
    stage = stage_of()
    layers = {name: (Layer(40, PUBLIC), Layer(60, Owner(name, name.encode()))) for name in "ab"}
    first = stage.answer(ask(numbers(60), layers=layers["a"]))
    other = stage.answer(ask(numbers(60), layers=layers["b"]))
    stage.assert_true(first)
    stage.assert_true(other)
    assert other.done.cached_tokens == other.done.reuse.public_tokens == 32


def test_a_preempted_answer_does_not_go_on_from_what_was_computed_again_on_the_grid() -> None:
    stage = stage_of()
    stage.answer(ask(numbers(20), max_tokens=40))  # its answer is in the tree by now, cut on the grid
    asked = stage.submit(ask(numbers(20), max_tokens=50))
    for _ in range(30):
        stage.step()
    stage.scheduler._roster.preempt(stage.scheduler._roster.running[0])
    stage.run()
    stage.assert_true(asked)
