"""Faults that nobody foresaw, inside the tree or its order of eviction: the engine begins again and serves on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from semcache.engine.generation import Done, Failed
from semcache.engine.metrics import EngineMetrics
from semcache.engine.prefix.faults import IntegrityError
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.pool import Keeping
from semcache.engine.scheduling.runner import PagedRunner
from semcache.errors import EngineError
from tests.engine.conftest import eventually
from tests.engine.scheduling.fake_network import GUILTY, FakeModel, FakeNetwork
from tests.engine.scheduling.stage import Asked, ask
from tests.engine.scheduling.test_answers import numbers
from tests.engine.tiny import Inbox

SLOTS = 150
TOLD = "the generation failed inside the engine"

Start = Callable[..., PagedRunner]


@pytest.fixture
def network() -> FakeNetwork:
    return FakeNetwork(SLOTS)


@pytest.fixture
def start(network: FakeNetwork) -> Iterator[Start]:
    started: list[PagedRunner] = []

    def begin(**options: Any) -> PagedRunner:
        started.append(PagedRunner(FakeModel(network, context=140), checks=True, **options))
        return started[-1]

    yield begin
    for runner in started:
        runner.close()


def send(runner: PagedRunner, prompt: tuple[int, ...], **changes: Any) -> Callable[[], Asked]:
    """Submit a request; what comes back waits for its end."""
    asked, inbox = Asked(ask(prompt, **changes)), Inbox()
    asked.job = runner.submit(asked.request, inbox)

    def end() -> Asked:
        asked.events = asked.events or inbox.all()
        assert sum(isinstance(event, Done | Failed) for event in asked.events) == 1
        return asked

    return end


def served(runner: PagedRunner, network: FakeNetwork, prompt: tuple[int, ...]) -> Done:
    """Have a prompt answered, as if nothing had ever been cached."""
    asked = send(runner, prompt)()
    assert asked.error is None
    assert asked.said() == [token for token in network.truth(prompt, 8) if token < 47]
    return asked.done


def breaks(runner: PagedRunner, part: str, method: str, fault: Exception, times: int = 1) -> None:
    """Let a method of the tree, its structure or its queue raise, so many times, after doing its work."""
    tree = runner._books.tree
    owner: Any = {"tree": tree, "structure": tree._structure, "queue": tree._structure.queue}[part]
    real = getattr(owner, method)
    left = [times]

    def broken(*given: Any, **named: Any) -> Any:
        found = real(*given, **named)
        if left[0]:
            left[0] -= 1
            raise fault
        return found

    setattr(owner, method, broken)


@pytest.mark.parametrize(
    ("part", "method"),
    [
        ("queue", "pop"),
        ("queue", "remove"),
        ("queue", "add"),
        ("structure", "drop"),
        ("structure", "chain"),
        ("tree", "match"),
        ("tree", "lock"),
        ("tree", "insert"),
        ("tree", "unlock"),
        ("tree", "evict"),
    ],
)
@pytest.mark.parametrize(
    "fault", [IndexError("secret"), KeyError("secret"), IntegrityError("told in numbers")]
)
def test_a_fault_in_the_tree_costs_what_runs_and_all_prefixes(
    start: Start,
    network: FakeNetwork,
    caplog: pytest.LogCaptureFixture,
    part: str,
    method: str,
    fault: Exception,
) -> None:
    runner = start(limits=Limits(active=1))
    known = numbers(60)
    served(runner, network, known)
    assert served(runner, network, known).cached_tokens == 59
    for seed in (3, 4):
        served(runner, network, numbers(30, seed=seed))
    before = runner.report()
    breaks(runner, part, method, fault)
    with caplog.at_level(logging.WARNING):
        # One that goes on from a prefix and needs others' room, and one that waits meanwhile.
        bad, good = send(runner, known + numbers(70, seed=1)), send(runner, numbers(50, seed=2))
        assert bad().error in (TOLD, "told in numbers")
        assert good().error is None
        assert good().said() == [token for token in network.truth(numbers(50, seed=2), 8) if token < 47]
    assert "secret" not in caplog.text
    assert type(fault).__name__ in caplog.text
    after = runner.report()
    assert runner.is_alive
    assert (after.failures, after.recoveries) == (1, 1)
    assert after.free + after.tree + after.running == after.capacity == SLOTS
    assert after.running == after.pinned == 0
    assert after.steps > before.steps
    assert after.generated > before.generated
    assert after.high_water >= before.high_water
    assert network.cleared >= SLOTS
    assert served(runner, network, known).cached_tokens == 0
    assert served(runner, network, known).cached_tokens == 59
    runner.check_integrity()


def test_a_request_that_brings_a_fault_each_time_is_not_tried_again(
    start: Start, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    from semcache.engine.prefix.tree import PrefixTree

    real = PrefixTree.match

    def match(tree: PrefixTree, tokens: bytes, layers: Any) -> Any:
        if tokens.startswith(GUILTY.to_bytes(4, "little")):
            raise KeyError(GUILTY)
        return real(tree, tokens, layers)

    monkeypatch.setattr(PrefixTree, "match", match)
    runner = start(limits=Limits(active=1))
    asked = [send(runner, prompt) for prompt in ((GUILTY, 1, 2), numbers(20), (GUILTY, 3), numbers(30))]
    assert [one().error for one in asked] == [TOLD, None, TOLD, None]
    background = send(runner, (GUILTY, 4), background=True, max_tokens=0)
    assert background().error == TOLD
    report = runner.report()
    assert (report.failures, report.recoveries) == (3, 3)
    runner.check_integrity()


def test_all_that_runs_is_told_once_and_who_waits_is_served(start: Start, network: FakeNetwork) -> None:
    gate = threading.Event()
    network.before = lambda _: gate.wait(20)
    runner = start(limits=Limits(active=3))
    running = [send(runner, numbers(30), choices=2), send(runner, numbers(30, seed=1))]
    eventually(lambda: network.passes)
    waiting = [send(runner, numbers(40, seed=seed)) for seed in (2, 3)]
    breaks(runner, "queue", "pop", IndexError())
    breaks(runner, "tree", "insert", ZeroDivisionError(), times=99)
    breaks(runner, "tree", "unlock", ZeroDivisionError(), times=99)
    gate.set()
    assert [one().error for one in running] == [TOLD] * 2
    assert [one().error for one in waiting] == [None] * 2
    assert runner.stats().active == 0
    assert runner.report().recoveries == 1


@pytest.mark.parametrize("fault", [IndexError("secret"), IntegrityError("told in numbers")])
def test_a_question_that_meets_a_fault_is_refused_and_the_engine_begins_again(
    start: Start, network: FakeNetwork, fault: Exception
) -> None:
    runner = start()
    served(runner, network, numbers(60))
    breaks(runner, "queue", "pop", fault)
    with pytest.raises(EngineError) as refused:
        runner.clear()
    assert "secret" not in str(refused.value)
    assert runner.report().recoveries == 1
    assert runner.report().tree == 0
    served(runner, network, numbers(60))
    runner.check_integrity()


def test_an_account_that_is_found_wrong_is_thrown_away(start: Start, network: FakeNetwork) -> None:
    runner = start()
    served(runner, network, numbers(60))
    runner._books.allocator._free -= 1
    with pytest.raises(EngineError):
        runner.check_integrity()
    served(runner, network, numbers(60))
    runner.check_integrity()
    assert runner.report().recoveries == 1


def test_counters_go_on_and_the_metric_tells(start: Start, network: FakeNetwork) -> None:
    runner = start(keeping=Keeping(host_bytes=1 << 20))
    for seed in range(3):
        served(runner, network, numbers(90, seed=seed))
    before = runner.report()
    assert before.evictions
    assert before.host_tokens
    breaks(runner, "tree", "lock", ZeroDivisionError())
    assert send(runner, numbers(20))().error == TOLD
    after = runner.report()
    assert after.evictions == before.evictions
    assert (after.high_water, after.steps, after.host_tokens) == (before.high_water, before.steps, 0)
    assert b"semcache_engine_recoveries_total 1.0" in EngineMetrics(runner.report).render()


def test_the_end_comes_to_everybody_even_if_the_tree_is_broken(start: Start, network: FakeNetwork) -> None:
    gate = threading.Event()
    network.before = lambda _: gate.wait(20)
    runner = start(limits=Limits(active=1))
    asked = [send(runner, numbers(30, seed=seed)) for seed in range(2)]
    eventually(lambda: network.passes)
    breaks(runner, "tree", "unlock", ZeroDivisionError(), times=99)
    closing = threading.Thread(target=runner.close)
    closing.start()
    eventually(lambda: not runner.is_alive)
    gate.set()
    closing.join(10)
    assert asked[0]().error in (TOLD, "the engine is shutting down")
    assert asked[1]().error == "the engine is shutting down"
