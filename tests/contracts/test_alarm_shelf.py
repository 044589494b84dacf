"""What every shelf of alarms does, the one in Redis (on one server, on a cluster) and the fake alike."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from semcache.core import TenantId
from semcache.cost_port import AlarmKind, AlarmShelf, CostAlarm
from semcache.store.alarm_shelf import RedisAlarmShelf
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.fakes.alarm_shelf import FakeAlarmShelf
from tests.store.servers import WallClock, cluster, valkey

__all__ = ["cluster", "valkey"]

OTHER = "other {tenant}: \ud800 名"
LOW = CostAlarm("acme", AlarmKind.HIT_RATIO_LOW, "", True, 100.0, 160.5, 0.01, 0.05, "low: 名")
BUDGET = replace(LOW, kind=AlarmKind.BUDGET, subject="team 80%", at=200.0, value=0.81, limit=0.8)


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def shelf(
    request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[AlarmShelf]:
    if request.param == "fake":
        yield FakeAlarmShelf(WallClock())
        return
    url = valkey.url if request.param == "valkey" else cluster
    real = RedisAlarmShelf(url, LinkRules(deadline=5.0), uuid.uuid4().hex)
    yield real
    await real.aclose()


async def test_raised_alarms_stand_until_they_are_over(shelf: AlarmShelf) -> None:
    acme = TenantId("acme")
    assert await shelf.alarms(acme) == ()
    assert await shelf.raised() == ()
    theirs = replace(LOW, tenant=OTHER, at=10.0)
    await shelf.put([LOW, theirs, BUDGET])
    assert await shelf.alarms(acme) == (BUDGET, LOW)
    assert await shelf.alarms(TenantId(OTHER)) == (theirs,)
    assert await shelf.raised() == (BUDGET, LOW, theirs)
    over = replace(BUDGET, is_raised=False, at=300.0)
    await shelf.put([over])
    assert await shelf.alarms(acme) == (LOW, over, BUDGET)
    assert await shelf.raised() == (LOW, theirs)
    await shelf.put([replace(LOW, is_raised=False, at=301.0), replace(theirs, is_raised=False)])
    assert await shelf.raised() == ()


async def test_the_same_change_is_listed_once(shelf: AlarmShelf) -> None:
    later = replace(LOW, at=170.0)
    await shelf.put([LOW])
    await shelf.put([later])
    assert await shelf.alarms(TenantId("acme")) == (later, LOW)
    over = replace(LOW, is_raised=False, at=180.0)
    await shelf.put([over])
    await shelf.put([over])
    assert await shelf.alarms(TenantId("acme")) == (over, LOW)


async def test_nothing_put_is_nothing(shelf: AlarmShelf) -> None:
    await shelf.put([])
    await shelf.save({})
    assert await shelf.load() == {}


async def test_alarms_are_bounded(shelf: AlarmShelf) -> None:
    many = [replace(LOW, subject=f"m{at}", at=float(at)) for at in range(300)]
    await shelf.put(many)
    found = await shelf.alarms(TenantId("acme"))
    assert sum(one.is_raised for one in await shelf.raised()) == 100
    assert len(found) <= 300
    # One that stands is still over when its turn comes.
    await shelf.put([replace(many[0], is_raised=False)])
    assert len(await shelf.raised()) == 99


async def test_what_is_known_is_kept_by_tenant(shelf: AlarmShelf) -> None:
    assert await shelf.load() == {}
    await shelf.save({"acme": '{"a": 1}', OTHER: "名"})
    await shelf.save({"acme": '{"a": 2}'})
    assert await shelf.load() == {"acme": '{"a": 2}', OTHER: "名"}
    await shelf.save({"acme": "x" * (1 << 19), "new": "{}"})
    assert await shelf.load() == {"acme": '{"a": 2}', OTHER: "名", "new": "{}"}


async def test_one_leads_at_a_time(shelf: AlarmShelf) -> None:
    assert await shelf.lead("a", 30)
    assert not await shelf.lead("b", 30)
    assert await shelf.lead("a", 30)
    assert not await shelf.lead("b", 0)
    assert await shelf.lead("a", 0)
    assert await shelf.lead("b", 0.05)
    await asyncio.sleep(0.1)
    assert await shelf.lead("a", 30)
    assert await shelf.lead("a", 0)
