"""Alarms put together: real shelf and webhook over sockets, budgets from policies, standings from evidence."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from semcache import alarming_parts
from semcache.alarming.settings import AlarmSettings
from semcache.alarming_parts import Alarming, Sources, redis_sources
from semcache.core import TenantId
from semcache.cost.alarm_metrics import AlarmMetrics
from semcache.cost_port import Claim, CostKey, CostSums
from semcache.decide.risk.grid import bin_of, bucket_of
from semcache.errors import PolicyError
from semcache.evidence_port import Alarm, Source
from semcache.policy.loader import load_directory
from semcache.store.alarm_shelf import RedisAlarmShelf
from semcache.store.budgets import RedisBudgets
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.fakes.budgets import FakeBudgets
from tests.fakes.cost_book import FakeCostBook
from tests.fakes.evidence import FakeEvidence
from tests.fakes.upstream_server import UpstreamServer, reply
from tests.store.servers import WallClock, valkey

__all__ = ["valkey"]

ACME = TenantId("acme")
POLICY = """schema_version: 1
tenant: acme
default_domain: chat
domains:
  chat: {}
costs:
  budgets:
    - {name: team, window: day, hard_usd: 1}
"""


class Scene:
    def __init__(self, valkey: ValkeyChild, tmp_path: Path) -> None:
        (tmp_path / "acme.yaml").write_text(POLICY)
        self.clock = WallClock()
        self.budgets, self.evidence, self.book = FakeBudgets(), FakeEvidence(), FakeCostBook()
        self.snapshot = load_directory(tmp_path)
        self.url, self.prefix = valkey.url, uuid.uuid4().hex
        self.registry = CollectorRegistry()
        self.metrics = AlarmMetrics(self.registry)
        self.shelf = RedisAlarmShelf(self.url, LinkRules(deadline=5.0), self.prefix)
        self.opened = 0

    def sources(self) -> Sources:
        self.opened += 1
        shelf = RedisAlarmShelf(self.url, LinkRules(deadline=5.0), self.prefix)
        return Sources(self.book, self.budgets, self.evidence, shelf, (shelf.aclose,))

    def build(self, settings: AlarmSettings, worker: str = "w1") -> Alarming:
        return Alarming(settings, self.sources, lambda: self.snapshot, None, worker, self.clock, self.metrics)

    @asynccontextmanager
    async def running(self, settings: AlarmSettings | None = None, worker: str = "w1") -> AsyncIterator[None]:
        alarming = self.build(settings or AlarmSettings(every=1), worker)
        alarming.start()
        try:
            yield
        finally:
            await alarming.stop()

    async def spend(self, usd: float) -> None:
        rule = self.snapshot.costs(ACME).budgets[0]
        await self.budgets.settle(ACME, uuid.uuid4().hex, [Claim(rule, int(usd * 1e6))], self.clock.now())

    async def raised(self) -> set[tuple[str, str]]:
        return {(one.tenant, one.subject) for one in await self.shelf.raised()}

    def page(self) -> str:
        return generate_latest(self.registry).decode()


@pytest.fixture
async def scene(valkey: ValkeyChild, tmp_path: Path) -> AsyncIterator[Scene]:
    made = Scene(valkey, tmp_path)
    yield made
    await made.shelf.aclose()


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await true():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.02)


async def test_from_a_budget_to_the_webhook(scene: Scene, tmp_path: Path) -> None:
    async with UpstreamServer(reply(b"ok")) as server:
        address, secret = tmp_path / "address", tmp_path / "secret"
        address.write_text(server.url.removesuffix("/v1") + "/hooks/T1?x=1\n")
        secret.write_text("key")
        settings = AlarmSettings(every=1, webhook=f"file:{address}", webhook_secret=f"file:{secret}")
        await scene.spend(0.6)

        async def delivered() -> bool:
            return "delivered" in scene.page()

        async with scene.running(settings):
            await until(delivered)
        assert await scene.raised() == {("acme", "team 50%")}
        posted = server.requests[0]
        assert posted.target == "/hooks/T1?x=1"
        assert posted.header("semcache-signature") is not None
        assert (
            json.loads(posted.body)["text"] == "semcache ALARM: acme: budget team 50% is reached: 60% is used"
        )
    assert 'semcache_alarm{kind="budget",subject="team 50%",tenant="acme"} 1.0' in scene.page()
    assert 'semcache_budget_used{budget="team",tenant="acme"} 0.6' in scene.page()


async def test_whoever_ends_lets_another_lead_at_once(scene: Scene) -> None:
    async def half() -> bool:
        return ("acme", "team 50%") in await scene.raised()

    async def most() -> bool:
        return await scene.raised() == {("acme", "team 50%"), ("acme", "team 80%")}

    long = AlarmSettings(every=1, levels={})
    async with scene.running(long, "w2"):
        async with scene.running(long):
            await scene.spend(0.6)
            await until(half)
        await scene.spend(0.25)
        await until(most)


async def test_standings_say_when_a_bound_holds_again(scene: Scene) -> None:
    domain, now = "chat", scene.clock.now()
    cell = (Source.AUDIT, bucket_of(now), bin_of(0.998))
    scene.evidence.cells[ACME, domain][cell] = [1000.0, 500.0]
    scene.evidence.words[ACME, domain][1, "exact"] = 1
    scene.evidence.alarms[ACME, domain] = Alarm(now - 10 * 86_400, "closed")

    async def broken() -> bool:
        return await scene.raised() == {("acme", domain)}

    async def kept() -> bool:
        return not await scene.raised()

    async with scene.running():
        await until(broken)
        del scene.evidence.cells[ACME, domain]
        await until(kept)


async def test_domains_and_tenants_that_are_gone_are_believed_for_a_day(scene: Scene) -> None:
    gone = TenantId("gone")
    scene.evidence.words[gone, "chat"][1, "exact"] = 1
    scene.evidence.alarms[gone, "chat"] = Alarm(scene.clock.now() - 3600, "closed")
    scene.evidence.words[ACME, "no such"][1, "exact"] = 1
    scene.evidence.alarms[ACME, "no such"] = Alarm(scene.clock.now() - 2 * 86_400, "closed")

    async def told() -> bool:
        return bool(await scene.raised())

    async with scene.running():
        await until(told)
    assert await scene.raised() == {("gone", "chat")}


async def test_a_defect_is_said_and_tried_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarming_parts, "_REST", 0.1)
    await scene.spend(0.6)
    budgets, scene.budgets = scene.budgets, object()  # type: ignore[assignment]  # a defect on purpose

    async def said() -> bool:
        return 'semcache_alarm_faults_total{part="defect"}' in scene.page()

    async def raised() -> bool:
        return bool(await scene.raised())

    async with scene.running():
        await until(said)
        scene.budgets = budgets
        await until(raised)
    assert scene.opened > 1


async def test_switched_off_nothing_begins(scene: Scene) -> None:
    async with scene.running(AlarmSettings(enabled=False)):
        assert scene.opened == 0
    assert "semcache-alarms" not in {thread.name for thread in threading.enumerate()}


async def test_an_end_right_after_the_beginning(scene: Scene) -> None:
    for _ in range(5):
        async with scene.running():
            pass
    assert "semcache-alarms" not in {thread.name for thread in threading.enumerate()}


async def test_with_the_stores_own_parts(scene: Scene) -> None:
    tenant, url = f"t-{uuid.uuid4().hex}", scene.url
    link = LinkRules(deadline=5.0)
    book, budgets, shelf = RedisCostBook(url, link), RedisBudgets(url, link), RedisAlarmShelf(url, link)
    rule = scene.snapshot.costs(ACME).budgets[0]
    now = scene.clock.now()
    place = CostKey(tenant, int(now // 86_400), "m", "up", "miss")
    await book.add("w.1", {place: CostSums(requests=1)})
    await budgets.settle(ACME, uuid.uuid4().hex, [Claim(rule, 600_000)], now)
    alarming = Alarming(
        AlarmSettings(every=1),
        redis_sources(url),
        lambda: scene.snapshot,
        None,
        uuid.uuid4().hex,
        scene.clock,
        scene.metrics,
    )

    async def known() -> bool:
        return tenant in await shelf.load()

    async def raised() -> bool:
        found = {(one.tenant, one.kind, one.subject) for one in await shelf.raised()}
        return {(tenant, "price_unknown", "up/m"), ("acme", "budget", "team 50%")} <= found

    alarming.start()
    await until(known)
    await book.add("w.2", {place: CostSums(requests=3, unpriced=3)})
    await until(raised)
    await alarming.stop()
    await alarming.stop()
    assert "faults_total{" not in scene.page()
    for one in (book, budgets, shelf):
        await one.aclose()


@pytest.mark.parametrize(
    "url",
    [
        "chat",
        "ftp://chat.example/x",
        "https://user:pw@chat.example/x",
        "https:///x",
        "https://名.example/",
        "http://[/",
    ],
)
async def test_an_address_that_cannot_be_used_is_refused_unnamed(
    scene: Scene, tmp_path: Path, url: str
) -> None:
    place = tmp_path / "address"
    place.write_text(url)
    with pytest.raises(PolicyError) as caught:
        scene.build(AlarmSettings(webhook=f"file:{place}"))
    assert "chat" not in str(caught.value)


async def test_a_secret_that_is_not_there_is_said(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        scene.build(AlarmSettings(webhook=f"file:{tmp_path}/none"))
    with pytest.raises(PolicyError, match="is not set"):
        scene.build(AlarmSettings(webhook="https://chat.example/x", webhook_secret="env:SEMCACHE_NO_SUCH"))
