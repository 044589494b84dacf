"""Whatever goes wrong in a pass, in sampling or at an owner's: one request fails, the pool stays whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from semcache.engine.forward import Piece
from semcache.engine.generation import Event, Failed, Sampling
from semcache.errors import EngineError
from tests.engine.scheduling.fake_network import END, GUILTY, POISON, FakeNetwork
from tests.engine.scheduling.stage import Stage, ask
from tests.engine.scheduling.test_answers import numbers


@pytest.mark.parametrize("fault", [MemoryError(), RuntimeError("CUDA out of memory: hello")])
def test_a_pass_that_is_too_large_is_tried_one_by_one_and_nobody_fails(fault: Exception) -> None:
    stage = Stage(FakeNetwork(400))

    def before(pieces: Sequence[Piece]) -> None:
        if len(pieces) > 1:
            raise fault

    stage.network.before = before
    asked = [stage.submit(ask(numbers(30, seed=seed), max_tokens=6)) for seed in range(3)]
    stage.run()
    for one in asked:
        stage.assert_true(one)


@pytest.mark.parametrize("fault", [MemoryError(), RuntimeError("hello"), EngineError("told")])
def test_the_guilty_one_fails_alone_and_its_slots_are_clean(fault: Exception) -> None:
    stage = Stage(FakeNetwork(400))

    def before(pieces: Sequence[Piece]) -> None:
        if any(GUILTY in piece.tokens for piece in pieces):
            raise fault

    stage.network.before = before
    good = [stage.submit(ask(numbers(30, seed=seed), max_tokens=6)) for seed in range(2)]
    bad = stage.submit(ask((*numbers(30, seed=3), GUILTY, 1), choices=2, max_tokens=6))
    stage.run()
    for one in good:
        stage.assert_true(one)
    assert bad.error is not None
    assert "hello" not in bad.error
    assert stage.scheduler.counters.failures == 1
    assert [type(event) for event in bad.events] == [Failed]


@pytest.mark.parametrize("place", [0, 5, 63, 64, 100])
@pytest.mark.parametrize("length", [101, 164])
def test_values_that_are_not_finite_are_never_shared(place: int, length: int) -> None:
    stage = Stage(FakeNetwork(600))
    prompt = list(numbers(length))
    prompt[place] = POISON
    good = stage.submit(ask(numbers(90, seed=1), max_tokens=20))
    bad = [stage.submit(ask(prompt, max_tokens=5)) for _ in range(2)]
    bad.append(stage.submit(ask(prompt, max_tokens=0, background=True)))
    stage.run()
    stage.assert_true(good)
    for one in bad:
        assert one.error == "the model gave logits that are not finite"
    after = stage.answer(ask((*prompt[:place], 7, 7, 7), max_tokens=5))
    stage.assert_true(after)
    assert after.done.cached_tokens == place - place % 64


def test_a_guess_that_is_not_finite_harms_nobody() -> None:
    stage = Stage(FakeNetwork(400))
    request = ask(numbers(20), max_tokens=12)
    guess = stage.expected(request)
    guess[4] = POISON
    asked = stage.answer(ask(numbers(20), max_tokens=12, draft=tuple(guess)))
    assert asked.said() == stage.expected(request)
    assert stage.network.left_dirty() == 0


class Form:
    """Allows one token at each place."""

    def __init__(self, tokens: Sequence[int], fault: Exception | None = None) -> None:
        self._tokens = list(tokens)
        self._fault = fault

    def apply(self, logits: Any) -> Any:
        if len(self._tokens) == 1 and self._fault:
            raise self._fault
        masked = torch.full_like(logits, -torch.inf)
        masked[self._tokens[0]] = logits[self._tokens[0]]
        return masked

    def accept(self, token: int) -> None:
        assert token == self._tokens.pop(0)

    @property
    def is_complete(self) -> bool:
        return self._tokens == [END]


def test_every_choice_keeps_to_a_form_of_its_own() -> None:
    stage = Stage(FakeNetwork(400))
    form = [4, 9, 2, 4, END]
    asked = stage.answer(ask(numbers(9), choices=3, new_constraint=lambda: Form(form)))
    assert [asked.said(index) for index in range(3)] == [[4, 9, 2, 4]] * 3


def test_a_form_goes_together_with_a_draft() -> None:
    stage = Stage(FakeNetwork(400))
    form = [4, 9, 2, 4, 11, 12, 13, END]
    draft = (4, 9, 2, 5, 11, 12, 13)
    asked = stage.answer(ask(numbers(9), draft=draft, new_constraint=lambda: Form(form)))
    assert asked.said() == form[:-1]
    assert asked.done.accepted_draft > 0


@pytest.mark.parametrize("fault", [KeyError("secret"), EngineError("the form is too costly here")])
def test_a_form_that_breaks_fails_its_request_alone(fault: Exception) -> None:
    stage = Stage(FakeNetwork(400))
    bad = stage.submit(ask(numbers(9), choices=2, new_constraint=lambda: Form([3, 4, 5], fault)))
    worse = stage.submit(ask(numbers(9), new_constraint=lambda: {}[0]))
    good = stage.submit(ask(numbers(9), max_tokens=20))
    stage.run()
    assert bad.error is not None
    assert worse.error is not None
    assert "secret" not in bad.error
    assert not any(event for event in bad.events[:-1] if isinstance(event, Failed))
    stage.assert_true(good)


def test_a_bias_for_a_token_that_is_none_fails_alone() -> None:
    stage = Stage(FakeNetwork(400))
    bad = stage.submit(ask(numbers(9), sampling=Sampling(temperature=0.0, bias=((10**6, 1.0),))))
    good = stage.submit(ask(numbers(12), max_tokens=20))
    stage.run()
    assert bad.error == "the generation failed inside the engine"
    stage.assert_true(good)


def test_an_owner_that_does_not_take_its_events_loses_them_alone() -> None:
    stage = Stage(FakeNetwork(400, end_every=10**9))
    bad = stage.submit(ask(numbers(9), max_tokens=50))

    def sink(_: Event) -> None:
        raise OSError("gone")

    bad.job._sink = sink
    good = stage.submit(ask(numbers(12), max_tokens=20))
    stage.run()
    stage.assert_true(good)
    assert stage.scheduler.counters.generated <= 20 + 2


@pytest.mark.parametrize(("prompt", "words"), [((), "empty"), (numbers(200), "no room in the context")])
def test_a_prompt_that_cannot_be_answered_fails_alone(prompt: tuple[int, ...], words: str) -> None:
    stage = Stage(FakeNetwork(400), context=200)
    bad = stage.submit(ask(prompt))
    good = stage.submit(ask(numbers(199)))
    stage.run()
    assert words in (bad.error or "")
    stage.assert_true(good)


def test_books_that_do_not_add_up_after_a_fault_end_the_engine() -> None:
    stage = Stage(FakeNetwork(400))
    stage.submit(ask(numbers(9), new_constraint=lambda: {}[0]))
    stage.allocator.take(3)  # slots that nobody answers for
    with pytest.raises(EngineError, match="account of its slots"):
        stage.scheduler.step()


def test_a_request_that_is_given_up_during_a_pass_leaves_nothing_that_is_not_finite() -> None:
    stage = Stage(FakeNetwork(400))
    bad = stage.submit(ask((*numbers(9), POISON, 1)))
    stage.network.before = lambda _: bad.job.cancel()
    stage.step()
    assert stage.network.left_dirty() == 0
    assert stage.slots.running == 0
