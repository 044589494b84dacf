"""Event 27: killed at random points of everything that is saved; old or new is there, never a mixture.

What Redis keeps (entries, verdicts, the log) is killed in `tests/store/test_verdicts_crash.py`, the index's snapshots also in
`tests/lookup/test_snapshot_shelf.py`, whole proxies at the end of this file.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from tests.e2e.conftest import answering
from tests.e2e.running import Proxy
from tests.events.saving import SAVINGS, work
from tests.fakes.upstream_server import ByRequest, in_thread

FEW, MANY = 1, 10
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.events.saving"])


def killed(name: str, folder: Path, chance: random.Random) -> int:
    """Kill a loop of saving some time after its first word; gives what it had acknowledged."""
    folder.mkdir()
    acknowledged = PROCESSES.Value("l", 0, lock=False)
    process = PROCESSES.Process(target=work, args=(name, str(folder), acknowledged))
    process.start()
    until = time.monotonic() + 30
    while not acknowledged.value:
        assert process.is_alive()
        assert time.monotonic() < until
        time.sleep(0.001)
    time.sleep(chance.random() * 0.12)
    process.kill()
    process.join()
    return int(acknowledged.value)


def check(name: str, folder: Path, acknowledged: int) -> None:
    saving = SAVINGS[name]
    found = saving.found(folder)
    if saving.keeps_all:
        assert found >= set(range(1, acknowledged + 1))
        assert max(found) <= acknowledged + 1
    else:
        assert found <= {acknowledged, acknowledged + 1}


@pytest.mark.event(27)
@pytest.mark.parametrize("name", SAVINGS)
@pytest.mark.parametrize(
    "runs", [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.slow)]
)
def test_killed_at_a_random_point_old_or_new_is_there(name: str, runs: int, tmp_path: Path) -> None:
    chance = random.Random(f"{name} {runs}")
    for run in range(runs):
        folder = tmp_path / str(run)
        acknowledged = killed(name, folder, chance)
        check(name, folder, acknowledged)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.event(27)
def test_whole_proxies_killed_at_random_keep_what_they_acknowledged(tmp_path: Path) -> None:
    """Killed with their Valkey, while they store, delete and start; 25 times on the same data."""
    chance = random.Random(27)
    kept: list[str] = []
    gone: list[str] = []
    with in_thread(ByRequest(answering)) as upstream:
        proxy = Proxy(tmp_path / "data", ["--upstream", upstream.url])
        try:
            for turn in range(25):
                begin(proxy)
                looking = {"cache-control": "no-store"}
                # Answers (never verdicts) of the last two seconds may be lost with a killed Valkey, and no others.
                lost = {question for question in kept[-40:] if proxy.outcome(question, looking) != "exact"}
                assert all(f"country {turn - 1} " in question for question in lost)
                kept[:] = [question for question in kept if question not in lost]
                assert "exact" not in {proxy.outcome(question, looking) for question in gone[-10:]}
                stop = time.monotonic() + 0.1 + chance.random() * 0.6
                while time.monotonic() < stop:
                    question = f"What is the capital of country {turn} {len(kept)} {len(gone)}?"
                    proxy.chat(question, {"semcache-tags": f"turn-{turn}"})
                    reply = proxy.chat(question)
                    if reply.headers["semcache-outcome"] == "exact":
                        kept.append(question)
                delete(proxy, f"turn-{turn}" if turn % 5 == 4 else "", kept, gone, turn)
                proxy.kill()
                if turn % 4 == 3:  # and once more, while it starts
                    starting = subprocess.Popen(
                        [sys.executable, "-m", "semcache", "serve", "--data", str(proxy.data), "--port", "0"],
                        cwd=tmp_path,
                        env={
                            **os.environ,
                            "SEMCACHE_UPSTREAM": upstream.url,
                            "SEMCACHE_ADMIN__ENABLED": "false",
                        },
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                    time.sleep(chance.random() * 2.5)
                    starting.kill()
                    starting.wait()
        finally:
            proxy.kill()
    assert len(kept) > 100


def begin(proxy: Proxy) -> None:
    proxy.url = ""
    proxy.stderr.clear()
    proxy.start()
    proxy.wait_until(lambda: proxy.ready_detail()["status"] == "ready", 60)


def delete(proxy: Proxy, tag: str, kept: list[str], gone: list[str], turn: int) -> None:
    if not tag:
        return
    ended = CliRunner().invoke(app, ["entries", "delete", "--tag", tag, "--data", str(proxy.data)])
    assert ended.exit_code == 0
    mine = [question for question in kept if f"country {turn} " in question]
    gone += mine
    kept[:] = [question for question in kept if question not in mine]
