"""`semcache ledger`: raw rows on the screen and into a pipe."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.cost.keeping import Keeper, KeepRules
from semcache.cost.plain import dumped
from semcache.cost.row_fields import NAMES
from semcache.cost.rows import RowFiles
from tests.cost.told import DAY, NOON, HandClock, Heard


def written(data: Path, days: int = 3, each: int = 2, name: str = "w") -> None:
    for day in range(days):
        clock = HandClock(NOON - day * DAY)
        out = RowFiles(data / "ledger", name, 1 << 30, clock, Heard())
        out.write(
            [dumped({"at": clock.at + turn, "tenant": f"t{turn % 2}", "cost": turn}) for turn in range(each)]
        )
        out.close()


def run(*arguments: str) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["ledger", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout, result.stderr


def test_rows_of_a_tenant_and_a_time(tmp_path: Path) -> None:
    written(tmp_path)
    Keeper(tmp_path / "ledger", KeepRules("parquet"), HandClock(), Heard()).tidy()
    written(tmp_path, days=1, name="v")
    all_rows = [json.loads(line) for line in run("rows", "--data", str(tmp_path))[0].splitlines()]
    assert len(all_rows) == 8
    assert all(tuple(row) == NAMES for row in all_rows)
    told, _ = run(
        "rows",
        "--data",
        str(tmp_path),
        "--tenant",
        "t1",
        "--since",
        "2026-09-20",
        "--until",
        "2026-09-21T12:00:01",
    )
    assert [row["at"] for row in map(json.loads, told.splitlines())] == [NOON - DAY + 1]


def test_what_was_left_away_is_said_beside(tmp_path: Path) -> None:
    written(tmp_path, days=1)
    (path,) = (tmp_path / "ledger").iterdir()
    path.write_bytes(path.read_bytes() + b'{"half')
    told, said = run("rows", "--data", str(tmp_path))
    assert len(told.splitlines()) == 2
    assert "1 lines are no rows" in said


def test_files_are_listed(tmp_path: Path) -> None:
    assert "no rows" in run("files", "--data", str(tmp_path))[0]
    written(tmp_path)
    told, _ = run("files", "--data", str(tmp_path), "--json")
    assert [file["begun"] for file in json.loads(told)] == [NOON - 2 * DAY, NOON - DAY, NOON]
    assert "all" in run("files", "--data", str(tmp_path))[0]


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    written(tmp_path, days=1, each=20_000)
    command = [sys.executable, "-m", "semcache", "ledger", "rows", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["cost"] == 0
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
