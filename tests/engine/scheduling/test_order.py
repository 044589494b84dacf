"""Who comes when: prompts in turn, tenants in turn, background work never before a user."""

from __future__ import annotations

import threading
import time

import pytest

from semcache.engine.forward import Exactness
from semcache.engine.generation import Delta, Event
from semcache.engine.layers import Layer, Owner
from semcache.engine.scheduling.job import Job
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.queue import WaitingQueue
from semcache.errors import RequestError
from tests.engine.scheduling.fake_network import FakeNetwork
from tests.engine.scheduling.stage import Asked, Stage, ask
from tests.engine.scheduling.test_answers import numbers

NEVER = 10**9
GRID = Exactness(64, shares_generated=False)


def of(tenant: str) -> tuple[Layer, ...]:
    return (Layer(1, Owner(tenant, tenant.encode())),)


@pytest.mark.parametrize("exactness", [Exactness(), GRID], ids=["any cut", "grid"])
def test_a_long_prompt_delays_an_answer_by_one_piece_a_token(exactness: Exactness) -> None:
    stage = Stage(FakeNetwork(3000, exactness, end_every=NEVER), context=3000)
    short = stage.submit(ask(numbers(10), max_tokens=100))
    stage.step()
    stage.submit(ask(numbers(1000, seed=1), max_tokens=4))
    while not short.is_over:
        told, passes = len(short.events), len(stage.network.passes)
        stage.step()
        made = sum(len(piece.tokens) for pieces in stage.network.passes[passes:] for piece in pieces)
        assert len(short.events) > told
        assert made <= 64 + 1 + 1
    stage.run()


def test_prompts_are_read_in_turns_and_a_short_one_waits_for_one_piece_of_a_long_one() -> None:
    stage = Stage(FakeNetwork(3000), context=2000)
    long = [stage.submit(ask((seed, *numbers(900, seed=seed)), max_tokens=1)) for seed in (1, 2)]
    for _ in range(6):
        stage.step()
    first = [piece.tokens[0] for pieces in stage.network.passes for piece in pieces if piece.position == 0]
    assert first == [1, 2]
    assert [pieces[0].position for pieces in stage.network.passes[:6]] == [0, 0, 64, 64, 128, 128]
    short = stage.submit(ask((3, *numbers(9)), max_tokens=1))
    for _ in range(3):  # behind those two that wait for their next piece
        assert not short.is_over
        stage.step()
    assert short.is_over
    assert not any(one.is_over for one in long)
    stage.run()


def test_what_a_short_prompt_leaves_of_the_budget_is_another_s() -> None:
    stage = Stage(FakeNetwork(3000), context=2000)
    for seed in range(4):
        stage.submit(ask((seed, *numbers(10)), max_tokens=4))
    stage.submit(ask((9, *numbers(200)), max_tokens=4))
    stage.step()
    assert [len(piece.tokens) for piece in stage.network.passes[0]] == [11, 11, 11, 11, 20]


def test_a_stream_of_short_prompts_does_not_starve_a_long_one() -> None:
    stage = Stage(FakeNetwork(3000), context=2000)
    long = stage.submit(ask((39, *numbers(640)), max_tokens=1))
    for seed in range(200):
        stage.submit(ask((seed % 38, *numbers(63, seed=seed)), max_tokens=1))
        stage.step()
        if long.is_over:
            break
    assert long.is_over
    assert seed < 70  # one more comes between each two of its eleven pieces
    stage.run()


def test_one_tenant_does_not_starve_another() -> None:
    stage = Stage(FakeNetwork(900), limits=Limits(active=1))
    order: list[str] = []

    def submit(tenant: str, seed: int) -> None:
        asked = stage.submit(ask(numbers(12, seed=seed), layers=of(tenant), max_tokens=2))
        keep = asked.job._sink
        asked.job._sink = lambda event: (
            order.append(tenant) if isinstance(event, Delta) else None,
            keep(event),
        )

    for seed in range(40):
        submit("greedy", seed)
    for seed in range(3):
        submit("modest", seed)
    stage.run()
    assert [name for name in order if name][:12].count("modest") >= 4


def test_background_work_waits_until_nothing_else_is_to_be_done() -> None:
    stage = Stage(FakeNetwork(2000), context=1000)
    warm = stage.submit(ask(numbers(640), max_tokens=0, background=True))
    for _ in range(3):
        stage.step()
    assert stage.network.computed == 3 * 64
    user = stage.submit(ask(numbers(30, seed=1), max_tokens=5))
    while not user.is_over:
        stage.step()
        assert all(len(piece.tokens) <= 30 for piece in stage.network.passes[-1])
    assert stage.network.passes[3][0].tokens == numbers(30, seed=1)  # at most one piece of delay
    assert not warm.is_over
    stage.run()
    assert warm.is_over
    assert stage.scheduler.counters.preemptions == 0


def test_fc_191_background_work_is_no_traffic_and_no_hit_and_holds_nothing() -> None:
    stage = Stage(FakeNetwork(700), context=500)
    for seed in range(10):
        for _ in range(3):
            stage.submit(ask((seed, *numbers(59, seed=seed)), max_tokens=0, background=True))
    stage.run()
    counters = stage.scheduler.counters
    assert (counters.prompt, counters.cached, counters.generated) == (0, 0, 0)
    assert counters.background == 10 * 60 + 20
    assert stage.tree.counts().pinned == 0
    assert stage.tree.top(5, stage.seconds) == ()
    for seed in range(100):
        stage.assert_true(stage.answer(ask((10 + seed % 30, *numbers(50, seed=1000 + seed)), max_tokens=2)))
    assert counters.cached <= 70 + 30  # the first tokens that these random prompts have in common
    hit = stage.answer(ask((19, *numbers(50, seed=1099)), max_tokens=1))
    assert hit.done.cached_tokens == 50


def test_a_warmed_prefix_is_found() -> None:
    stage = Stage(FakeNetwork(700), context=500)
    stage.answer(ask(numbers(200), max_tokens=0, background=True))
    asked = stage.answer(ask((*numbers(200), 1, 2), max_tokens=3))
    stage.assert_true(asked)
    assert asked.done.cached_tokens == 200


def test_background_work_that_does_not_fit_fails_alone() -> None:
    stage = Stage(FakeNetwork(100), context=500)
    warm = stage.answer(ask(numbers(101), max_tokens=0, background=True))
    assert "longer than the engine's memory" in (warm.error or "")


@pytest.fixture
def waiting() -> WaitingQueue:
    return WaitingQueue(64)


def job(tenant: str) -> Job:
    return Job(ask(layers=of(tenant)), lambda _: None, 0.0, lambda _: None)


def test_ten_thousand_submissions_are_queued_or_refused_in_no_time(waiting: WaitingQueue) -> None:
    began = time.process_time()
    refused: list[RequestError] = []
    for number in range(10_000):
        try:
            waiting.push(job(f"t{number % 300}"))
        except RequestError as error:
            refused.append(error)
    assert {(error.status, error.code) for error in refused} == {(503, "overloaded")}
    assert all(dict(error.headers)["retry-after"].isdigit() for error in refused)
    assert len(waiting) == 10_000 - len(refused) == 64
    assert time.process_time() - began < 1.5


def test_work_for_a_submission_does_not_grow_with_the_queue() -> None:
    def seconds(size: int) -> float:
        queue = WaitingQueue(size)
        for _ in range(size - 1):
            queue.push(job("a"))
        best = 1.0
        for _ in range(200):
            one = job("a")
            began = time.perf_counter()
            queue.push(one)
            queue.head()
            queue.remove(one)
            best = min(best, time.perf_counter() - began)
        return best

    assert seconds(20_000) < 10 * seconds(20)


def test_a_full_queue_still_takes_in_a_tenant_below_its_share(waiting: WaitingQueue) -> None:
    for _ in range(64):
        waiting.push(job("greedy"))
    with pytest.raises(RequestError):
        waiting.push(job("greedy"))
    for _ in range(32):
        waiting.push(job("modest"))
    with pytest.raises(RequestError):
        waiting.push(job("modest"))
    for number in range(500):
        try:
            waiting.push(job(f"crowd {number}"))
        except RequestError:
            break
    assert len(waiting) <= 128


def test_tenants_take_turns_and_each_keeps_its_order(waiting: WaitingQueue) -> None:
    jobs = [job(name) for name in "aaabbc"]
    for one in jobs:
        waiting.push(one)
    order = []
    while (head := waiting.head()) is not None:
        assert waiting.take(head)
        order.append(jobs.index(head))
    assert order == [0, 3, 5, 1, 4, 2]


def test_a_queue_that_many_threads_use_loses_nobody() -> None:
    queue = WaitingQueue(10_000)
    left: list[Job] = []

    def work(name: str) -> None:
        mine = [job(name) for _ in range(300)]
        for one in mine:
            queue.push(one)
        for one in mine[::2]:
            assert queue.remove(one)
        left.extend(mine[1::2])

    threads = [threading.Thread(target=work, args=(f"t{n % 3}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(queue) == len(left) == 900
    assert set(queue.drain()) == set(left)
    assert queue.head() is None


def is_text(event: Event) -> bool:
    return isinstance(event, Delta)


def test_a_preempted_request_goes_before_those_that_wait() -> None:
    stage = Stage(FakeNetwork(90, end_every=NEVER), limits=Limits(active=3, tail=4), context=80)
    asked: list[Asked] = [
        stage.submit(ask((seed, *numbers(9, seed=seed)), max_tokens=60)) for seed in range(6)
    ]
    finished: list[int] = []
    while stage.scheduler.has_work:
        stage.step()
        finished += [n for n, one in enumerate(asked) if one.is_over and n not in finished]
    assert finished == sorted(finished)
    assert stage.scheduler.counters.preemptions
