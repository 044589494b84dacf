"""What every shelf of lint findings does, the one in Redis (on one server, on a cluster) and the fake alike."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from semcache.core import TenantId
from semcache.cost_port import Cause, LintFinding, LintShelf
from semcache.errors import StoreError
from semcache.store.embedded import ValkeyChild
from semcache.store.keys import Keys
from semcache.store.link import Link, LinkRules
from semcache.store.lint_shelf import LintKept, RedisLintShelf
from tests.fakes.lint_shelf import FakeLintShelf
from tests.store.servers import ACME, cluster, valkey

__all__ = ["cluster", "valkey"]

OTHER = TenantId("other {tenant}: \ud800 名")
DAY = 40_000
"""So far off that nothing fades while the tests run."""
ONE = LintFinding(
    tenant=ACME,
    day=DAY,
    group="a1b2c3",
    cause=Cause.TIME,
    where="system",
    byte=14,
    token=3,
    sample="xxxxx: 99:99:99",
    prompts=10,
    seen=9,
    tokens=18_000,
    money=45_000,
    fix="Move it.",
    model="gpt-4o",
    labels=(("project", "shop"), ("task", "名")),
)


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def shelf(
    request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[LintShelf]:
    if request.param == "fake":
        yield FakeLintShelf()
        return
    url = valkey.url if request.param == "valkey" else cluster
    real = RedisLintShelf(url, LinkRules(deadline=5.0), uuid.uuid4().hex)
    yield real
    await real.aclose()


async def test_what_is_put_is_found_by_tenant_and_day(shelf: LintShelf) -> None:
    assert await shelf.findings(ACME, 0, 50_000) == ()
    assert await shelf.tenants() == ()
    other = replace(ONE, tenant=OTHER, money=None, labels=(), sample="[\ufffd]")
    later = replace(ONE, day=DAY + 1)
    await shelf.put("w1", [ONE, later, other])
    assert await shelf.findings(ACME, DAY, DAY) == (ONE,)
    assert await shelf.findings(ACME, DAY + 1, DAY + 9) == (later,)
    assert await shelf.findings(OTHER, DAY, DAY) == (other,)
    assert await shelf.findings(ACME, DAY + 2, DAY + 9) == ()
    assert await shelf.tenants() == tuple(sorted([ACME, OTHER]))


async def test_a_worker_replaces_its_own_findings_of_those_days(shelf: LintShelf) -> None:
    before = replace(ONE, day=DAY - 1)
    await shelf.put("w1", [before, ONE, replace(ONE, cause=Cause.UUID)])
    grown = replace(ONE, seen=20, prompts=21, tokens=40_000)
    await shelf.put("w1", [grown])
    assert await shelf.findings(ACME, DAY, DAY) == (grown,)
    assert await shelf.findings(ACME, DAY - 1, DAY - 1) == (before,)
    await shelf.put("w1", [])
    assert await shelf.findings(ACME, DAY, DAY) == (grown,)


async def test_equal_findings_of_several_workers_add_up(shelf: LintShelf) -> None:
    mine = replace(ONE, seen=90, byte=99, labels=ONE.labels[:1])
    small = replace(ONE, cause=Cause.REORDERED, tokens=7)
    await shelf.put("w1", [ONE, small])
    await shelf.put("w2", [mine])
    total = replace(mine, prompts=20, seen=99, tokens=36_000, money=90_000)
    assert await shelf.findings(ACME, DAY, DAY) == (total, small)
    await shelf.put("w3", [replace(ONE, money=None)])
    assert (await shelf.findings(ACME, DAY, DAY))[0].money is None


async def test_other_models_places_and_groups_stand_apart(shelf: LintShelf) -> None:
    several = [
        replace(ONE, tokens=5),
        replace(ONE, model="m2", tokens=4),
        replace(ONE, where="tools", tokens=3),
        replace(ONE, group="ffff", tokens=2),
    ]
    await shelf.put("w1", several[::-1])
    assert await shelf.findings(ACME, DAY, DAY) == tuple(several)


@pytest.mark.parametrize("day", [-1, 3_000_000])
async def test_days_lie_in_a_calendar(shelf: LintShelf, day: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller's mistake, whatever the words
        await shelf.put("w1", [replace(ONE, day=day)])


async def test_the_real_shelf_is_bounded_and_hostile_text_passes(valkey: ValkeyChild) -> None:
    shelf = RedisLintShelf(
        valkey.url, LinkRules(deadline=5.0), uuid.uuid4().hex, LintKept(findings=2, workers=1)
    )
    many = [replace(ONE, group=f"g{n}", tokens=n, sample="\ud800" * 9_000) for n in range(5)]
    await shelf.put("w1", many)
    await shelf.put("w2", [ONE])
    found = await shelf.findings(ACME, DAY, DAY)
    assert [one.group for one in found] == ["g4", "g3"]
    assert len(found[0].sample) <= 256
    await shelf.put("w1", [replace(ONE, tokens=1 << 80, money=-(1 << 80))])
    assert (await shelf.findings(ACME, DAY, DAY))[0].tokens == (1 << 53) - 1
    await shelf.aclose()


@pytest.mark.parametrize("value", [b"no json", b"{}", b"[1]", b'[["g"]]'])
async def test_what_is_damaged_is_said_to_be(valkey: ValkeyChild, value: bytes) -> None:
    prefix = uuid.uuid4().hex
    shelf, link = RedisLintShelf(valkey.url, LinkRules(deadline=5.0), prefix), Link(valkey.url, LinkRules())
    await shelf.put("w1", [ONE])
    await link.call("HSET", Keys(prefix).base(ACME) + b"lint:%d" % DAY, "w2", value)
    with pytest.raises(StoreError) as caught:
        await shelf.findings(ACME, DAY, DAY)
    assert caught.value.kind == "corrupt"
    await shelf.aclose()
    await link.aclose()


async def test_days_fade(valkey: ValkeyChild) -> None:
    prefix = uuid.uuid4().hex
    shelf, link = RedisLintShelf(valkey.url, LinkRules(deadline=5.0), prefix), Link(valkey.url, LinkRules())
    await shelf.put("w1", [ONE])
    base = Keys(prefix).base(ACME)
    for name in (b"lint:%d" % DAY, b"lint-days"):
        assert await link.call("EXPIRETIME", base + name) == (DAY + 93) * 86_400
    await shelf.put("w1", [replace(ONE, day=DAY + 92)])
    assert await shelf.findings(ACME, 0, DAY + 1) == ()
    await shelf.aclose()
    await link.aclose()
