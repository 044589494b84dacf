"""An erasure from beginning to end, on a real store: journal, log, receipt; and what fails half-way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from semcache.archive import journal, receipts
from semcache.archive.erasing import Eraser, Site
from semcache.archive.errors import ArchiveError
from semcache.core import TenantId
from semcache.embed.fingerprint import subject_digest
from semcache.errors import StoreError
from semcache.review_port import Act, Line
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.erasure import ErasureShelf
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.archive.scene import ACME, made
from tests.store.servers import WallClock

NAME = "ann@example.com"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    data = tmp_path_factory.mktemp("data")
    child = ValkeyChild(data, ChildRules())
    asyncio.run(child.start())
    yield data, child.url
    asyncio.run(child.stop())


class Failing(RedisVerdicts):
    """Loses the store at the line that ends an erasure, while it is told to."""

    fails = False

    async def write(self, tenant: TenantId, act: Act) -> Line:
        if self.fails and act.what == "erased":
            raise StoreError("gone", kind="down")
        return await super().write(tenant, act)


@dataclass
class Scene:
    data: Path
    store: RedisStore
    verdicts: Failing
    eraser: Eraser


@pytest.fixture
async def scene(home: tuple[Path, str], tmp_path: Path) -> AsyncIterator[Scene]:
    _, url = home
    clock, rules = WallClock(), StoreRules(link=LinkRules(deadline=5.0), prefix=tmp_path.name)
    store, verdicts = RedisStore(url, clock, rules), Failing(url, clock, rules, VerdictRules())
    shelf = ErasureShelf(url, clock, rules, subject_digest)
    (tmp_path / "ledger").mkdir()
    row = {"tenant": ACME, "project": NAME, "cost": 7}
    (tmp_path / "ledger/w-20260101T000000.000Z.jsonl").write_text(json.dumps(row) + "\n")
    yield Scene(tmp_path, store, verdicts, Eraser(Site(tmp_path, url, True), shelf, verdicts, clock))
    for part in (store, verdicts, shelf):
        await part.aclose()


async def test_it_leaves_a_journal_a_chained_log_and_a_receipt(scene: Scene) -> None:
    assert await scene.store.put(made("one", subject=subject_digest(ACME, NAME)))
    plan = await scene.eraser.plan(ACME, NAME)
    assert plan.digest == (await scene.eraser.plan(ACME, NAME)).digest
    told = await scene.eraser.erase(ACME, NAME, "eve", "ticket")
    assert told["removed"] == plan.found
    assert (told["removed"]["entries"], told["removed"]["rows"]) == (1, 1)
    assert (await scene.eraser.plan(ACME, NAME)).digest != plan.digest
    log = (await scene.verdicts.log(ACME)).lines
    assert [line.act.what for line in log] == ["erased", "erase"]
    assert {line.act.who for line in log} == {"eve"}
    assert log[0].act.after["digest"] == told["digest"] == receipts.digest_of(told)
    assert told["line"] == {"number": log[0].number, "digest": log[0].digest}
    assert await scene.verdicts.broken(ACME) is None
    (line,) = journal.read(scene.data / journal.NAME)
    assert (line.subject, line.receipt) == (told["subject"], told["id"])
    assert scene.eraser.receipt(told["id"]) == told
    for place in (scene.data / journal.NAME, scene.data / "erasures" / f"{told['id']}.json"):
        assert NAME not in place.read_text()
    assert NAME not in repr(log)


async def test_what_failed_half_way_is_done_by_doing_it_again(scene: Scene) -> None:
    assert await scene.store.put(made("one", subject=subject_digest(ACME, NAME)))
    scene.verdicts.fails = True
    with pytest.raises(StoreError):
        await scene.eraser.erase(ACME, NAME, "eve")
    assert len(journal.read(scene.data / journal.NAME)) == 1
    assert not (scene.data / "erasures").exists()
    scene.verdicts.fails = False
    (scene.data / "valkey").mkdir()
    for name in ("dump.rdb", "temp-7.rdb"):
        (scene.data / "valkey" / name).write_text("what a killed backup left")
    told = await scene.eraser.erase(ACME, NAME, "eve")
    assert sum(told["removed"].values()) == 0
    assert list((scene.data / "valkey").iterdir()) == []
    assert [line.act.what for line in (await scene.verdicts.log(ACME)).lines] == ["erased", "erase", "erase"]


async def test_with_a_damaged_journal_nothing_is_begun(scene: Scene) -> None:
    assert await scene.store.put(made("one", subject=subject_digest(ACME, NAME)))
    (scene.data / journal.NAME).write_text('{"at": 1}\n')
    with pytest.raises(ArchiveError, match="journal"):
        await scene.eraser.erase(ACME, NAME, "eve")
    assert (await scene.eraser.plan(ACME, NAME)).found["entries"] == 1
    assert (await scene.verdicts.log(ACME)).lines == ()


async def test_nobody_is_no_subject(scene: Scene) -> None:
    for name in ("", "  ", "x" * 513):
        with pytest.raises(ArchiveError):
            await scene.eraser.plan(ACME, name)


async def test_another_tenants_user_of_that_name_stays(scene: Scene) -> None:
    other = TenantId("other")
    assert await scene.store.put(made("one", tenant=other, subject=subject_digest(other, NAME)))
    told = await scene.eraser.erase(ACME, NAME, "eve")
    assert told["removed"]["entries"] == 0
    assert (await scene.eraser.plan(other, NAME)).found["entries"] == 1
