"""`semcache report prefixes` against a real store: what lint found is what a person sees."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.cli.prefixes import read_rows, rows_of
from semcache.core import TenantId
from semcache.cost_port import DAY, Cause, LintFinding
from semcache.errors import SemcacheError
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from semcache.store.lint_shelf import RedisLintShelf
from tests.fakes.lint_shelf import FakeLintShelf
from tests.store.servers import command, valkey

__all__ = ["valkey"]

TODAY = int(time.time() // DAY)
CLOCK = LintFinding(
    tenant="acme",
    day=TODAY,
    group="a1b2c3",
    cause=Cause.TIME,
    where="system",
    byte=14_000,
    token=3_500,
    sample="[99:99:99]",
    prompts=1000,
    seen=900,
    tokens=2_000_000,
    money=4_500_000,
    fix="Move the time.",
    model="gpt-4o",
    labels=(("project", "shop"),),
)
OLD = replace(CLOCK, day=TODAY - 1, prompts=3000, seen=900, tokens=1_000_000, money=1_500_000, byte=7)
WINDOW = replace(
    CLOCK,
    tenant="other",
    cause=Cause.HISTORY_WINDOW,
    where="messages[1]",
    money=None,
    tokens=9,
    fix="Hop seldom.",
)
ANCIENT = replace(CLOCK, day=TODAY - 30, group="zzz")


async def write(url: str, findings: Sequence[LintFinding]) -> None:
    await command(url, "FLUSHALL")
    shelf = RedisLintShelf(url, LinkRules(deadline=5.0))
    await shelf.put("w1", findings)
    await shelf.aclose()


def run(home: Path, url: str, *arguments: str) -> Result:
    config = home / "config.yaml"
    config.write_text(f"store: {{url: '{url}'}}\n")
    result = CliRunner().invoke(app, ["report", "prefixes", "--config", str(config), *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(autouse=True)
def _own_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMCACHE_CONFIG", "")
    monkeypatch.setenv("COLUMNS", "200")


def test_a_person_sees_causes_by_cost_with_what_to_do(valkey: ValkeyChild, tmp_path: Path) -> None:
    asyncio.run(write(valkey.url, [CLOCK, OLD, WINDOW, ANCIENT]))
    lines = run(tmp_path, valkey.url).output.splitlines()
    clock = next(line for line in lines if "time" in line and "acme" in line)
    for word in ("gpt-4o", "system", "14,000", "3,500", "45% of 4,000", "1,500,000", "$3.00", "[99:99:99]"):
        assert word in clock
    window = next(line for line in lines if "history_window" in line)
    assert "unknown" in window
    assert lines.index(clock) < lines.index(window)
    assert [line for line in lines if line[:2] in ("1.", "2.")] == ["1. Move the time.", "2. Hop seldom."]


def test_a_program_reads_json(valkey: ValkeyChild, tmp_path: Path) -> None:
    asyncio.run(write(valkey.url, [CLOCK, OLD, WINDOW, ANCIENT]))
    (clock,) = json.loads(run(tmp_path, valkey.url, "--json", "--tenant", "acme").output)["prefixes"]
    assert clock == {
        "tenant": "acme",
        "group": "a1b2c3",
        "model": "gpt-4o",
        "labels": {"project": "shop"},
        "cause": "time",
        "where": "system",
        "byte": 14_000,
        "token": 3_500,
        "sample": "[99:99:99]",
        "days": 2,
        "prompts": 4000,
        "broken": 1800,
        "share": 0.45,
        "tokens_a_day": 1_500_000,
        "money_a_day": 3_000_000,
        "fix": "Move the time.",
    }
    both = json.loads(run(tmp_path, valkey.url, "--json", "--days", "1").output)["prefixes"]
    assert [(row["tenant"], row["prompts"], row["money_a_day"]) for row in both] == [
        ("acme", 1000, 4_500_000),
        ("other", 1000, None),
    ]
    assert len(json.loads(run(tmp_path, valkey.url, "--json", "--listed", "1").output)["prefixes"]) == 1


def test_nothing_found_is_said(valkey: ValkeyChild, tmp_path: Path) -> None:
    asyncio.run(write(valkey.url, []))
    assert "nothing found yet" in run(tmp_path, valkey.url).output
    assert json.loads(run(tmp_path, valkey.url, "--json").output) == {"prefixes": []}


def test_no_store_is_a_message_that_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(SemcacheError, match=r"no store answers at redis://127.0.0.1:9"):
        run(tmp_path, "redis://127.0.0.1:9")


async def test_rows_of_the_fake() -> None:
    shelf = FakeLintShelf()
    await shelf.put("w1", [CLOCK, OLD])
    await shelf.put("w2", [CLOCK])
    (row,) = await read_rows(shelf, "", TODAY - 1, TODAY)
    assert (row.days, row.prompts, row.seen, row.tokens, row.money) == (2, 5000, 2700, 2_500_000, 5_250_000)
    assert await read_rows(shelf, TenantId("nobody"), 0, TODAY) == []


def test_a_price_unknown_on_one_day_is_unknown() -> None:
    (row,) = rows_of([CLOCK, replace(OLD, money=None)])
    assert row.money is None
    assert row.newest == CLOCK
