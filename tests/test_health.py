"""A worker that is starting is not degraded; one that takes too long, or was well before, is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from semcache.embed.router import RoutedEncoder
from semcache.errors import EncoderError, StoreError
from semcache.health import START_WITHIN, Encoders, Health, PartState, Start
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.follower import Follower
from semcache.policy.classifiers import Classifiers
from semcache.policy.watch import LivePolicies
from semcache.ports import StoreReset
from semcache.proxy.edge import LoadGate
from semcache.store.near import NearCache
from tests.embed.test_router import CHINESE, routed, two
from tests.lookup.scripted_store import ScriptedStore, entry

PARTS = ("store", "index", "encoder", "classifier", "policies")
DOWN = StoreError("entry store: away", kind="down")


@dataclass
class Hand:
    """A clock that a test moves."""

    at: float = 1000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Worker:
    """The parts of a worker whose store says what the test lets it say."""

    clock: Hand = field(default_factory=Hand)
    store: ScriptedStore = field(default_factory=lambda: ScriptedStore(entry("one"), entry("two")))

    @asynccontextmanager
    async def begun(
        self, encoder: RoutedEncoder | None = None, *, preload: bool = True
    ) -> AsyncIterator[Health]:
        index = FaissIndex()
        follower = Follower(self.store, index, None, monotonic=self.clock.monotonic)
        policies = await LivePolicies.open(None)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(follower.run())]

            def spawn(work: object) -> asyncio.Task[None]:
                tasks.append(group.create_task(work))  # type: ignore[arg-type] # as the owner's tasks do
                return tasks[-1]

            classifiers = Classifiers(encoder, spawn, encoder.is_awake) if encoder is not None else None
            if classifiers is not None:
                await classifiers.prepare(policies.current, 5.0)
            yield Health(
                self.clock,
                policies,
                Encoders(encoder, preload) if encoder is not None else None,
                classifiers,
                index,
                NearCache(10, 1 << 20),
                follower,
                LoadGate(10),
            )
            for task in tasks:
                task.cancel()
        await index.aclose()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.005)


def told(health: Health) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
    """Give whether it is ready, what is starting and what is degraded; the gauges say the same."""
    state = health.readiness()
    gauges = {name: value for name, _, value in health.gauges()}
    assert [part for part in PARTS if gauges[f"semcache_degraded_{part}"]] == list(state.degraded)
    return state.ready, state.detail["starting"], state.degraded


async def test_a_worker_starts_and_then_is_ready() -> None:
    worker = Worker()
    worker.store.hold_scan_after = 1
    async with routed(*two()) as encoder, worker.begun(encoder) as health:
        await until(lambda: "classifier" not in told(health)[1])
        assert told(health) == (False, ("store", "index"), ())
        worker.store.say(StoreReset())
        await worker.store.scan_held.wait()
        assert told(health) == (False, ("index",), ())
        worker.store.scan_goes_on.set()
        await until(lambda: told(health) == (True, (), ()))


async def test_what_takes_too_long_is_no_start() -> None:
    worker = Worker()
    async with routed(*two()) as encoder, worker.begun(encoder) as health:
        worker.store.say(DOWN)
        worker.clock.at += START_WITHIN - 0.1
        await until(lambda: told(health) == (False, ("store", "index"), ()))
        worker.clock.at += 0.2
        # Without a store the proxy still forwards: who asks whether it serves is told yes.
        assert told(health) == (True, (), ("store", "index"))


async def test_what_was_well_before_is_degraded_at_once() -> None:
    worker = Worker()
    async with routed(*two()) as encoder, worker.begun(encoder) as health:
        worker.store.say(StoreReset())
        await until(lambda: told(health) == (True, (), ()))
        worker.store.say(DOWN)
        await until(lambda: told(health) == (True, (), ("index",)))
        worker.clock.at += 1.0
        assert told(health) == (True, (), ("store", "index"))


async def test_exemplars_on_their_way_are_a_start() -> None:
    worker = Worker()
    latin, multi = two()
    async with routed(latin, multi) as encoder:
        multi.gate.clear()
        async with worker.begun(encoder) as health:
            worker.store.say(StoreReset())
            await until(lambda: told(health) == (False, ("classifier",), ()))
            worker.clock.at += START_WITHIN
            worker.store.say(None, None)  # the second was waited for since then
            await until(lambda: told(health) == (True, (), ("classifier",)))
            multi.gate.set()
            await until(lambda: told(health) == (True, (), ()))


async def test_an_encoder_that_is_not_there_is_no_start() -> None:
    worker = Worker()
    async with worker.begun() as health:
        worker.store.say(StoreReset())
        await until(lambda: told(health) == (True, (), ("encoder",)))


async def test_an_encoder_that_waits_to_be_asked_may_load() -> None:
    latin, multi = two()
    async with routed(latin, multi, start=False) as encoder:
        well = Encoders(encoder, preload=False)
        assert (well.are_well, Encoders(encoder, preload=True).are_well) == (True, False)
        multi.gate.clear()
        with pytest.raises(EncoderError):
            await encoder.encode(CHINESE)
        assert [lane.state for lane in encoder.health()] == ["idle", "loading"]
        assert well.are_well
        multi.gate.set()
        await until(lambda: encoder.health()[1].state == "ready")
        assert well.are_well


@pytest.mark.parametrize(
    ("well", "may_start", "after", "says"),
    [
        (True, True, 0.0, ((), ())),
        (True, True, 99.0, ((), ())),
        (False, True, 0.0, (("a",), ())),
        (False, True, 4.9, (("a",), ())),
        (False, True, 5.0, ((), ("a",))),
        (False, False, 0.0, ((), ("a",))),
    ],
)
def test_starting_or_degraded(well: bool, may_start: bool, after: float, says: object) -> None:
    assert Start(10.0).sort([PartState("a", well, may_start)], 10.0 + after) == says
