"""Killed servers: no acknowledged verdict is lost, none is half done, and the log's chain holds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from semcache.core import EntryId, ReviewStatus
from semcache.errors import StoreError
from semcache.review_port import Act, Line, Pair
from semcache.store.breaker import BreakerRules
from semcache.store.embedded import ChildRules, ValkeyChild, server_binary
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.store.servers import ACME, WallClock, command, entry

IDS = [EntryId(f"e{turn}") for turn in range(4)]
RULES = StoreRules(link=LinkRules(deadline=5.0, breaker=BreakerRules(faults=1000)))


@dataclass
class Told:
    """What was acknowledged."""

    lines: list[Line] = field(default_factory=list)
    barred: set[tuple[EntryId, str]] = field(default_factory=set)
    versions: dict[EntryId, int] = field(default_factory=dict)


async def one_verdict(verdicts: RedisVerdicts, told: Told, turn: int, chance: random.Random) -> None:
    name, asked = chance.choice(IDS), f"q{turn}"
    what = chance.choice(["approve", "edit", "reject", "bar", "bar", "note"])
    act = Act("kim", time.time(), what, name, after={"asked": asked})
    if what == "note":
        told.lines.append(await verdicts.write(ACME, act))
        return
    if what == "bar":
        assert await verdicts.bar(ACME, name, Pair(entry(name).key, asked), act)
        told.barred.add((name, asked))
        return
    found = await verdicts.show(ACME, name)
    assert found is not None
    status = {"approve": "approved", "edit": "edited", "reject": "rejected"}[what]
    after = replace(found, status=ReviewStatus(status), version=found.version + 1)
    line = await verdicts.apply(found, after, act, bar=(asked,))
    if line is not None:  # None: its first reply was lost with the server
        told.lines.append(line)
        told.barred.add((name, asked))
        told.versions[name] = after.version


async def whole_log(verdicts: RedisVerdicts) -> list[Line]:
    lines, cursor = [], ""
    while True:
        page = await verdicts.log(ACME, cursor, 500)
        lines += page.lines
        cursor = page.cursor
        if not cursor:
            return lines[::-1]


async def check(verdicts: RedisVerdicts, told: Told) -> None:
    assert await verdicts.broken(ACME) is None
    log = await whole_log(verdicts)
    assert [line.number for line in log] == list(range(1, len(log) + 1))
    by_number = {line.number: line for line in log}
    assert all(by_number[line.number] == line for line in told.lines)
    for name in IDS:
        found = await verdicts.show(ACME, name)
        assert found is not None
        settled = [line for line in log if line.act.entry == name and line.act.what not in ("bar", "note")]
        barring = [line for line in log if line.act.entry == name and line.act.what != "note"]
        # Every line has its change, and every change its line.
        assert found.version == 1 + len(settled) >= told.versions.get(name, 1)
        assert found.barred == {line.act.after["asked"] for line in barring}
        assert {asked for owner, asked in told.barred if owner == name} <= found.barred
        words = {"approve": "approved", "edit": "edited", "reject": "rejected"}
        assert found.status == (words[settled[-1].act.what] if settled else "unreviewed")


async def killed_over_and_over(home: Path, count: int, kills: int, seed: int) -> Told:
    chance = random.Random(seed)
    child = ValkeyChild(home, ChildRules(first_pause=0.02, longest_pause=0.05))
    await child.start()
    watch = asyncio.create_task(child.supervise())
    store = RedisStore(child.url, WallClock(), RULES)
    for name in IDS:
        assert await store.put(entry(name))
    await store.aclose()
    fatal = set(chance.sample(range(5, count), kills))
    verdicts = [RedisVerdicts(child.url, WallClock(), RULES, VerdictRules()) for _ in range(2)]
    told, turns = Told(), iter(range(count))

    async def reviewer(mine: RedisVerdicts) -> None:
        for turn in turns:
            if turn in fatal:
                asyncio.get_running_loop().call_later(chance.random() * 0.003, end, child)
            with contextlib.suppress(StoreError):
                await one_verdict(mine, told, turn, chance)
            while child.pid is None or not await answers(child.url):  # noqa: ASYNC110 - a process sets no event
                await asyncio.sleep(0.01)

    try:
        await asyncio.gather(*map(reviewer, (*verdicts, verdicts[0])))
        assert kills // 2 < child.restarts <= kills, "two may meet one server"
        await check(verdicts[0], told)
    finally:
        for one in verdicts:
            await one.aclose()
        await child.stop()
        await watch
    return told


def end(child: ValkeyChild) -> None:
    if child.pid is not None:
        os.kill(child.pid, signal.SIGKILL)


async def answers(url: str) -> bool:
    with contextlib.suppress(StoreError):
        return bool(await command(url, "PING") == b"PONG")
    return False


@pytest.mark.event(27)
@pytest.mark.parametrize("seed", [1])
async def test_killing_the_server_loses_no_acknowledged_verdict(tmp_path: Path, seed: int) -> None:
    told = await killed_over_and_over(tmp_path, 200, 5, seed)
    assert len(told.lines) + len(told.barred) > 150, "most were acknowledged"


@pytest.mark.event(27)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
async def test_killing_the_server_often_loses_no_acknowledged_verdict(tmp_path: Path, seed: int) -> None:
    await killed_over_and_over(tmp_path, 600, 25, seed)


SLOW_DISK = """
int usleep(unsigned);
int fdatasync(int file) { usleep(900000); return 0; }
int fsync(int file) { usleep(900000); return 0; }
"""


@pytest.fixture
def slow_disk(tmp_path: Path) -> str:
    """A library that makes syncing take 0.9 s."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler to make a slow disk with")
    (tmp_path / "slow.c").write_text(SLOW_DISK)
    library = str(tmp_path / "slow.so")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, str(tmp_path / "slow.c")], check=True)
    return library


@contextlib.contextmanager
def server(home: Path, library: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Run a server that keeps its file as the embedded one does."""
    options = {
        "port": 0,
        "dir": home,
        "appendonly": "yes",
        "appendfsync": "everysec",
        "unixsocket": home / "s",
    }
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    with subprocess.Popen(
        [str(server_binary()), *words],
        stdout=subprocess.DEVNULL,
        env={**os.environ, **({"LD_PRELOAD": library} if library else {})},
    ) as process:
        try:
            until = time.monotonic() + 20
            while not asyncio.run(answers(f"unix://{home}/s")):
                assert time.monotonic() < until
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


async def noted(url: str, seconds: float) -> int:
    """Write lines for a while; gives how many were acknowledged."""
    verdicts = RedisVerdicts(url, WallClock(), RULES, VerdictRules())
    until, last = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        last = (await verdicts.write(ACME, Act("kim", 0.0, "note"))).number
    await verdicts.aclose()
    return last


async def found(url: str) -> tuple[int, int | None]:
    verdicts = RedisVerdicts(url, WallClock(), RULES, VerdictRules())
    page = await verdicts.log(ACME, limit=1)
    broken = await verdicts.broken(ACME)
    await verdicts.aclose()
    return page.lines[0].number if page.lines else 0, broken


@pytest.mark.event(27)
def test_a_busy_disk_loses_none_either(tmp_path: Path, slow_disk: str) -> None:
    url = f"unix://{tmp_path}/s"
    with server(tmp_path, slow_disk):
        last = asyncio.run(noted(url, 2.5))
    with server(tmp_path):
        assert asyncio.run(found(url)) == (last, None)
    assert last > 5
