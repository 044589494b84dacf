"""`semcache report quality` against a real store: what a proxy wrote down is what a person sees."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.cli.quality import quality_of
from semcache.core import EntryId, TenantId
from semcache.errors import SemcacheError
from semcache.evidence_port import Alarm, Finding, Label, Source
from semcache.store.embedded import ValkeyChild
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules
from tests.store.servers import command, valkey

__all__ = ["valkey"]

ACME, OTHER = TenantId("acme"), TenantId("other")
NOW = time.time()


async def write(url: str) -> None:
    await command(url, "FLUSHALL")
    shelves = EvidenceShelves(url, LinkRules(deadline=5.0))
    store = shelves.labels
    for n in range(200):
        finding = Finding.WRONG if n < 3 else Finding.UNDECIDED if n < 10 else Finding.RIGHT
        source = Source.SHADOW if n % 2 else Source.AUDIT
        label = Label(
            f"a{n}",
            ACME,
            "chat",
            source,
            finding,
            20,
            100,
            NOW,
            entry=EntryId("e9" if n < 3 else f"e-{n}"),
            request=f"r{n}",
            score=0.97,
            reasons=("numbers",),
        )
        await store.add(label)
    note = "say [bold]no[/bold]"
    await store.add(
        Label(
            "f1", ACME, "chat", Source.FEEDBACK, Finding.WRONG, 20, 100, NOW, entry=EntryId("e9"), note=note
        )
    )
    await store.tally(
        ACME, "chat", NOW, {"exact": 1000, "semantic": 500, "shadow-semantic": 20, "money": 1_234_500}
    )
    await store.tally(ACME, "chat", NOW - 60 * 86_400, {"exact": 7})
    await store.tally(ACME, "chat", NOW, {"dropped-cap": 2, "audit-failed": 1})
    await store.sound(ACME, "chat", Alarm(NOW, "alarmed"))
    await store.tally(OTHER, "legal", NOW, {"exact": 4})
    await shelves.aclose()


def run(home: Path, url: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    config = home / "config.yaml"
    config.write_text(f"store: {{url: '{url}'}}\n")
    monkeypatch.setenv("SEMCACHE_CONFIG", str(config))
    result = CliRunner().invoke(app, ["report", "quality", "--config", str(config), *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def url(valkey: ValkeyChild) -> str:
    asyncio.run(write(valkey.url))
    return valkey.url


def test_the_figures_as_json(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(run(tmp_path, url, monkeypatch, "--json", "--listed", "3").stdout)
    chat, legal = told["domains"]
    assert {name: chat[name] for name in ("tenant", "domain", "exact", "semantic", "shadow", "right", "wrong")} == {
        "tenant": "acme", "domain": "chat", "exact": 1000, "semantic": 500, "shadow": 20, "right": 190, "wrong": 3,
    }  # fmt: skip
    assert (chat["undecided"], chat["failed"], chat["dropped"], chat["feedback_wrong"]) == (7, 1, 2, 1)
    assert chat["wrong_per_hit"] == pytest.approx(3 / 193)
    assert (chat["low"], chat["high"]) == (
        pytest.approx(0.003214, abs=1e-5),
        pytest.approx(0.044748, abs=1e-5),
    )
    assert (chat["money"], chat["alarm"]["reason"]) == (1_234_500, "alarmed")
    assert (legal["exact"], legal["wrong_per_hit"], legal["low"], legal["high"]) == (4, None, 0.0, 1.0)
    assert [found["request"] for found in told["findings"]] == ["", "r199", "r198"]
    assert told["flagged"] == [{"tenant": "acme", "entry": "e9", "wrong": 4}]


def test_the_figures_as_a_table(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = run(tmp_path, url, monkeypatch, "--listed", "1").stdout
    assert "1.55% (0.32% to 4.48%)" in told
    assert "$1.2345" in told
    assert "say [bold]no[/bold]" in told
    assert "unknown" in told
    assert "acme entry e9 was found wrong 4 times" in told


@pytest.mark.parametrize(
    ("arguments", "domains"),
    [
        (["--tenant", "acme"], ["chat"]),
        (["--domain", "legal"], ["legal"]),
        (["--tenant", "acme", "--domain", "legal"], []),
        (["--tenant", "nobody"], []),
    ],
)
def test_one_tenant_or_domain(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], domains: list[str]
) -> None:
    told = json.loads(run(tmp_path, url, monkeypatch, "--json", *arguments).stdout)
    assert [row["domain"] for row in told["domains"]] == domains


def test_the_days_looked_back(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(run(tmp_path, url, monkeypatch, "--json", "--days", "90", "--tenant", "acme").stdout)
    assert told["domains"][0]["exact"] == 1007


def test_nothing_yet(valkey: ValkeyChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(command(valkey.url, "FLUSHALL"))
    assert "no evidence yet" in run(tmp_path, valkey.url, monkeypatch).stdout


def test_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SemcacheError, match="no store answers at"):
        run(tmp_path, f"unix://{tmp_path}/gone.sock", monkeypatch)


def test_shadow_and_audits_count_together_and_callers_apart() -> None:
    words: dict[str, Any] = {
        "audit-right": 3,
        "shadow-right": 2,
        "audit-wrong": 1,
        "feedback-wrong": 9,
        "odd": 5,
    }
    row = quality_of("t", "d", words, None)
    assert (row.labels, row.wrong, row.share, row.feedback_wrong) == (6, 1, 1 / 6, 9)
