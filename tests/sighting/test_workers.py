"""Two workers on one real store: sightings add up, and the judge spends one allowance."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from semcache.asking.purse import Purse
from semcache.core import Embedding, EncoderId, EntryId, ReviewStatus
from semcache.evidence_port import Spending
from semcache.journey import Backend
from semcache.process import SystemClock
from semcache.sighting.allowance import JudgeAllowance, judge_caps
from semcache.sighting.judging import Judging
from semcache.sighting.promoting import Promoting
from semcache.sighting.sights import Sights
from semcache.store.embedded import ValkeyChild
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules
from semcache.store.queue import ReviewShelves
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.sighting.scene import ACME, Scene, judged_by
from tests.store.servers import valkey

__all__ = ["valkey"]

E1 = EntryId("e1")


@dataclass
class Store:
    entries: RedisStore
    queue: ReviewShelves
    verdicts: RedisVerdicts
    evidence: EvidenceShelves


@pytest.fixture
async def store(valkey: ValkeyChild) -> AsyncIterator[Store]:
    prefix, link = uuid.uuid4().hex, LinkRules(deadline=5.0)
    clock, rules = SystemClock(), StoreRules(link=link, prefix=prefix)
    made = Store(
        RedisStore(valkey.url, clock, rules),
        ReviewShelves(valkey.url, link, prefix),
        RedisVerdicts(valkey.url, clock, rules, VerdictRules()),
        EvidenceShelves(valkey.url, link, prefix),
    )
    yield made
    for part in (made.entries, made.queue, made.verdicts, made.evidence):
        await part.aclose()


def worker(scene: Scene, store: Store) -> Sights:
    """Give a scene's worker on the real store."""
    judging = Judging(
        store.queue.queue,
        Promoting(store.queue.queue, store.verdicts, store.evidence.labels, scene.clock),
        backends={"judge": Backend(scene.judge, "judge")},
        purse=Purse(JudgeAllowance(store.evidence.budget), lambda _, __: None, judge_caps),
        new_word=lambda: "fence77",
        clock=scene.clock,
        spawn=scene._spawn,
        told=scene.told,
    )
    scene.sights = Sights(store.queue.queue, judging, coin=lambda: 0.9, clock=scene.clock, told=scene.told)
    return scene.sights


async def test_two_workers_share_queue_and_allowance(store: Store) -> None:
    scenes = [Scene(), Scene()]
    entry = replace(scenes[0].entry(), embedding=Embedding(np.ones(1, np.float32), EncoderId("enc")))
    assert await store.entries.put(entry)
    workers = [worker(scene, store) for scene in scenes]
    assert len(workers) == 2
    policy = judged_by(judge_calls=5)
    for turn, scene in enumerate(scenes):
        for n in range(4):
            scene.meet(scene.hit(0.91), f"question {turn} {n}?", policy=policy)
    await asyncio.gather(*(scene.flushed() for scene in scenes))
    place = await store.queue.queue.waits(ACME, E1)
    assert place is not None
    assert (place.sightings, place.reasons) == (8, {"near-threshold": 8})
    assert len(await store.queue.queue.questions(ACME, E1)) == 8
    assert len(await store.queue.queue.decisions(ACME, "chat")) == 8
    assert sum(len(scene.judge.calls) for scene in scenes) == 5
    assert len(await store.queue.queue.opinions(ACME, E1)) == 5
    assert sum(scene.told.drops["cap"] for scene in scenes) == 3
    at = scenes[0].clock.at
    assert (await JudgeAllowance(store.evidence.budget).spent(ACME, at)).calls == 5
    assert await store.evidence.budget.spent(ACME, at) == Spending(0, 0)


async def test_the_judge_promotes_on_a_real_store(store: Store) -> None:
    scene = Scene()
    sights = worker(scene, store)
    entry = replace(scene.entry(), embedding=Embedding(np.ones(1, np.float32), EncoderId("enc")))
    assert await store.entries.put(entry)
    for n in range(3):
        scene.meet(scene.hit(0.91), f"question {n}?", policy=judged_by(promote_after=3))
        await sights.flush()
        await asyncio.gather(*scene.tasks)
    held = await store.verdicts.show(ACME, E1)
    assert held is not None
    assert (held.status, held.version, held.review.by) == (ReviewStatus.APPROVED, 2, "judge:wise")
    (line,) = (await store.verdicts.log(ACME)).lines
    assert line.act.what == "promote"
    assert await store.queue.queue.waits(ACME, E1) is None
    assert scene.told.promotions == 1
