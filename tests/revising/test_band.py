"""When the drafts of a domain are given up, and when they are tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import DraftPolicy, TenantId
from semcache.decide.revision.worth import Saved
from semcache.review_rules import DraftWay
from semcache.revising.band import FRESH, TRUSTED, Bands, Trials, trials_of
from tests.fakes.evidence import FakeEvidence
from tests.revising.scene import ACME, Now

POLICY = DraftPolicy(min_trials=10, max_failed=0.3)
REVISE = DraftWay.REVISE


class Slow(FakeEvidence):
    """Counts readings, and lets them wait."""

    readings = 0
    gate: asyncio.Event | None = None

    async def tallies(self, tenant: TenantId, domain: str, since: float) -> Mapping[str, int]:
        self.readings += 1
        if self.gate is not None:
            await self.gate.wait()
        return await super().tallies(tenant, domain, since)


class Scene:
    def __init__(self) -> None:
        self.evidence, self.clock = Slow(), Now()
        self.tasks: list[asyncio.Task[None]] = []
        self.pending: list[tuple[str, int]] = []
        self.bands = Bands(self.evidence, self._count, self.clock, self._spawn)

    def _count(self, tenant: TenantId, domain: str, word: str, by: int = 1) -> None:
        self.pending.append((word, by))

    def _spawn(self, work) -> asyncio.Task[None]:  # type: ignore[no-untyped-def]  # any coroutine
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]

    async def tried(self, times: int, *, failed: bool = False, saved: int | None = None) -> None:
        """Try drafts, and write them down as the books would."""
        for _ in range(times):
            self.bands.add(ACME, "chat", REVISE, failed=failed, gain=Saved(saved, 0))
        for word, by in self.pending:
            await self.evidence.tally(ACME, "chat", self.clock.now(), {word: by})
        self.pending.clear()

    async def later(self, seconds: float = FRESH + 0.1) -> bool:
        """Let time pass, ask so that the tallies are read again, and ask."""
        self.clock.at += seconds
        await self.open()
        await asyncio.gather(*self.tasks)
        return await self.open()

    async def open(self, way: DraftWay = REVISE) -> bool:
        return await self.bands.is_open(ACME, "chat", POLICY, way)


async def test_it_closes_on_failures_once_there_were_enough_and_opens_when_they_are_old() -> None:
    scene = Scene()
    assert await scene.open()
    await scene.tried(6, failed=True)
    await scene.tried(3)
    assert await scene.later()
    await scene.tried(1)
    assert not await scene.later()
    assert scene.bands.standing(ACME, "chat", POLICY) == {REVISE: Trials(10, 6, 0)}
    assert await scene.bands.is_open(ACME, "other", POLICY, REVISE)
    assert await scene.later(POLICY.window + 86_400)


async def test_it_closes_when_all_of_them_together_lost_money() -> None:
    scene = Scene()
    await scene.tried(8, saved=10)
    await scene.tried(2, saved=-40)
    assert await scene.open()
    await scene.tried(1, saved=-1)
    assert not await scene.later()
    await scene.tried(1, saved=500)
    assert await scene.later()


async def test_what_the_engine_verifies_is_always_open_and_predictions_need_not_save_money() -> None:
    scene = Scene()
    for way in (DraftWay.LOSSLESS, DraftWay.PREDICTION):
        for _ in range(20):
            scene.bands.add(ACME, "chat", way, failed=way is DraftWay.LOSSLESS, gain=Saved(-5, -5))
    await scene.tried(0)
    assert await scene.open(DraftWay.LOSSLESS)
    assert await scene.open(DraftWay.PREDICTION)


async def test_without_the_store_nothing_is_revised_and_nobody_waits_twice() -> None:
    scene = Scene()
    scene.evidence.away = True
    assert not await scene.open()
    assert await scene.open(DraftWay.LOSSLESS)
    scene.evidence.gate = asyncio.Event()
    scene.clock.at += FRESH + 1
    async with asyncio.timeout(1):
        assert not await scene.open()
    scene.evidence.away = False
    scene.evidence.gate.set()
    await asyncio.gather(*scene.tasks)
    assert await scene.open()


async def test_a_hiccup_of_the_store_changes_nothing_a_long_absence_does() -> None:
    scene = Scene()
    assert await scene.open()
    scene.evidence.away = True
    assert await scene.later()
    assert not await scene.later(TRUSTED)
    scene.evidence.away = False
    assert await scene.later()


async def test_requests_wait_for_one_first_reading_and_for_no_other() -> None:
    scene = Scene()
    scene.evidence.gate = asyncio.Event()
    waiting = [asyncio.create_task(scene.open()) for _ in range(20)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting[1:])
    scene.evidence.gate.set()
    assert all(await asyncio.gather(*waiting[1:]))
    assert scene.evidence.readings == 1
    scene.evidence.gate.clear()
    scene.clock.at += FRESH + 1
    async with asyncio.timeout(1):
        assert all([await scene.open() for _ in range(20)])
    scene.evidence.gate.set()
    await asyncio.gather(*scene.tasks)
    assert scene.evidence.readings == 2


async def test_after_a_long_silence_the_tallies_are_waited_for() -> None:
    scene = Scene()
    assert await scene.open()
    await scene.tried(20, failed=True)
    scene.clock.at += TRUSTED + 1
    assert not await scene.open()


@given(
    st.integers(0, 50), st.integers(0, 50), st.integers(-(10**9), 10**9), st.sampled_from(list(DraftWay)[1:4])
)
def test_a_band_is_open_while_trials_are_few_and_worse_ones_never_open_it(
    tried: int, failed: int, saved: int, way: DraftWay
) -> None:
    trials = Trials(tried, min(failed, tried), saved)
    if tried < POLICY.min_trials:
        assert trials.is_open(POLICY, way)
    worse = replace(trials, failed=trials.tried, saved=min(saved, 0) - 1)
    assert trials.is_open(POLICY, way) >= worse.is_open(POLICY, way)


def test_tallies_of_other_words_are_not_read() -> None:
    tallies = {"draft-revise-tried": 4, "draft-revise-lost": 7, "draft-prediction-tried": 9, "exact": 3}
    assert trials_of(tallies, REVISE) == Trials(4, 0, -7)
    assert Scene().bands.standing(ACME, "chat", POLICY) == {}


@pytest.mark.parametrize("failed", [3, 4])
async def test_the_share_itself_is_allowed(failed: int) -> None:
    assert Trials(10, failed, 0).is_open(POLICY, REVISE) == (failed == 3)
