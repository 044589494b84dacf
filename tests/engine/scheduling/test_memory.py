"""Slots: never lost, never two owners, taken from the tree first and from the youngest next."""

from __future__ import annotations

import pytest

from semcache.engine.scheduling.planning import Limits
from tests.engine.scheduling.fake_network import FakeNetwork
from tests.engine.scheduling.stage import Stage, ask
from tests.engine.scheduling.test_answers import numbers

NEVER = 10**9


def test_fc_019_a_pool_full_of_what_nobody_holds_goes_on_serving() -> None:
    stage = Stage(FakeNetwork(128))
    for seed in range(120):
        asked = stage.submit(ask(numbers(20 + seed % 40, seed=seed), max_tokens=6))
        if seed % 7 == 0:
            stage.step()
            asked.job.cancel()
            stage.run()
        else:
            stage.run()
            stage.assert_true(asked)
    assert stage.allocator.free + stage.tree.tokens == 128
    assert stage.tree.evictable == stage.tree.tokens
    assert sum(tokens for _, tokens in stage.tree.counts().evictions) > 1000


def test_fc_016_what_one_request_found_is_not_taken_by_another_of_the_same_step() -> None:
    stage = Stage(FakeNetwork(64))
    stage.answer(ask(numbers(30), max_tokens=2))
    first = stage.submit(ask((*numbers(30), 1), max_tokens=4))
    second = stage.submit(ask(numbers(45, seed=5), max_tokens=4))
    stage.run()
    stage.assert_true(first)
    stage.assert_true(second)
    assert first.done.cached_tokens == 30


def test_fc_183_what_is_computed_again_is_no_hit() -> None:
    stage = Stage(FakeNetwork(120, end_every=NEVER), limits=Limits(active=8, tail=4), context=100)
    asked = [stage.submit(ask((seed, *numbers(19, seed=seed)), max_tokens=60)) for seed in range(12)]
    stage.run()
    counters = stage.scheduler.counters
    assert counters.preemptions > 0
    assert counters.recomputed > 0
    assert counters.cached == 0
    for one in asked:
        stage.assert_true(one)
        assert one.done.cached_tokens == 0
        assert one.done.completion_tokens == 60


def test_the_youngest_gives_way_and_goes_on_before_all_that_wait() -> None:
    stage = Stage(FakeNetwork(100, end_every=NEVER), limits=Limits(active=2, tail=4), context=100)
    over: list[str] = []
    asked = {}
    for name, seed in (("old", 1), ("young", 2), ("late", 3)):
        asked[name] = stage.submit(ask(numbers(20, seed=seed), max_tokens=50))
    while stage.scheduler.has_work:
        stage.step()
        over += [name for name, one in asked.items() if one.is_over and name not in over]
    assert over == ["old", "young", "late"]
    assert stage.scheduler.counters.preemptions > 0
    for one in asked.values():
        stage.assert_true(one)


def test_a_prompt_that_can_never_fit_fails_alone_and_at_once() -> None:
    stage = Stage(FakeNetwork(64), context=500)
    good = stage.submit(ask(numbers(20), max_tokens=4))
    bad = stage.submit(ask(numbers(65), max_tokens=4))
    stage.run()
    stage.assert_true(good)
    assert bad.error == "the prompt of 65 tokens is longer than the engine's memory of 64"


def test_an_answer_that_outgrows_the_pool_fails_alone() -> None:
    stage = Stage(FakeNetwork(64, end_every=NEVER), context=500)
    bad = stage.submit(ask(numbers(40), max_tokens=400))
    good = stage.submit(ask(numbers(20, seed=1), max_tokens=4))
    stage.run()
    assert bad.error == "the request needs more memory for keys and values than the engine has"
    stage.assert_true(good)
    stage.assert_true(stage.answer(ask(numbers(50, seed=2), max_tokens=10)))


def test_more_choices_than_fit_are_answered_one_after_another() -> None:
    stage = Stage(FakeNetwork(64, end_every=NEVER), limits=Limits(tail=4))
    asked = stage.answer(ask(numbers(30), choices=6, max_tokens=20))
    stage.assert_true(asked)
    assert stage.scheduler.counters.preemptions > 0


@pytest.mark.parametrize("tail", [1, 8, 32])
def test_slots_taken_ahead_are_given_back(tail: int) -> None:
    stage = Stage(FakeNetwork(400, end_every=NEVER), limits=Limits(tail=tail))
    stage.answer(ask(numbers(33), max_tokens=11))
    assert stage.tree.tokens == 33 + 10
    assert stage.allocator.free == 400 - 43


def test_slots_taken_ahead_are_used_before_anybody_is_preempted() -> None:
    stage = Stage(FakeNetwork(96, end_every=NEVER), limits=Limits(tail=32), context=96)
    asked = stage.answer(ask(numbers(10), choices=3, max_tokens=26))
    stage.assert_true(asked)
    assert stage.scheduler.counters.preemptions == 0


def test_of_two_preempted_ones_the_older_goes_on_first() -> None:
    stage = Stage(FakeNetwork(120, end_every=NEVER), limits=Limits(tail=4), context=100)
    asked = [stage.submit(ask((n, *numbers(19, seed=n)), max_tokens=40)) for n in range(3)]
    stage.step()
    roster = stage.scheduler._roster
    for sequence in roster.running[:0:-1]:
        roster.preempt(sequence)
    assert [one.generation.number for one in roster.resuming] == [2, 3]
    stage.run()
    for one in asked:
        stage.assert_true(one)


def test_nobody_begins_while_a_preempted_one_waits_for_room() -> None:
    stage = Stage(FakeNetwork(100, end_every=NEVER), limits=Limits(tail=4), context=100)
    old = stage.submit(ask(numbers(40), max_tokens=30))
    young = stage.submit(ask((39, *numbers(30)), max_tokens=30))
    while not stage.scheduler.counters.preemptions:
        stage.step()
    small = stage.submit(ask((38, 1), max_tokens=1))
    over = []
    while stage.scheduler.has_work:
        stage.step()
        over += [one for one in (old, young, small) if one.is_over and one not in over]
    assert over[0] is old
    for one in over:
        stage.assert_true(one)


def test_a_cancelled_request_frees_everything_wherever_it_stands() -> None:
    for steps in range(9):
        stage = Stage(FakeNetwork(200, end_every=NEVER), limits=Limits(chunk=16, budget=16))
        asked = stage.submit(ask(numbers(70), choices=2, max_tokens=20))
        other = stage.submit(ask(numbers(30, seed=1), max_tokens=20))
        for _ in range(steps):
            stage.step()
        asked.job.cancel()
        told = len(asked.events)
        before = len(stage.network.passes)
        stage.step()
        assert stage.scheduler.choices == 1
        assert len(stage.network.passes) - before <= 1
        stage.run()
        stage.assert_true(other)
        assert len(asked.events) == told


def test_fc_196_what_was_said_and_never_asked_for_again_goes_first() -> None:
    stage = Stage(FakeNetwork(200, end_every=NEVER), context=200)
    system = numbers(60)
    for turn in range(12):
        asked = stage.answer(ask((*system, turn + 20, *numbers(9, seed=turn)), max_tokens=40))
        stage.assert_true(asked)
        assert asked.done.cached_tokens == (60 if turn else 0)


def test_a_long_prompt_becomes_one_run_in_the_tree() -> None:
    stage = Stage(FakeNetwork(2000), context=2000)
    stage.answer(ask(numbers(700), max_tokens=0))
    assert stage.tree.counts().nodes <= 2
