"""`semcache report budgets` against a real store: what was set aside and settled is what a person sees."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.cost_port import Claim
from semcache.errors import SemcacheError
from semcache.policy.loader import load_directory
from semcache.store.budgets import RedisBudgets
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from semcache.store.windows import window_at
from tests.policy.samples import MINIMAL
from tests.store.servers import ACME, command, valkey

__all__ = ["valkey"]

COSTS = """costs:
  budgets:
    - {name: team, window: month, hard_usd: 10, soft_usd: 8}
    - {name: weekly, window: week, requests: 4, labels: {project: "[bold]x"}}
    - {name: warn, window: day, soft_usd: 5}
"""


@pytest.fixture
def home(tmp_path: Path, valkey: ValkeyChild) -> Path:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "acme.yaml").write_text(MINIMAL + COSTS)
    (folder / "other.yaml").write_text(MINIMAL.replace("acme", "other"))
    (tmp_path / "config.yaml").write_text(f"store: {{url: '{valkey.url}'}}\npolicies: '{folder}'\n")
    asyncio.run(_spend(valkey.url, folder))
    return tmp_path


async def _spend(url: str, folder: Path) -> None:
    await command(url, "FLUSHALL")
    team, weekly, warn = load_directory(folder).costs(ACME).budgets
    counts = RedisBudgets(url, LinkRules(deadline=5.0))
    now = time.time()
    await counts.settle(ACME, "a", [Claim(team, 6_000_001, 0), Claim(warn, 2_500_000, 0)], now)
    await counts.reserve(ACME, "b", [Claim(team, 1_500_000, 0), Claim(weekly, 0, 1)], now, 600)
    await counts.aclose()


def run(home: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["report", "budgets", "--config", str(home / "config.yaml"), *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def words(text: str) -> list[str]:
    return text.split()


def test_a_table_for_people(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    head, team, weekly, warn = run(home).splitlines()
    assert head.split()[:4] == ["tenant", "budget", "window", "spent"]
    month = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(window_at("month", time.time())[1]))
    assert team.split() == [
        *words("acme team month $6.0000 $1.5000 $8.0000 $10.0000 $2.5000 75.0% -"),
        month,
    ]
    assert weekly.split()[:-1] == words("acme weekly week $0.0000 $0.0000 - - - 25.0% 1 of 4")
    assert warn.split()[:-1] == words("acme warn day $2.5000 $0.0000 $5.0000 - - 50.0% -")


def test_json_for_machines(home: Path) -> None:
    team, weekly, _ = json.loads(run(home, "--json"))["budgets"]
    assert (team["spent_micro_usd"], team["held_micro_usd"], team["left_micro_usd"]) == (
        6_000_001,
        1_500_000,
        2_499_999,
    )
    assert (team["requests"], team["soft_micro_usd"], team["on_hard"]) == (None, 8_000_000, "cache_only")
    assert (weekly["requests"], weekly["requests_limit"], weekly["used"]) == (1, 4, 0.25)
    assert weekly["labels"] == {"project": "[bold]x"}
    assert team["begins"] < team["resets"]


def test_one_tenant_or_none(home: Path) -> None:
    assert len(json.loads(run(home, "--json", "--tenant", "acme"))["budgets"]) == 3
    assert run(home, "--tenant", "other").startswith("no budgets")


def test_without_a_store_it_says_where_it_looked(home: Path) -> None:
    config = home / "config.yaml"
    config.write_text(config.read_text().replace("unix://", "unix:///nowhere"))
    with pytest.raises(SemcacheError, match="no store answers at"):
        run(home)
