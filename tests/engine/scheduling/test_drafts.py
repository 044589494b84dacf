"""Guesses change what an answer costs, never what it says."""

from __future__ import annotations

import random

import pytest

from semcache.engine.forward import Exactness
from semcache.engine.generation import Sampling
from semcache.engine.scheduling.planning import Limits
from tests.engine.scheduling.fake_network import FakeNetwork
from tests.engine.scheduling.stage import GREEDY, Stage, ask
from tests.engine.scheduling.test_answers import numbers

NEVER = 10**9
SAMPLINGS = [
    GREEDY,
    Sampling(temperature=0.0, frequency_penalty=0.4, presence_penalty=0.2),
    Sampling(temperature=0.7, seed=4),
    Sampling(temperature=1.0, top_p=0.8, top_k=20, seed=4),
]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_a_guess_does_not_change_the_answer(sampling: Sampling, share: float) -> None:
    plain = Stage(FakeNetwork(900, end_every=NEVER)).answer(
        ask(numbers(20), max_tokens=60, sampling=sampling)
    )
    source = random.Random(3)
    guess = tuple(token if source.random() < share else source.randrange(40) for token in plain.said())
    stage = Stage(FakeNetwork(900, end_every=NEVER))
    asked = stage.answer(ask(numbers(20), max_tokens=60, sampling=sampling, draft=guess))
    assert asked.said() == plain.said()
    assert asked.done.completion_tokens == 60
    assert asked.done.steps + asked.done.accepted_draft == 60
    if share == 1.0:
        assert asked.done.steps < 20
        assert asked.done.rejected_draft == 0
    counters = stage.scheduler.counters
    assert counters.accepted_draft == asked.done.accepted_draft
    assert stage.tree.tokens == 20 + 59
    later = stage.answer(ask((*numbers(20), *asked.said()), max_tokens=5))
    stage.assert_true(later)
    assert later.done.cached_tokens == 79


@pytest.mark.parametrize("at", range(1, 12))
def test_a_stop_string_ends_an_answer_inside_a_guess(at: int) -> None:
    request = ask(numbers(20), max_tokens=30)
    plain = Stage(FakeNetwork(900, end_every=NEVER)).answer(request)
    stop = plain.text()[at : at + 2]
    stopped = Stage(FakeNetwork(900, end_every=NEVER)).answer(ask(numbers(20), max_tokens=30, stop=(stop,)))
    stage = Stage(FakeNetwork(900, end_every=NEVER))
    asked = stage.answer(ask(numbers(20), max_tokens=30, stop=(stop,), draft=tuple(plain.said())))
    assert asked.text() == stopped.text() == plain.text()[: plain.text().index(stop)]
    assert asked.done.completion_tokens == stopped.done.completion_tokens


def test_an_answer_with_a_guess_ends_at_its_limit_and_at_its_end_token() -> None:
    for most in range(1, 20):
        stage = Stage(FakeNetwork(900, end_every=9))
        request = ask(numbers(20), max_tokens=most)
        guess = (*stage.expected(ask(numbers(20), max_tokens=40)), 5, 5, 5)
        asked = stage.answer(ask(numbers(20), max_tokens=most, draft=guess))
        assert asked.said() == stage.expected(request)


def test_choices_with_one_guess_are_verified_apart() -> None:
    sampling = Sampling(temperature=0.9, seed=8)
    plain = Stage(FakeNetwork(900, end_every=NEVER)).answer(
        ask(numbers(20), choices=3, max_tokens=20, sampling=sampling)
    )
    guess = tuple(plain.said(1))
    asked = Stage(FakeNetwork(900, end_every=NEVER)).answer(
        ask(numbers(20), choices=3, max_tokens=20, sampling=sampling, draft=guess)
    )
    assert [asked.said(n) for n in range(3)] == [plain.said(n) for n in range(3)]


def test_without_a_promise_for_any_cut_nothing_is_guessed() -> None:
    stage = Stage(FakeNetwork(900, Exactness(16, shares_generated=False), end_every=NEVER))
    guess = tuple(stage.expected(ask(numbers(20), max_tokens=20)))
    asked = stage.answer(ask(numbers(20), max_tokens=20, draft=guess))
    stage.assert_true(asked)
    assert asked.done.accepted_draft == 0


def test_a_guess_takes_nobody_s_slots() -> None:
    stage = Stage(FakeNetwork(50, end_every=NEVER), limits=Limits(tail=1), context=50)
    guess = tuple(stage.expected(ask(numbers(20), max_tokens=20)))
    guessing = stage.submit(ask(numbers(20), max_tokens=20, draft=guess))
    other = stage.submit(ask((39, *numbers(14, seed=1)), max_tokens=5))
    stage.run()
    stage.assert_true(guessing)
    stage.assert_true(other)
    assert guessing.done.accepted_draft > 0
    assert stage.scheduler.counters.preemptions == 0
