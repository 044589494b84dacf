"""Alarms put together: real shelf and webhook over sockets, budgets from policies, standings from evidence."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from semcache.alarming.settings import AlarmSettings
from semcache.alarming_parts import Alarming, Sources, alarming_of
from semcache.core import TenantId
from semcache.cost.alarm_metrics import AlarmMetrics
from semcache.cost_port import Claim
from semcache.decide.risk.grid import bin_of, bucket_of
from semcache.errors import PolicyError
from semcache.evidence_port import Alarm, Source
from semcache.policy.loader import load_directory
from semcache.standings import Standings
from semcache.store.alarm_shelf import RedisAlarmShelf
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
        self.tasks: list[asyncio.Task[Any]] = []

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]

    def build(self, settings: AlarmSettings, worker: str = "w1") -> Alarming:
        standings = Standings(self.evidence, None, self.clock, self.spawn)
        sources = Sources(self.book, self.budgets, self.evidence, standings, lambda: self.snapshot)
        shelf = RedisAlarmShelf(self.url, LinkRules(deadline=5.0), self.prefix)
        return alarming_of(settings, sources, shelf, worker, self.clock, self.metrics)

    @asynccontextmanager
    async def running(self, settings: AlarmSettings) -> AsyncIterator[Alarming]:
        alarming = self.build(settings)
        task = asyncio.create_task(alarming.run())
        try:
            yield alarming
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await alarming.aclose()

    async def spend(self, usd: float) -> None:
        rule = self.snapshot.costs(ACME).budgets[0]
        await self.budgets.settle(ACME, uuid.uuid4().hex, [Claim(rule, int(usd * 1e6))], self.clock.now())

    def page(self) -> str:
        return generate_latest(self.registry).decode()


@pytest.fixture
async def scene(valkey: ValkeyChild, tmp_path: Path) -> AsyncIterator[Scene]:
    made = Scene(valkey, tmp_path)
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.02)


async def test_from_a_budget_to_the_webhook(scene: Scene, tmp_path: Path) -> None:
    async with UpstreamServer(reply(b"ok")) as server:
        address, secret = tmp_path / "address", tmp_path / "secret"
        address.write_text(server.url.removesuffix("/v1") + "/hooks/T1?x=1\n")
        secret.write_text("key")
        settings = AlarmSettings(every=1, webhook=f"file:{address}", webhook_secret=f"file:{secret}")
        await scene.spend(0.6)
        async with scene.running(settings) as alarming:
            await until(lambda: "delivered" in scene.page())
            raised = await alarming.shelf.raised()
        assert [(one.tenant, one.subject) for one in raised] == [("acme", "team 50%")]
        posted = server.requests[0]
        assert posted.target == "/hooks/T1?x=1"
        assert posted.header("semcache-signature") is not None
        assert json.loads(posted.body)["text"] == "semcache ALARM: acme: budget team 50%: 60% is used"
    assert 'semcache_alarm{kind="budget",subject="team 50%",tenant="acme"} 1.0' in scene.page()
    assert 'semcache_budget_used{budget="team",tenant="acme"} 0.6' in scene.page()


async def test_whoever_ends_lets_another_lead_at_once(scene: Scene) -> None:
    first, second = scene.build(AlarmSettings()), scene.build(AlarmSettings(), "w2")
    await scene.spend(0.6)
    await first.runner.once()
    await second.runner.once()
    await first.aclose()
    await scene.spend(0.25)
    await second.runner.once()
    assert {one.subject for one in await second.shelf.raised()} == {"team 50%", "team 80%"}
    await second.aclose()


async def test_standings_say_when_a_bound_holds_again(scene: Scene) -> None:
    alarming = scene.build(AlarmSettings())
    domain = next(iter(scene.snapshot.tenant(ACME).domains))
    now = scene.clock.now()
    cell = (Source.AUDIT, bucket_of(now), bin_of(0.998))
    scene.evidence.cells[ACME, domain][cell] = [1000.0, 500.0]
    scene.evidence.words[ACME, domain][1, "exact"] = 1
    scene.evidence.alarms[ACME, domain] = Alarm(now - 10 * 86_400, "closed")
    await alarming.runner.once()
    assert [(one.kind.value, one.subject) for one in await alarming.shelf.raised()] == [
        ("bound_broken", domain)
    ]
    del scene.evidence.cells[ACME, domain]
    await alarming.aclose()
    # A fresh look, as after some seconds: nothing is held against the domain any more.
    again = scene.build(AlarmSettings(), "w2")
    await again.runner.once()
    assert await again.shelf.raised() == ()
    await again.aclose()


async def test_domains_and_tenants_that_are_gone_are_believed_for_a_day(scene: Scene) -> None:
    gone = TenantId("gone")
    scene.evidence.words[gone, "chat"][1, "exact"] = 1
    scene.evidence.alarms[gone, "chat"] = Alarm(scene.clock.now() - 3600, "closed")
    scene.evidence.words[ACME, "no such"][1, "exact"] = 1
    scene.evidence.alarms[ACME, "no such"] = Alarm(scene.clock.now() - 2 * 86_400, "closed")
    alarming = scene.build(AlarmSettings())
    await alarming.runner.once()
    assert [one.tenant for one in await alarming.shelf.raised()] == ["gone"]
    await alarming.aclose()


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
