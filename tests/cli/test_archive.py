"""Commands that export, import, back up and erase, as a person sees them; on a store without a proxy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from semcache.cli.registry import app_of
from semcache.core import ReviewStatus
from semcache.embed.fingerprint import subject_digest
from semcache.errors import SemcacheError
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.redis_store import RedisStore, StoreRules
from tests.archive.scene import ACME, made
from tests.store.servers import WallClock

APP = app_of(["erase", "entries", "backup"])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("data")
    child = ValkeyChild(folder, ChildRules())

    async def filled() -> None:
        await child.start()
        store = RedisStore(child.url, WallClock(), StoreRules())
        for name in ("ann", "bob"):
            assert await store.put(made(name, subject=subject_digest(ACME, name)))
        assert await store.put(made("bad", status=ReviewStatus.REJECTED, version=2, subject=""))
        await store.aclose()

    asyncio.run(filled())
    yield folder
    asyncio.run(child.stop())


def said(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(APP, words, input=stdin)


def test_entries_leave_and_come_back(data: Path, tmp_path: Path) -> None:
    at = ("--data", str(data), "--tenant", "acme")
    poured = said("entries", "export", *at)
    assert poured.exit_code == 0, poured.output
    kinds = [next(iter(json.loads(line))) for line in poured.stdout.splitlines()]
    assert kinds == ["head", "sum", "sum", "sum", "foot"]
    file = tmp_path / "out.jsonl"
    assert said("entries", "export", *at, "-o", str(file)).stdout == ""
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["out.jsonl"]
    shown = said("entries", "import", str(file), *at, "--keep-review")
    assert shown.exit_code == 0, shown.output
    rows = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "imported 0" in rows
    assert "passed over: stand there already, in this version or a later one 3" in rows
    refused = said("entries", "import", str(tmp_path / "none"), *at)
    assert "cannot be read" in str(refused.exception)
    nowhere = said("entries", "export", *at, "-o", str(tmp_path / "no" / "file"))
    assert isinstance(nowhere.exception, SemcacheError)


def test_somebody_is_erased_and_the_receipt_is_shown(data: Path) -> None:
    at = ("--data", str(data), "--tenant", "acme")
    assert said("erase", *at).exit_code == 2
    dry = said("erase", *at, "--subject", "ann", "--dry-run").stdout
    assert "would go" in dry
    assert "receipt" not in dry
    done = said("erase", *at, "--subject", "-", stdin="ann\n")
    assert done.exit_code == 0, done.exception
    (last,) = [line for line in done.stdout.splitlines() if line.startswith("receipt ")]
    receipt = last.split()[1].rstrip(",")
    assert said("erase", *at, "--receipt", receipt).stdout == done.stdout
    assert "entries (and their vectors, in every process)" in done.stdout
    assert any(line.startswith("unreached: ") for line in done.stdout.splitlines())
    assert "there is no receipt" in str(said("erase", *at, "--receipt", "er_" + "0" * 24).exception)


def test_a_backup_is_made_checked_and_restored(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    done = said("backup", "create", str(target), "--data", str(data))
    assert done.exit_code == 0, done.exception
    assert "without secrets" in done.stdout
    assert ": sound, " in said("backup", "verify", str(target)).stdout
    back = said("backup", "restore", str(target), "--data", str(tmp_path / "new"))
    assert back.exit_code == 0, back.exception
    assert f"semcache serve --data {tmp_path / 'new'}" in back.stdout
    again = said("backup", "replay-erasures", "--data", str(data))
    assert again.exit_code == 0, again.exception
    assert "things went" in again.stdout
    assert "is no backup" in str(said("backup", "verify", str(tmp_path)).exception)


def test_without_a_store_there_is_a_way_out(tmp_path: Path) -> None:
    for words in (("entries", "export"), ("erase", "--subject", "x"), ("backup", "replay-erasures")):
        done = said(*words, "--data", str(tmp_path))
        assert "semcache serve" in str(done.exception), words
    done = said("backup", "create", str(tmp_path / "b"), "--data", str(tmp_path))
    assert "no embedded store" in str(done.exception)
