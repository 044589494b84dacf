"""The thread: what may be asked of it while it works, and how it ends."""

from __future__ import annotations

import threading

import pytest

from semcache.engine.generation import Done, Runner
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.runner import PagedRunner
from semcache.errors import EngineError, RequestError
from tests.engine.conftest import eventually
from tests.engine.scheduling.fake_network import FakeModel, FakeNetwork
from tests.engine.scheduling.stage import ask
from tests.engine.scheduling.test_answers import numbers
from tests.engine.tiny import Inbox


def answered(runner: PagedRunner, *prompts: tuple[int, ...]) -> list[Done]:
    inboxes = [Inbox() for _ in prompts]
    for prompt, inbox in zip(prompts, inboxes, strict=True):
        runner.submit(ask(prompt, max_tokens=4), inbox)
    ends = [inbox.all()[-1] for inbox in inboxes]
    assert all(isinstance(end, Done) for end in ends)
    return [end for end in ends if isinstance(end, Done)]


@pytest.fixture
def runner():
    found = PagedRunner(FakeModel(FakeNetwork(600), context=400), checks=True)
    yield found
    found.close()


def test_it_tells_what_it_holds(runner: PagedRunner) -> None:
    assert isinstance(runner, Runner)
    first, second = answered(runner, (*numbers(90), 1)), answered(runner, (*numbers(90), 2))
    report = runner.report()
    assert report.free + report.tree + report.running == report.capacity == 600
    assert (report.prompt, report.cached) == (182, 90)
    assert report.generated == first[0].completion_tokens + second[0].completion_tokens
    assert (report.active, report.queued, report.running, report.pinned, report.failures) == (0, 0, 0, 0, 0)
    assert report.high_water >= report.tree > 90
    assert report.tenants[0].tokens == report.tree
    assert report.tenants[0].tenant != "local"
    view = runner.tree_view(10)
    assert sum(node.tokens for node in view) == report.tree
    assert view[0].tokens == 90
    assert runner.top_prefixes(3)[0].tokens == 90
    assert runner.clear() == report.tree
    assert runner.report().tree == 0
    runner.check_integrity()


def test_it_may_be_asked_from_many_threads_while_it_works(runner: PagedRunner) -> None:
    asked: list[bool] = []

    def ask_on() -> None:
        for _ in range(30):
            report = runner.report()
            runner.check_integrity()
            asked.append(report.free + report.tree + report.running == report.capacity)

    threads = [threading.Thread(target=ask_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    for round_ in range(6):
        answered(runner, *[(*numbers(60, seed=n), round_) for n in range(4)])
    for thread in threads:
        thread.join()
    assert asked == [True] * 90


def test_a_closed_one_refuses_at_once(runner: PagedRunner) -> None:
    runner.close()
    for question in (
        runner.report,
        runner.clear,
        lambda: runner.tree_view(3),
        lambda: runner.top_prefixes(3),
    ):
        with pytest.raises(EngineError, match="shutting down"):
            question()
    with pytest.raises(EngineError, match="shutting down"):
        runner.submit(ask(), Inbox())


def test_background_work_has_a_queue_of_its_own() -> None:
    gate = threading.Event()
    network = FakeNetwork(600)
    network.before = lambda _: gate.wait(20)
    runner = PagedRunner(FakeModel(network, context=400), limits=Limits(active=1), max_queue=2, checks=True)
    try:
        inboxes = [Inbox() for _ in range(3)]
        runner.submit(ask((1, 1), background=True, max_tokens=0), inboxes[0])
        eventually(lambda: network.passes)  # the first one runs, and the queue is empty
        for inbox in inboxes[1:]:
            runner.submit(ask((2, 1), background=True, max_tokens=0), inbox)
        with pytest.raises(RequestError):
            runner.submit(ask((3, 1), background=True, max_tokens=0), Inbox())
        user = Inbox()
        runner.submit(ask(numbers(9)), user)
        gate.set()
        for inbox in (user, *inboxes):
            assert isinstance(inbox.all()[-1], Done)
    finally:
        gate.set()
        runner.close()
