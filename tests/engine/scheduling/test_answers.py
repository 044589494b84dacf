"""What is reused, and that nobody can tell from the answer."""

from __future__ import annotations

import itertools
import random

import pytest

from semcache.engine.forward import Exactness
from semcache.engine.generation import Delta, Finished, FinishReason, Reuse, Sampling
from semcache.engine.layers import PUBLIC, Layer, Owner
from semcache.engine.scheduling.planning import Limits
from tests.engine.scheduling.fake_network import END, FakeNetwork
from tests.engine.scheduling.stage import Stage, ask

A, B = Owner("a", b"salt a"), Owner("b", b"salt b")


def numbers(count: int, seed: int = 0) -> tuple[int, ...]:
    source = random.Random(seed)
    return tuple(source.randrange(40) for _ in range(count))


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 64, 65])
def test_fc_042_a_prompt_that_is_cached_whole_computes_its_last_token_again(length: int) -> None:
    stage = Stage(FakeNetwork())
    request = ask(numbers(length), max_tokens=10)
    first = stage.answer(request)
    before, passes = stage.network.computed, len(stage.network.passes)
    second = stage.answer(request)
    assert second.said() == first.said() == stage.expected(request)
    assert (first.done.cached_tokens, second.done.cached_tokens) == (0, length - 1)
    assert stage.network.passes[passes][0].position == length - 1
    assert stage.network.computed - before == 1 + second.done.completion_tokens - 1


def test_fc_184_the_next_turn_of_a_chat_reuses_prompt_and_answer_but_the_last_token() -> None:
    stage = Stage(FakeNetwork(900, end_every=10**9), context=900)
    prompt = numbers(40)
    known = 0
    for turn in range(9):
        asked = stage.answer(ask(prompt, max_tokens=30))
        stage.assert_true(asked)
        assert asked.done.cached_tokens == known
        known = len(prompt) + 30 - 1
        prompt = (*prompt, *asked.said(), *numbers(20, seed=turn + 1))


def test_fc_044_an_edited_turn_leaves_nothing_behind_that_is_not_so() -> None:
    stage = Stage(FakeNetwork())
    first = stage.answer(ask(numbers(31), max_tokens=12))
    edited = (*numbers(25), *numbers(6, seed=9))
    stage.assert_true(stage.answer(ask(edited, max_tokens=12)))
    again = stage.answer(ask((*numbers(31), *first.said()), max_tokens=12))
    stage.assert_true(again)


def test_fc_050_log_probabilities_of_an_answer_do_not_depend_on_what_was_cached() -> None:
    stage = Stage(FakeNetwork())
    request = ask(numbers(50), max_tokens=6, logprobs=4)
    first, second = stage.answer(request), stage.answer(request)
    deltas = [[event for event in asked.events if isinstance(event, Delta)] for asked in (first, second)]
    assert deltas[0] == deltas[1]
    assert all(len(chance.alternatives) == 4 for event in deltas[0] for chance in event.logprobs)


def test_a_hundred_requests_with_one_new_head_compute_it_once() -> None:
    stage = Stage(FakeNetwork(3000), context=1000)
    head = numbers(600)
    asked = [stage.submit(ask((*head, *numbers(5, seed=n), n % 40), max_tokens=3)) for n in range(100)]
    stage.run()
    for one in asked:
        stage.assert_true(one)
    made = [piece for pieces in stage.network.passes for piece in pieces]
    assert sum(max(min(piece.position + len(piece.tokens), 600) - piece.position, 0) for piece in made) == 600
    counters = stage.scheduler.counters
    assert counters.prompt - counters.cached <= 600 + 100 * 6
    assert counters.recomputed == 0


def test_the_choices_of_a_request_share_its_prompt() -> None:
    stage = Stage(FakeNetwork(), limits=Limits(tail=4))
    asked = stage.submit(ask(numbers(60), choices=5, max_tokens=6))
    most = 0
    while stage.scheduler.has_work:
        stage.step()
        most = max(most, stage.allocator.used)
    stage.assert_true(asked)
    assert most <= 60 + 5 * 8
    assert stage.network.computed == 60 + sum(len(stage.expected(asked.request)) - 1 for _ in range(5))


def test_drawn_tokens_depend_on_the_seed_alone() -> None:
    sampling = Sampling(temperature=1.2, top_p=0.95, seed=77)
    request = ask(numbers(30), sampling=sampling, choices=3, max_tokens=10)
    alone = Stage(FakeNetwork()).answer(request)
    stage = Stage(FakeNetwork(2000))
    crowd = [stage.submit(ask(numbers(20, seed=n), max_tokens=20)) for n in range(6)]
    among = stage.submit(request)
    stage.run()
    assert [among.said(n) for n in range(3)] == [alone.said(n) for n in range(3)]
    assert len({tuple(among.said(n)) for n in range(3)}) == 3
    for one in crowd:
        stage.assert_true(one)


def test_any_order_of_arrival_gives_the_same_answers() -> None:
    heads = [numbers(30, seed=1), numbers(45, seed=2)]
    prompts = [(*head, *numbers(4, seed=n)) for head in heads for n in range(3)]
    for order in itertools.islice(itertools.permutations(prompts), 0, 720, 60):
        stage = Stage(FakeNetwork(180), limits=Limits(chunk=16, budget=24, active=4))
        asked = []
        for prompt in order:
            asked.append(stage.submit(ask(prompt, max_tokens=9)))
            stage.step()
        stage.run()
        for one in asked:
            stage.assert_true(one)


def test_an_answer_is_the_same_after_eviction() -> None:
    stage = Stage(FakeNetwork(100))
    request = ask(numbers(60), max_tokens=12)
    first = stage.answer(request)
    stage.slots.evict_all()
    assert stage.tree.tokens == 0
    second = stage.answer(request)
    assert second.said() == first.said()
    assert second.done.cached_tokens == 0


def test_a_public_head_is_shared_by_tenants_and_a_private_tail_is_not() -> None:
    stage = Stage(FakeNetwork(400))
    head, tail = numbers(50), numbers(20, seed=3)

    def of(owner: Owner) -> tuple[Layer, ...]:
        return (Layer(50, PUBLIC), Layer(70, owner))

    first = stage.answer(ask(head + tail, layers=of(A)))
    other = stage.answer(ask(head + tail, layers=of(B)))
    again = stage.answer(ask(head + tail, layers=of(A)))
    assert [one.done.cached_tokens for one in (first, other, again)] == [0, 50, 69]
    assert [one.done.reuse.public_tokens for one in (first, other, again)] == [0, 50, 50]
    assert first.said() == other.said() == again.said()
    assert len(again.done.reuse.digest) > 8
    assert again.done.reuse.digest != other.done.reuse.digest
    assert 0 < again.done.reuse.age_seconds < 1000
    assert first.done.reuse == Reuse()


def test_the_answer_to_a_wholly_public_prompt_stays_private() -> None:
    stage = Stage(FakeNetwork(400))
    layers = (Layer(30, PUBLIC),)
    asked = stage.answer(ask(numbers(30), layers=layers, max_tokens=12))
    assert stage.tree.tokens == 30
    after = stage.answer(ask((*numbers(30), *asked.said()), layers=layers, max_tokens=1))
    assert after.done.cached_tokens == 30


def test_the_time_to_the_first_token_is_told_in_parts() -> None:
    stage = Stage(FakeNetwork(400))
    timing = stage.answer(ask(numbers(150), max_tokens=3)).done.timing
    assert min(timing.queue, timing.match, timing.prefill, timing.first_token) > 0


def test_a_prompt_that_is_only_to_be_computed_gives_no_token() -> None:
    stage = Stage(FakeNetwork(400))
    asked = stage.answer(ask(numbers(70), max_tokens=0))
    assert [type(event) for event in asked.events[:-1]] == [Finished]
    assert asked.events[0] == Finished(0, FinishReason.LENGTH)
    assert (asked.done.completion_tokens, stage.tree.tokens) == (0, 70)


def test_an_end_token_ends_and_is_counted() -> None:
    stage = Stage(FakeNetwork(400, end_every=3))
    request = ask(numbers(9), max_tokens=40)
    asked = stage.answer(request)
    whole = stage.network.truth(request.prompt, 40)
    assert whole[-1] == END
    assert asked.done.completion_tokens == len(whole)
    assert asked.events[-2] == Finished(0, FinishReason.STOP)


@pytest.mark.parametrize("exactness", [Exactness(), Exactness(8, False), Exactness(1, False)], ids=str)
def test_a_step_moves_every_answer_by_one_token_in_one_pass(exactness: Exactness) -> None:
    stage = Stage(FakeNetwork(900, exactness, end_every=10**9))
    for seed in range(6):
        stage.submit(ask(numbers(10, seed=seed), max_tokens=50))
    while any(len(pieces) < 6 for pieces in stage.network.passes[-1:]) or not stage.network.passes:
        stage.step()
    before = len(stage.network.passes)
    for _ in range(10):
        stage.step()
    assert [len(pieces) for pieces in stage.network.passes[before:]] == [6] * 10
