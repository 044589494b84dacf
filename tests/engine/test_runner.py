"""The decode loop: order of events, fairness, limits, faults and cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import torch

from semcache.engine.forward import Piece
from semcache.engine.generation import (
    Delta,
    Done,
    Event,
    Failed,
    Finished,
    FinishReason,
    GenerationRequest,
    Sampling,
)
from semcache.engine.model.loading import LoadedModel
from semcache.engine.scheduling.runner import PagedRunner
from semcache.errors import EngineError, RequestError
from tests.engine.conftest import eventually
from tests.engine.tiny import Inbox, ask, runner_of, scripted_model, tiny_llama, tiny_model

Start = Callable[..., PagedRunner]


@pytest.fixture
def start() -> Iterator[Start]:
    """Runners that end with the test."""
    runners: list[PagedRunner] = []

    def begin(model: LoadedModel, **limits: int) -> PagedRunner:
        runners.append(runner_of(model, **limits))
        return runners[-1]

    yield begin
    for runner in runners:
        runner.close()


def run(runner: PagedRunner, request: GenerationRequest) -> list[Event]:
    inbox = Inbox()
    runner.submit(request, inbox)
    return inbox.all()


def text(events: list[Event], index: int = 0) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta) and event.index == index)


def account(events: list[Event]) -> tuple[int, int]:
    done = events[-1]
    assert isinstance(done, Done)
    return done.prompt_tokens, done.completion_tokens


def finish(events: list[Event], index: int = 0) -> FinishReason:
    return next(event.reason for event in events if isinstance(event, Finished) and event.index == index)


def tokens(events: list[Event]) -> list[bytes]:
    return [item.chosen.token for event in events if isinstance(event, Delta) for item in event.logprobs]


PROMPTS = [[72], [1, 2, 3], list(range(40, 100)), [5] * 130, [200, 17, 99, 3, 250, 12, 7]]


@pytest.mark.parametrize("prompt", PROMPTS, ids=len)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_greedy_tokens_are_those_of_transformers_generate(start: Start, prompt: list[int], seed: int) -> None:
    network, model = tiny_llama(seed), tiny_model(seed)
    ids = torch.tensor([prompt])
    expected = network.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False, pad_token_id=0
    )[0, len(prompt) :].tolist()
    events = run(start(model, chunk=48), ask(prompt, max_tokens=24, logprobs=0))
    spoken = [model.vocabulary.name_bytes(token) for token in expected if token not in model.ends]
    assert tokens(events) == spoken
    assert account(events) == (len(prompt), len(expected))


def test_a_text_ends_at_its_end_token(start: Start) -> None:
    events = run(start(scripted_model("Hi there")), ask(max_tokens=50))
    assert text(events) == "Hi there"
    assert finish(events) is FinishReason.STOP
    assert account(events) == (3, 9)


def test_a_text_is_cut_at_max_tokens(start: Start) -> None:
    events = run(start(scripted_model("Hi there")), ask(max_tokens=4))
    assert (text(events), finish(events)) == ("Hi t", FinishReason.LENGTH)
    assert account(events) == (3, 4)


def test_a_text_is_cut_where_the_context_ends(start: Start) -> None:
    events = run(start(scripted_model("x" * 100, context=10)), ask((1, 2, 3, 4), max_tokens=50))
    assert (text(events), finish(events)) == ("xxxxxx", FinishReason.LENGTH)


def test_a_stop_string_is_found_across_tokens_and_never_shown(start: Start) -> None:
    events = run(start(scripted_model("one\n\ntwo")), ask(max_tokens=50, stop=("\n\n",), logprobs=0))
    assert (text(events), finish(events)) == ("one", FinishReason.STOP)
    assert b"".join(tokens(events)) == b"one"
    assert account(events) == (3, 5)


def test_what_was_held_back_for_a_stop_comes_at_the_end(start: Start) -> None:
    events = run(start(scripted_model("one\n")), ask(max_tokens=50, stop=("\n\n",), logprobs=0))
    assert (text(events), b"".join(tokens(events))) == ("one\n", b"one\n")


def test_characters_of_several_tokens_arrive_whole(start: Start) -> None:
    events = run(start(scripted_model("a😀é日")), ask(max_tokens=50))
    assert [event.text for event in events if isinstance(event, Delta)] == ["a", "😀", "é", "日"]


def test_a_character_that_the_limit_cuts_is_left_out(start: Start) -> None:
    events = run(start(scripted_model("a😀")), ask(max_tokens=3, logprobs=0))
    assert (text(events), finish(events)) == ("a", FinishReason.LENGTH)
    assert len(tokens(events)) == 3  # the tokens were made, and are reported


def test_seeds_repeat_and_choices_differ(start: Start, tiny: LoadedModel) -> None:
    runner = start(tiny)
    request = ask(choices=3, max_tokens=12, sampling=Sampling(temperature=1.5, seed=11))
    first, second = run(runner, request), run(runner, request)
    texts = [text(first, index) for index in range(3)]
    assert texts == [text(second, index) for index in range(3)]
    assert len(set(texts)) == 3
    assert sum(isinstance(event, Finished) for event in first) == 3


def test_greedy_choices_are_equal_although_they_share_one_reading(start: Start, tiny: LoadedModel) -> None:
    events = run(start(tiny), ask(choices=3, max_tokens=12))
    alone = run(start(tiny), ask(max_tokens=12))
    assert {text(events, index) for index in range(3)} == {text(alone)}


def test_a_prompt_of_many_choices_is_read_once(start: Start) -> None:
    lengths: list[int] = []
    model = scripted_model("ab", before=lambda state: lengths.append(len(state)))
    run(start(model), ask(choices=4))
    assert lengths.count(0) == 1


def test_a_bias_and_a_penalty_steer_the_choice(start: Start, tiny: LoadedModel) -> None:
    runner = start(tiny)
    one, other = tiny.vocabulary.name_bytes(65), tiny.vocabulary.name_bytes(66)
    biased = Sampling(temperature=0.0, bias=((65, 100.0),))
    assert tokens(run(runner, ask(max_tokens=5, logprobs=0, sampling=biased))) == [one] * 5
    # Both tower above the rest; the penalty outgrows what parts them, so that they take turns.
    penalised = Sampling(temperature=0.0, frequency_penalty=2.0, bias=((65, 100.0), (66, 100.0)))
    said = tokens(run(runner, ask(max_tokens=20, logprobs=0, sampling=penalised)))
    assert set(said) == {one, other}
    assert min(said.count(one), said.count(other)) >= 4


def test_running_requests_take_turns(start: Start) -> None:
    turns: list[str] = []
    gate = threading.Event()
    runner = start(scripted_model("x" * 40, before=lambda _: gate.wait(10)))
    inboxes = [Inbox() for _ in range(3)]
    for number, inbox in enumerate(inboxes):

        def sink(event: Event, number: int = number, inbox: Inbox = inbox) -> None:
            if isinstance(event, Delta):
                turns.append(str(number))
            inbox(event)

        runner.submit(ask(max_tokens=30), sink)
    gate.set()
    for inbox in inboxes:
        inbox.all()
    middle = turns[10:60]
    assert max(middle.count(name) for name in "012") - min(middle.count(name) for name in "012") <= 2


def test_a_long_prompt_does_not_stop_the_others(start: Start) -> None:
    order: list[str] = []
    gate = threading.Event()
    runner = start(scripted_model("y" * 60, before=lambda _: gate.wait(10)), chunk=4)
    short, long = Inbox(), Inbox()

    def note(name: str, inbox: Inbox) -> Callable[[Event], None]:
        def sink(event: Event) -> None:
            order.append(name)
            inbox(event)

        return sink

    runner.submit(ask(max_tokens=20), note("short", short))
    runner.submit(ask([7] * 120, max_tokens=5), note("long", long))
    gate.set()
    short.all()
    long.all()
    assert order.index("long") > 18  # 30 pieces of prompt, one between two tokens of the other


def test_two_long_prompts_are_read_in_turns(start: Start) -> None:
    fed: list[int] = []
    gate = threading.Event()

    def before(state: list[int]) -> None:
        gate.wait(10)
        if state:
            fed.append(state[0])

    runner = start(scripted_model("z", before=before), chunk=4)
    inboxes = [Inbox(), Inbox()]
    runner.submit(ask([7] * 40), inboxes[0])
    runner.submit(ask([8] * 40), inboxes[1])
    gate.set()
    for inbox in inboxes:
        inbox.all()
    assert fed[:12].count(7) == fed[:12].count(8) == 6


def test_no_more_run_than_may(start: Start) -> None:
    gate = threading.Event()
    runner = start(scripted_model("abc", before=lambda _: gate.wait(10)), max_active=2)
    inboxes = [Inbox() for _ in range(5)]
    for inbox in inboxes:
        runner.submit(ask(), inbox)
    eventually(lambda: runner.stats().active == 2)
    assert runner.stats().queued == 3
    gate.set()
    assert [text(inbox.all()) for inbox in inboxes] == ["abc"] * 5
    assert runner.stats().active == 0
    assert runner.stats().generated_tokens == 20


def test_more_choices_than_may_run_still_run_alone(start: Start) -> None:
    events = run(start(scripted_model("abc"), max_active=2), ask(choices=4))
    assert [text(events, index) for index in range(4)] == ["abc"] * 4


def test_a_full_queue_refuses_with_a_time_to_come_back(start: Start) -> None:
    gate = threading.Event()
    runner = start(scripted_model("abc", before=lambda _: gate.wait(10)), max_active=1, max_queue=2)
    first = Inbox()
    runner.submit(ask(), first)
    eventually(lambda: runner.stats().active == 1)
    waiting = [runner.submit(ask(), Inbox()) for _ in range(2)]
    with pytest.raises(RequestError) as refused:
        runner.submit(ask(), Inbox())
    assert (refused.value.status, refused.value.code) == (503, "overloaded")
    assert dict(refused.value.headers)["retry-after"].isdigit()
    waiting[0].cancel()
    last = Inbox()
    runner.submit(ask(), last)  # a place in the queue is free again at once
    gate.set()
    assert text(first.all()) == text(last.all()) == "abc"


def test_a_cancelled_request_takes_no_further_step(start: Start) -> None:
    steps = threading.Semaphore(0)
    done = threading.Semaphore(0)
    count = []

    def before(_: list[int]) -> None:
        count.append(1)
        done.release()
        steps.acquire(timeout=10)

    runner = start(scripted_model("x" * 100, before=before))
    ticket = runner.submit(ask(max_tokens=100), Inbox())
    for _ in range(5):
        done.acquire(timeout=10)
        steps.release()
    done.acquire(timeout=10)  # the sixth step is under way
    ticket.cancel()
    steps.release(100)
    eventually(lambda: runner.stats().active == 0)
    other = Inbox()
    runner.submit(ask(max_tokens=1), other)
    other.all()
    assert len(count) == 7  # six of the cancelled one, and one of the other


def test_a_cancelled_prompt_is_not_read_to_its_end(start: Start) -> None:
    pieces = []
    gate = threading.Semaphore(0)

    def before(_: list[int]) -> None:
        pieces.append(1)
        gate.acquire(timeout=10)

    runner = start(scripted_model("x", before=before), chunk=4)
    ticket = runner.submit(ask([9] * 200), Inbox())
    eventually(lambda: len(pieces) == 1)
    ticket.cancel()
    gate.release(100)
    eventually(lambda: runner.stats().active == 0)
    assert len(pieces) == 1


@pytest.mark.parametrize(
    "fault",
    [RuntimeError("out of memory"), KeyError("x"), MemoryError(), EngineError("the model gave nonsense")],
)
def test_a_fault_fails_its_own_request_only(start: Start, fault: Exception) -> None:
    def before(state: list[int]) -> None:
        if state and state[0] == 66 and len(state) > 5:
            raise fault

    runner = start(scripted_model("abcdefgh", before=before))
    good, bad = Inbox(), Inbox()
    runner.submit(ask([72, 73]), good)
    runner.submit(ask([66, 66], choices=2), bad)
    assert text(good.all()) == "abcdefgh"
    failed = bad.all()
    assert isinstance(failed[-1], Failed)
    assert "out of memory" not in str(failed[-1].error)
    assert text(run(runner, ask())) == "abcdefgh"
    assert bad.is_empty


def test_logits_that_are_no_numbers_fail_the_request(start: Start) -> None:
    model = scripted_model("abc")
    forward = model.network.forward

    def spoiled(pieces: list[Piece]) -> list[torch.Tensor]:
        worth = [float("nan") if piece.position > 3 else 1.0 for piece in pieces]
        return [rows * factor for rows, factor in zip(forward(pieces), worth, strict=True)]

    model.network.forward = spoiled
    runner = start(model)
    failed = run(runner, ask())[-1]
    assert isinstance(failed, Failed)
    assert "not finite" in str(failed.error)
    assert runner.is_alive


def test_closing_fails_what_runs_and_what_waits(start: Start) -> None:
    gate = threading.Event()
    runner = start(scripted_model("abc", before=lambda _: gate.wait(10)), max_active=1)
    inboxes = [Inbox(), Inbox()]
    for inbox in inboxes:
        runner.submit(ask(), inbox)
    eventually(lambda: runner.stats().active == 1)
    closing = threading.Thread(target=runner.close)
    closing.start()
    eventually(lambda: not runner.is_alive)
    gate.set()
    closing.join(10)
    for inbox in inboxes:
        assert isinstance(inbox.all()[-1], Failed)
    with pytest.raises(EngineError):
        runner.submit(ask(), Inbox())
    runner.close()
