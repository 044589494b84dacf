"""Somebody is erased from two proxies that run: nothing of them is served, and no file of theirs holds a word of it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from semcache.archive import journal, receipts
from semcache.archive.errors import ArchiveError
from semcache.cli.registry import app_of
from semcache.core import TenantId
from semcache.embed.fingerprint import subject_digest
from semcache.store.embedded import embedded_url
from tests.e2e.conftest import answering
from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import ByRequest, Exchange, Seen, UpstreamServer, in_thread

SECRET = "zebrafish"
"""Stands in all that Ann asks, and in nothing else."""
NAME = "ann.doe@example.com"
QUESTIONS = [f"How does a {SECRET} regrow fin number {word}?" for word in ("one", "two", "three")]
COMMON = "What is the capital of France?"


@dataclass
class Fleet:
    """Two proxies on one store, each with a data directory of its own."""

    first: Proxy
    second: Proxy
    upstream: UpstreamServer

    @property
    def store(self) -> str:
        return embedded_url(self.first.data)

    def semcache(self, *words: str, **environment: str) -> Result:
        """Run a command, here: a process of its own would take a second to begin."""
        return CliRunner().invoke(app_of(["erase", "entries", "backup"]), words, env=environment)

    def told(self, *words: str, **environment: str) -> Any:
        done = self.semcache(*words, "--json", **environment)
        assert done.exit_code == 0, done.exception or done.output
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    home = tmp_path_factory.mktemp("fleet")
    with (
        in_thread(ByRequest(answering)) as upstream,
        running(home / "one", "--upstream", upstream.url) as first,
    ):
        url = embedded_url(first.data)
        with running(home / "two", "--upstream", upstream.url, SEMCACHE_STORE__URL=url) as second:
            yield Fleet(first, second, upstream)


def ask(proxy: Proxy, question: str, user: str) -> str:
    head = {"semcache-user": user, "semcache-labels": f'project="{user}"'}
    return proxy.outcome(question, head)


def holding(data: Path, *words: str) -> list[str]:
    """Name the files of a data directory that hold one of these words."""
    found = []
    for path in data.rglob("*"):
        if path.is_symlink() or not path.is_file() or "models" in path.parts:
            continue
        text = path.read_bytes()
        found += [f"{path.relative_to(data)}: {word}" for word in words if word.encode() in text]
    return found


@pytest.mark.event(41)
def test_who_is_erased_is_served_by_nobody_and_stands_in_no_file(fleet: Fleet) -> None:
    first, second = fleet.first, fleet.second
    for question in QUESTIONS:
        assert ask(first, question, NAME) == "miss"
        assert ask(second, question, NAME) == "exact"
    assert ask(first, COMMON, "bob") == "miss"
    # Ann gets Bob's answer: the reviewers' queue holds how she put it.
    near = f"What is the capital city of France? ({SECRET})"
    for proxy in (first, second):
        ask(proxy, near, NAME)
    first.wait_until(lambda: holding(first.data / "ledger", NAME) and holding(second.data / "ledger", NAME))
    time.sleep(2.5)  # sightings and snapshots are written every second or two
    before = holding(first.data, SECRET, NAME)
    assert any(one.startswith("valkey/appendonlydir") for one in before)

    data = ("--data", str(first.data))
    plan = fleet.told("erase", *data, "--subject", NAME, "--dry-run")
    assert plan["removed"]["entries"] >= len(QUESTIONS)
    assert plan["removed"]["rows"] >= 4
    assert holding(first.data, SECRET, NAME) != []
    receipt = fleet.told("erase", *data, "--subject", NAME, "--note", "ticket 7")
    done = time.monotonic()

    fleet.upstream.requests.clear()
    time.sleep(max(0.0, done + 1.0 - time.monotonic()))
    assert [ask(proxy, question, "carol") for proxy in (first, second) for question in QUESTIONS[:1]] == [
        "miss", "exact",
    ]  # fmt: skip
    assert len(fleet.upstream.requests) == 1, "what Carol asked first was asked of the upstream"
    assert ask(second, COMMON, "bob") == "exact", "nobody else loses anything"

    # Carol asked it in the same words, under her own name; she goes too, so that no word of it may stay.
    fleet.told("erase", *data, "--subject", "carol")
    assert holding(first.data, SECRET, NAME) == []
    assert fleet.told("erase", *data, "--subject", NAME, "--dry-run")["removed"] == dict.fromkeys(
        plan["removed"], 0
    )

    digest = subject_digest(TenantId("default"), NAME)
    assert (receipt["subject"], receipt["by"], receipt["note"]) == (digest, "cli", "ticket 7")
    assert {name: count for name, count in receipt["removed"].items() if count} == {
        name: count for name, count in plan["removed"].items() if count
    }
    assert any("data directories of other machines" in line for line in receipt["unreached"])
    assert fleet.told("erase", *data, "--receipt", receipt["id"]) == receipt
    assert receipts.digest_of(receipt) == receipt["digest"]
    assert NAME not in json.dumps(receipt)
    assert {one.subject for one in journal.read(first.data / journal.NAME)} >= {digest}

    # The other machine's rows: what its own command does.
    assert holding(second.data, NAME) != []
    told = fleet.told(
        "backup", "replay-erasures", "--data", str(second.data), SEMCACHE_STORE__URL=fleet.store
    )
    assert told["removed"]["rows"] >= 3
    assert holding(second.data, SECRET, NAME) == []


@pytest.mark.event(41)
def test_a_backup_and_an_export_from_before_bring_nobody_back(fleet: Fleet, tmp_path: Path) -> None:
    first = fleet.first
    user, question = "dave", f"How old does a {SECRET} get, says Dave?"
    assert ask(first, question, user) == "miss"
    data = ("--data", str(first.data))
    assert fleet.semcache("entries", "export", *data, "-o", str(tmp_path / "out.jsonl")).exit_code == 0
    assert SECRET in (tmp_path / "out.jsonl").read_text()
    assert fleet.told("backup", "create", str(tmp_path / "backup"), *data)["parts"] >= 2
    fleet.told("erase", *data, "--subject", user)

    told = fleet.told("entries", "import", str(tmp_path / "out.jsonl"), *data)
    assert (told["imported"], told["skipped"]["erased"]) == (0, 1)
    assert fleet.told("backup", "verify", str(tmp_path / "backup"))["parts"] >= 2
    restored = fleet.told("backup", "restore", str(tmp_path / "backup"), "--data", str(tmp_path / "new"))
    assert restored["removed"]["entries"] == 1
    assert holding(tmp_path / "new", SECRET) == []
    assert ask(first, question, user) == "miss"


@pytest.mark.event(41)
def test_an_answer_that_was_under_way_is_given_and_not_kept(fleet: Fleet) -> None:
    question, free = f"What eats a {SECRET} late at night?", threading.Event()

    def waiting(seen: Seen) -> object:
        inner = answering(seen)

        async def late(exchange: Exchange) -> None:
            await asyncio.to_thread(free.wait, 60)
            await inner(exchange)  # type: ignore[operator] # a behaviour

        return late

    fleet.upstream.script = ByRequest(waiting)
    calls = fleet.upstream.calls
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, fleet.first, question, "fay")
        fleet.first.wait_until(lambda: fleet.upstream.calls > calls)
        fleet.told("erase", "--data", str(fleet.first.data), "--subject", "fay")
        free.set()
        assert asked.result(60) == "miss"
    fleet.upstream.script = ByRequest(answering)
    assert ask(fleet.second, question, "gil") == "miss"
    assert ask(fleet.first, question, "gil") == "exact", "what was asked after that is kept"


def test_a_tampered_export_is_refused_in_one_line(fleet: Fleet, tmp_path: Path) -> None:
    data = ("--data", str(fleet.first.data))
    assert ask(fleet.first, COMMON, "bob") in ("exact", "miss")
    text = fleet.semcache("entries", "export", *data).stdout
    (tmp_path / "x").write_text(text.replace("Answer to", "Payload of"))
    done = fleet.semcache("entries", "import", str(tmp_path / "x"), *data)
    assert isinstance(done.exception, ArchiveError)
    assert "checksum differs" in str(done.exception)
    assert done.stdout == ""
    (tmp_path / "y").write_text(text)
    told = fleet.told("entries", "import", str(tmp_path / "y"), *data, "--dry-run")
    assert told["imported"] == 0, "what stands there, and what was made within seconds of an erasure"
    assert set(told["skipped"]) <= {"present", "erased"}
    done = fleet.semcache("entries", "import", str(tmp_path / "y"), *data, "--tenant", "other")
    assert isinstance(done.exception, ArchiveError)
    assert "another tenant" in str(done.exception)
