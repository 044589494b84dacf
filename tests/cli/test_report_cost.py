"""`semcache report cost` against a real store: tables, JSON, CSV and plots of the same book."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import time
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import pytest
from typer.testing import CliRunner, Result

from semcache.cli.commands import app
from semcache.cli.cost import Asked, read_books
from semcache.cli.cost_table import sum_in_words
from semcache.core import TenantId
from semcache.cost.report import By, Group, total
from semcache.cost_port import DAY as SECONDS
from semcache.cost_port import CostKey, CostSums
from semcache.errors import SemcacheError
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.cost.books import book, key
from tests.fakes.cost_book import FakeCostBook
from tests.store.servers import command, valkey

__all__ = ["valkey"]

YESTERDAY = int(time.time()) // SECONDS - 1


async def write(url: str, *books: Mapping[CostKey, CostSums]) -> None:
    await command(url, "FLUSHALL")
    shelf = RedisCostBook(url, LinkRules(deadline=5.0))
    for number, made in enumerate(books, 1):
        await shelf.add(f"test.{number}", made)
    await shelf.aclose()


@pytest.fixture
def url(valkey: ValkeyChild) -> str:
    asyncio.run(write(valkey.url, book("acme", YESTERDAY)))
    return valkey.url


def run(home: Path, url: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    config = home / "config.yaml"
    config.write_text(f"store: {{url: '{url}'}}\n")
    monkeypatch.setenv("SEMCACHE_CONFIG", str(config))
    result = CliRunner().invoke(app, ["report", "cost", "--config", str(config), *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_tables(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = run(tmp_path, url, monkeypatch).stdout
    lines = told.splitlines()
    assert (
        "acme: paid $2.00, without caches it would have been $2.795; saved $0.795 (28.4%), net of what stood beside $0.764"
        in lines[0]
    )
    words = next(line.split() for line in lines if line.startswith("total") and "$" in line)
    assert words == ["total", "$2.00", "$0.60", "$0.20", "-$0.005", "$2.795", "$0.031", "$0.764", "$1.90"], (
        "exact, and in line"
    )
    mystery = next(line for line in lines if line.startswith("mystery") and "price" in line)
    assert mystery.count("no price") == 7
    use = next(line.split() for line in lines if line.startswith("mystery"))
    assert use == ["mystery", "5", "0.0%", "500", "0.0%", "100", "0", "5"]


def test_the_same_as_json(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(
        run(tmp_path, url, monkeypatch, "--json", "--by", "project,day", "--by", "outcome").stdout
    )
    assert (told["unit"], told["by"]) == ("micro_usd", ["project", "day", "outcome"])
    assert len(told["groups"]) == len(book())
    for name in ("paid", "without_caches", "net", "charged", "requests", "unpriced"):
        known = [group[name] for group in told["groups"] if group[name] is not None]
        assert sum(known) == told["total"][name], name
    blank = next(group for group in told["groups"] if group["unpriced"])
    assert (blank["paid"], blank["saved"]["total"], blank["tokens"]["input"]) == (None, None, 500)
    assert told["total"]["saved"] == {
        "response_cache": 600_000, "provider_cache": 200_000, "local_prefix": -5_000, "total": 795_000,
        "share": pytest.approx(795 / 2795),
    }  # fmt: skip


def test_csv_and_plot_and_json_at_once(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, picture = tmp_path / "c.csv", tmp_path / "c.svg"
    told = json.loads(
        run(tmp_path, url, monkeypatch, "--json", "--csv", str(table), "--plot", str(picture)).stdout
    )
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"), newline="")))
    assert (
        sum(Decimal(row["BilledCost"]) for row in rows if row["BilledCost"]) * 10**6 == told["total"]["spent"]
    )
    assert b"<svg" in picture.read_bytes()[:500]


def test_csv_on_standard_output_is_nothing_else(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run(tmp_path, url, monkeypatch, "--csv", "-").stdout
    assert len(list(csv.reader(io.StringIO(told)))) == 1 + len(book())


def test_days_and_tenants(valkey: ValkeyChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {key("acme", YESTERDAY - 40): CostSums(requests=7, cost=9)}
    other = {key("b[red]", YESTERDAY): CostSums(requests=3, cost=5)}
    asyncio.run(write(valkey.url, book("acme", YESTERDAY), old, other))

    def requests(*words: str) -> int:
        told = json.loads(run(tmp_path, valkey.url, monkeypatch, "--json", *words).stdout)
        return int(told["total"]["requests"])

    assert [requests(), requests("--days", "60"), requests("--days", "1")] == [168, 175, 55]
    assert [requests("--tenant", "acme"), requests("--tenant", "b[red]")] == [165, 3]
    told = run(tmp_path, valkey.url, monkeypatch).stdout
    assert "all tenants: paid" in told
    assert "b[red]" in told


def test_names_that_a_terminal_would_carry_out(
    valkey: ValkeyChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(
        write(valkey.url, {key("acme", YESTERDAY, model="x\x1b[31m[bold]y"): CostSums(requests=1, cost=1)})
    )
    told = run(tmp_path, valkey.url, monkeypatch).stdout
    assert "\x1b" not in told
    assert "[bold]y" in told


def test_no_number_is_cut_where_the_terminal_is_narrow(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    told = run(tmp_path, url, monkeypatch, "--by", "model,day,project").stdout
    assert "…" not in told
    assert "$2.795" in told


def test_nothing_yet(valkey: ValkeyChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(write(valkey.url))
    told = run(tmp_path, valkey.url, monkeypatch).stdout
    assert "nothing was counted in the last 30 days" in told
    assert "semcache serve" in told
    assert json.loads(run(tmp_path, valkey.url, monkeypatch, "--json").stdout)["groups"] == []


def test_nothing_of_a_tenant_names_those_that_have_any(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run(tmp_path, url, monkeypatch, "--tenant", "nobody").stdout
    assert "for the tenant nobody" in told
    assert "there are costs of: acme" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "colour"], r"--by: costs are not grouped by 'colour'"),
        (["--plot", "c.gif"], r"a plot ends in \.png or \.svg"),
        (["--csv", "/nowhere/c.csv"], r"/nowhere/c\.csv: cannot be written"),
    ],
)
def test_what_cannot_be_is_said(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    with pytest.raises(SemcacheError, match=said):
        run(tmp_path, url, monkeypatch, *arguments)


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SemcacheError, match="no store answers"):
        run(tmp_path, f"unix://{tmp_path}/gone.sock", monkeypatch, "--csv", str(tmp_path / "c.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


async def test_days_are_read_a_few_at_a_time_and_only_what_is_asked_is_held() -> None:
    class Counting(FakeCostBook):
        spans: ClassVar[list[tuple[str, int, int]]] = []

        async def read(self, tenant: TenantId, first: int, last: int) -> Mapping[CostKey, CostSums]:
            self.spans.append((tenant, first, last))
            return await super().read(tenant, first, last)

    shelf, out = Counting(), io.StringIO(newline="")
    made = {
        key("a", 100 + day, project=f"p{n}"): CostSums(requests=1) for day in range(10) for n in range(20)
    }
    await shelf.add("t.1", made)
    found, known = await read_books(shelf, Asked(TenantId(""), 100, 109, (By.MODEL,)), out)
    assert (shelf.spans, known) == ([("a", 100, 106), ("a", 107, 109)], ("a",))
    assert (len(found), total(found).sums.requests) == (10, 200)
    assert len(out.getvalue().splitlines()) == 1 + 200


def test_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SemcacheError, match="no store answers at"):
        run(tmp_path, f"unix://{tmp_path}/gone.sock", monkeypatch)


def test_a_loss_is_called_one() -> None:
    assert "lost $0.40" in sum_in_words(
        Group((), CostSums(requests=1, cost=900_000, by_response=-400_000), 0), "x"
    )
    assert "none of which has a price" in sum_in_words(Group((), CostSums(requests=2, unpriced=2), 0), "x")
    assert "saved $0.00, net" in sum_in_words(total({}), "x")
