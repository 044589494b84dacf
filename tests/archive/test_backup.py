"""A running deployment is backed up, checked and restored; nobody who was erased comes back with it."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from semcache.archive import journal, manifest
from semcache.archive.backup import Wanted, create
from semcache.archive.errors import ArchiveError
from semcache.archive.journal import Erasure
from semcache.archive.manifest import verified
from semcache.archive.restoring import restore
from semcache.cli.archive_parts import opened
from semcache.core import Entry
from semcache.embed.fingerprint import subject_digest
from semcache.errors import StoreError
from semcache.ports import Selector
from semcache.settings import Settings
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.keys import Keys
from semcache.store.redis_store import RedisStore, StoreRules
from tests.archive.scene import ACME, made
from tests.store.servers import WallClock, command

ANN = subject_digest(ACME, "ann")
ROW = {"kind": "request", "id": "r", "at": 1.0, "tenant": ACME, "project": "ann", "cost": 7}


def of(name: str, user: str) -> Entry:
    return made(name, subject=subject_digest(ACME, user), embedding=None, prompt=f"the secret of {user}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    (data / "ledger").mkdir(parents=True)
    (data / "ledger" / "w-20260101T000000.000Z.jsonl").write_text(json.dumps(ROW) + "\n")
    (data / "owners.key").write_bytes(b"k" * 32)
    (data / "models").mkdir()
    (data / "models" / "large").write_bytes(b"x")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "acme.yaml").write_text("tenant: acme\n")
    return data


@pytest.fixture
def proxy(home: Path) -> Iterator[ValkeyChild]:
    """The store of a proxy that runs."""
    child = ValkeyChild(home, ChildRules())
    asyncio.run(child.start())
    yield child
    asyncio.run(child.stop())


def wanted(home: Path, secrets: tuple[str, ...] = ("owners.key", "admin-token")) -> Wanted:
    return Wanted(home, home.parent / "policies", secrets, "1")


async def replay(data: Path, url: str, erasures: Sequence[Erasure]) -> dict[str, int]:
    async with opened(Settings(data=data), url) as parts:
        return await parts.eraser.replay(erasures)


async def erase(home: Path, url: str, name: str) -> None:
    async with opened(Settings(data=home), url) as parts:
        await parts.eraser.erase(ACME, name, "cli")


async def held(data: Path) -> set[str]:
    """Name what a data directory's store holds, once a proxy has started on it."""
    child = ValkeyChild(data, ChildRules())
    await child.start()
    store = RedisStore(child.url, WallClock(), StoreRules())
    try:
        page = await store.list_entries(Selector(ACME), "", 500)
        return {one.id for one in page.entries}
    finally:
        await store.aclose()
        await child.stop()


async def put(url: str, *entries: Entry) -> None:
    store = RedisStore(url, WallClock(), StoreRules())
    for one in entries:
        assert await store.put(one)
    await store.aclose()


async def test_a_running_store_is_backed_up_and_restored(home: Path, proxy: ValkeyChild) -> None:
    await put(proxy.url, of("one", "ann"), of("two", "bob"))
    await command(proxy.url, "SET", Keys().shared("identity"), "old")
    target, data = home.parent / "kept" / "backup", home.parent / "new"
    made = await create(wanted(home), target, 5.0)
    assert verified(target) == made
    assert (made.secrets, made.data) == (True, str(home))
    assert set(made.parts) == {
        "store.rdb", "data/owners.key", "data/ledger/w-20260101T000000.000Z.jsonl", "policies/acme.yaml",
    }  # fmt: skip
    assert not (home / "valkey/dump.rdb").exists(), "it would keep what is erased later"
    assert not [path for path in target.parent.iterdir() if path != target]
    await put(proxy.url, of("later", "bob"))
    done = await restore(target, data, (), replay)
    assert (done.erasures, done.removed) == (0, {})
    assert (data / "policies/acme.yaml").read_text() == "tenant: acme\n"
    assert (data / "owners.key").stat().st_mode & 0o777 == 0o600
    assert await held(data) == {"one", "two"}
    child = ValkeyChild(data, ChildRules())
    await child.start()
    assert await command(child.url, "GET", Keys().shared("identity")) not in (b"old", None)
    await child.stop()
    with pytest.raises(ArchiveError, match="not empty"):
        await restore(target, data, (), replay)
    with pytest.raises(ArchiveError, match="not empty"):
        await create(wanted(home), target, 6.0)


async def test_a_resting_store_is_backed_up_too_and_secrets_can_be_left_out(home: Path) -> None:
    child = ValkeyChild(home, ChildRules())
    await child.start()
    await put(child.url, of("one", "ann"))
    await child.stop()
    made = await create(wanted(home, ()), home.parent / "backup", 5.0)
    assert not made.secrets
    assert "data/owners.key" not in made.parts
    await restore(home.parent / "backup", home.parent / "new", (), replay)
    assert await held(home.parent / "new") == {"one"}


@pytest.mark.event(41)
async def test_who_was_erased_after_a_backup_stays_erased_when_it_is_restored(
    home: Path, proxy: ValkeyChild
) -> None:
    await put(proxy.url, of("anns", "ann"), of("bobs", "bob"))
    target = home.parent / "backup"
    await create(wanted(home), target, 5.0)
    await erase(home, proxy.url, "ann")
    done = await restore(target, home.parent / "new", (), replay)
    assert (done.erasures, done.removed["entries"], done.removed["rows"]) == (1, 1, 1)
    assert await held(home.parent / "new") == {"bobs"}
    for path in (home.parent / "new").rglob("*"):
        text = path.read_bytes() if path.is_file() else b""
        assert b"secret of ann" not in text, path
        assert b'"ann"' not in text, path
    # Where the old directory is gone its journal is handed in.
    shutil.copyfile(home / journal.NAME, home.parent / "journal")
    (home / journal.NAME).unlink()
    done = await restore(target, home.parent / "newer", (home.parent / "journal",), replay)
    assert (done.erasures, done.removed["entries"]) == (1, 1)
    assert await held(home.parent / "newer") == {"bobs"}
    # A backup made after an erasure knows of it by itself.
    assert len(journal.read(home.parent / "newer" / journal.NAME)) == 1
    with pytest.raises(ArchiveError, match="no journal"):
        await restore(target, home.parent / "no", (home.parent / "nothing",), replay)


async def test_a_damaged_backup_makes_nothing(home: Path, proxy: ValkeyChild) -> None:
    await put(proxy.url, of("one", "ann"))
    sound = home.parent / "sound"
    await create(wanted(home), sound, 5.0)

    def bad(name: str, change: bytes | None) -> Path:
        target = home.parent / "bad"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(sound, target)
        if change is None:
            (target / name).unlink()
        else:
            (target / name).write_bytes(change)
        return target

    text = (sound / "manifest.json").read_bytes()
    told = json.loads(text)
    climbing = replace(verified(sound), parts=verified(sound).parts | {"data/../../x": manifest.Part(0, "")})
    cases = [
        ("manifest.json", None, "not finished"),
        ("manifest.json", text.replace(b'"1"', b'"2"'), "changed since"),
        ("manifest.json", b"{", "damaged"),
        ("manifest.json", json.dumps(told | {"format": 9}).encode(), "format 9"),
        ("manifest.json", climbing.dumps(), "no backup has"),
        ("store.rdb", None, "missing"),
        ("store.rdb", (sound / "store.rdb").read_bytes()[:-9] + b"x" * 9, "damaged or changed"),
        ("data/owners.key", b"", "damaged or changed"),
        ("data/more", b"", "no part"),
    ]
    for name, change, says in cases:
        with pytest.raises(ArchiveError, match=says):
            await restore(bad(name, change), home.parent / "new", (), replay)
        assert not (home.parent / "new").exists()
    linked = bad("data/owners.key", None)
    (linked / "data/owners.key").symlink_to("/etc/hostname")
    with pytest.raises(ArchiveError, match="missing"):
        verified(linked)


async def test_an_erasure_that_cannot_be_done_again_restores_nothing(home: Path, proxy: ValkeyChild) -> None:
    await put(proxy.url, of("one", "ann"))
    await create(wanted(home), home.parent / "backup", 5.0)
    journal.append(home / journal.NAME, Erasure(time.time(), ACME, ANN, (), "er_1"))

    async def fails(*_: object) -> dict[str, int]:
        raise StoreError("gone", kind="down")

    with pytest.raises(StoreError):
        await restore(home.parent / "backup", home.parent / "new", (), fails)
    assert not (home.parent / "new").exists()
    assert not list(home.parent.glob(".new*"))
    text = (home / journal.NAME).read_bytes()
    (home / journal.NAME).write_bytes(text.replace(b'"er_1"', b'"er_2"'))
    with pytest.raises(ArchiveError, match="was changed"):
        await restore(home.parent / "backup", home.parent / "new", (), replay)


async def test_one_backup_at_a_time_and_only_of_embedded_stores(home: Path, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="no embedded store"):
        await create(wanted(home), tmp_path / "b", 5.0)
    with pytest.raises(ArchiveError, match="no data directory"):
        await create(wanted(tmp_path / "none"), tmp_path / "b", 5.0)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArchiveError, match="no directory"):
        await create(wanted(home), tmp_path / "file", 5.0)
