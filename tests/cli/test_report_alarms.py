"""`semcache report alarms` against a real store: what a proxy wrote down is what a person sees."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from semcache.cli.alarms import read_alarms
from semcache.cli.commands import app
from semcache.cost_port import AlarmKind, CostAlarm
from semcache.errors import SemcacheError
from semcache.store.alarm_shelf import RedisAlarmShelf
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.fakes.alarm_shelf import FakeAlarmShelf
from tests.store.servers import WallClock, command, valkey

__all__ = ["valkey"]

LOW = CostAlarm(
    "acme", AlarmKind.HIT_RATIO_LOW, "", True, 1e9, 1e9 + 60, 0.01, 0.05, "semcache ALARM: acme: only 1.0%"
)
OVER = replace(LOW, kind=AlarmKind.RETRIES, is_raised=False, text="semcache over: acme: [bold]no[/bold]")
THEIRS = replace(LOW, tenant="other", at=2e9)


async def write(url: str) -> None:
    await command(url, "FLUSHALL")
    shelf = RedisAlarmShelf(url, LinkRules(deadline=5.0))
    await shelf.put([replace(OVER, is_raised=True, at=5.0), OVER, LOW, THEIRS])
    await shelf.save({"acme": "{}", "other": "{}"})
    await shelf.aclose()


def run(valkey: ValkeyChild, tmp_path: Path, *words: str) -> Result:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"store": {"url": valkey.url}}))
    return CliRunner().invoke(app, ["report", "alarms", "--config", str(config), *words])


def test_what_is_raised_comes_first(
    valkey: ValkeyChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMCACHE_CONFIG", "")
    asyncio.run(write(valkey.url))
    told = run(valkey, tmp_path)
    assert told.exit_code == 0
    head, *rows = told.output.splitlines()
    assert head.split() == ["now", "tenant", "alarm", "about", "changed", "since", "what"]
    assert [row.split()[:3] for row in rows] == [
        ["RAISED", "other", "hit_ratio_low"],
        ["RAISED", "acme", "hit_ratio_low"],
        ["over", "acme", "retries"],
        ["raised", "acme", "retries"],
    ]
    assert "only 1.0%" in rows[0]
    assert "[bold]no[/bold]" in rows[2]
    found = json.loads(run(valkey, tmp_path, "--json", "--tenant", "acme", "--listed", "1").output)
    assert found["raised"] == 1
    assert [(row["kind"], row["state"], row["stands"]) for row in found["alarms"]] == [
        ("hit_ratio_low", "raised", True),
        ("retries", "over", False),
    ]


def test_nothing_yet(valkey: ValkeyChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMCACHE_CONFIG", "")
    asyncio.run(command(valkey.url, "FLUSHALL"))
    assert run(valkey, tmp_path).output == "no alarm has been raised yet\n"
    assert json.loads(run(valkey, tmp_path, "--json").output) == {"raised": 0, "alarms": []}


def test_no_store_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMCACHE_CONFIG", "")
    told = CliRunner().invoke(app, ["report", "alarms", "--data", str(tmp_path / "none")])
    assert isinstance(told.exception, SemcacheError)
    assert "no store answers" in str(told.exception)


async def test_reading_all_tenants() -> None:
    shelf = FakeAlarmShelf(WallClock())
    await shelf.put([LOW, THEIRS])
    assert [one.tenant for one, _ in await read_alarms(shelf, "", 5)] == ["other", "acme"]
    assert [one.tenant for one, _ in await read_alarms(shelf, "acme", 5)] == ["acme"]
