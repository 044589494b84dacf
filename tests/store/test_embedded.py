"""The embedded server's life: started, killed, restarted, left behind, damaged, locked."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from semcache.core import Epochs
from semcache.errors import StoreError
from semcache.ports import Selector
from semcache.store import embedded
from semcache.store.embedded import ChildRules, ValkeyChild, embedded_url
from semcache.store.ownership import FileLock, end_process
from semcache.store.redis_store import RedisStore, StoreRules
from tests.store.servers import ACME, WallClock, command, entry, same

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG and /proc")


@contextlib.asynccontextmanager
async def running(
    data: Path, rules: ChildRules | None = None, progress: Callable[[str], None] = embedded.quiet
) -> AsyncIterator[ValkeyChild]:
    child = ValkeyChild(data, rules or ChildRules(), progress)
    await child.start()
    try:
        yield child
    finally:
        await child.stop()


@contextlib.asynccontextmanager
async def opened(child: ValkeyChild) -> AsyncIterator[RedisStore]:
    store = RedisStore(child.url, WallClock(), StoreRules())
    try:
        yield store
    finally:
        await store.aclose()


async def eventually(true: Callable[[], bool], seconds: float = 5.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def test_is_private_and_without_a_port(tmp_path: Path) -> None:
    async with running(tmp_path) as child:
        assert await command(child.url, "CONFIG", "GET", "port") == [b"port", b"0"]
        policy = await command(child.url, "CONFIG", "GET", "maxmemory-policy")
        assert policy[1] == b"noeviction"
        home = tmp_path / "valkey"
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert stat.S_IMODE((home / "s").stat().st_mode) == 0o700
        for path in home.rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert child.pid is None


async def test_what_was_flushed_stays_away_after_a_restart(tmp_path: Path) -> None:
    gone, kept = entry("gone", tags=("x",)), entry("kept")
    for end in ("stop", "kill"):
        async with running(tmp_path / end) as child, opened(child) as store:
            early = entry("early", tags=("x",))
            assert await store.put(gone)
            assert await store.put(kept)
            assert await store.delete(Selector(ACME, tag="x")) == 1
            assert await store.delete(Selector(ACME, ids=(gone.id,))) == 0
            if end == "kill":
                assert child.pid
                os.kill(child.pid, signal.SIGKILL)
        async with running(tmp_path / end) as child, opened(child) as store:
            assert same(await store.get_exact(ACME, kept.key), kept)
            assert await store.epochs(ACME, ["tag:x"]) == Epochs((("tag:x", 1),))
            assert await store.get_many(ACME, [gone.id]) == [None]
            assert not await store.put(early)
            assert not await store.put(dataclasses.replace(gone, tags=())), "deleted by id"


async def test_comes_back_when_it_is_killed(tmp_path: Path) -> None:
    said: list[str] = []
    async with running(tmp_path, progress=said.append) as child, opened(child) as store:
        watch = asyncio.create_task(child.supervise())
        assert await store.put(entry())
        for turn in range(1, 4):
            assert child.pid
            os.kill(child.pid, signal.SIGKILL)
            await eventually(lambda turn=turn: child.restarts == turn)  # type: ignore[misc]
        async with asyncio.timeout(5):
            while True:
                with contextlib.suppress(StoreError):
                    assert await store.get_exact(ACME, entry().key)
                    break
                await asyncio.sleep(0.05)
        assert any("starting it again" in line for line in said)
        await child.stop()
        async with asyncio.timeout(1):
            await watch


async def test_one_owner_at_a_time(tmp_path: Path) -> None:
    async with running(tmp_path) as child:
        second = ValkeyChild(tmp_path, ChildRules())
        with pytest.raises(StoreError) as refused:
            await second.start()
        assert refused.value.kind == "locked"
        assert await command(child.url, "PING") == b"PONG"
    async with running(tmp_path):
        pass


OWNER = """
import asyncio, sys, time
from pathlib import Path
from semcache.store.embedded import ChildRules, ValkeyChild, embedded_url
child = ValkeyChild(Path(sys.argv[1]), ChildRules())
asyncio.run(child.start())
print(child.pid, flush=True)
time.sleep(60)
"""


async def owner(data: Path) -> tuple[asyncio.subprocess.Process, int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(data), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    return process, int(await process.stdout.readline())


@LINUX
async def test_dies_with_its_parent(tmp_path: Path) -> None:
    process, pid = await owner(tmp_path)
    assert is_alive(pid)
    process.kill()
    await process.wait()
    await eventually(lambda: not is_alive(pid))
    async with running(tmp_path):
        pass


@LINUX
@pytest.mark.parametrize("frozen", [False, True])
async def test_a_server_left_behind_is_ended_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: bool
) -> None:
    monkeypatch.setattr("semcache.store.ownership._die_with_parent", lambda: None)
    left = ValkeyChild(tmp_path, ChildRules())
    await left.start()
    pid = left.pid
    assert pid
    async with opened(left) as store:
        assert await store.put(entry())
    left._owner.release()  # its owner was killed
    if frozen:
        os.kill(pid, signal.SIGSTOP)
    said: list[str] = []
    async with running(tmp_path, ChildRules(stop_deadline=0.5), said.append) as child, opened(child) as store:
        assert child.pid != pid
        assert not is_alive(pid)
        assert await store.get_exact(ACME, entry().key)
    assert any("left behind" in line for line in said)
    assert left._process
    left._process.wait()


async def filled(data: Path) -> Path:
    async with running(data) as child, opened(child) as store:
        for n in range(20):
            assert await store.put(entry(f"e{n}"))
    (file,) = (data / "valkey" / "appendonlydir").glob("*.incr.aof")
    return file


@pytest.mark.event(27)
async def test_a_file_cut_at_its_end_is_read_up_to_the_cut(tmp_path: Path) -> None:
    file = await filled(tmp_path)
    os.truncate(file, file.stat().st_size - 20)
    async with running(tmp_path) as child, opened(child) as store:
        assert await store.get_exact(ACME, entry("e0").key)
        assert await store.get_exact(ACME, entry("e18").key)
        assert await store.put(entry("new"))


@pytest.mark.event(27)
@pytest.mark.parametrize("damage", ["middle", "manifest", "gone"])
async def test_a_damaged_file_is_set_aside_loudly(tmp_path: Path, damage: str) -> None:
    file = await filled(tmp_path)
    match damage:
        case "middle":
            half = file.stat().st_size // 2
            file.write_bytes(file.read_bytes()[:half] + b"?" * 4000 + file.read_bytes()[half + 4000 :])
        case "manifest":
            (file.parent / "appendonly.aof.manifest").write_text("nonsense\n")
        case _:
            file.unlink()
    said: list[str] = []
    async with running(tmp_path, progress=said.append) as child, opened(child) as store:
        assert await store.get_exact(ACME, entry("e0").key) is None
        assert await store.put(entry("new"))
    assert any("DAMAGED" in line for line in said)
    assert len(list((tmp_path / "valkey").glob("unreadable-*"))) == 1
    async with running(tmp_path) as child, opened(child) as store:
        assert await store.get_exact(ACME, entry("new").key)


async def test_a_start_that_is_killed_blames_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(tmp_path)
    killed = tmp_path / "killed"
    killed.write_text("#!/bin/sh\necho '1:M # Bad file format reading the append only file' ; kill -9 $$\n")
    killed.chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr(embedded, "server_binary", lambda: killed)
        with pytest.raises(StoreError):
            await ValkeyChild(tmp_path, ChildRules()).start()
    async with running(tmp_path) as child, opened(child) as store:
        assert await store.get_exact(ACME, entry("e19").key)


async def test_a_server_that_cannot_start_says_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tmp_path)
    for broken in ("/bin/false", "/nowhere/valkey-server"):
        monkeypatch.setattr(embedded, "server_binary", lambda broken=broken: Path(broken))
        child = ValkeyChild(tmp_path, ChildRules())
        with pytest.raises(StoreError) as failed:
            await child.start()
        assert failed.value.kind == "start"
    monkeypatch.undo()
    async with running(tmp_path) as child, opened(child) as store:
        assert await store.get_exact(ACME, entry("e19").key), "the file was not blamed"


async def test_a_server_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr(embedded, "server_binary", lambda: sleeper)
    child = ValkeyChild(tmp_path, ChildRules(start_deadline=0.3))
    with pytest.raises(StoreError):
        await child.start()
    assert child.pid is None
    assert child._owner.acquire(), "the directory is free again"
    child._owner.release()


async def test_a_cancelled_start_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeper.chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr(embedded, "server_binary", lambda: sleeper)
        child = ValkeyChild(tmp_path, ChildRules())
        start = asyncio.create_task(child.start())
        await eventually(lambda: child.pid is not None)
        start.cancel()
        await asyncio.gather(start, return_exceptions=True)
        assert child.pid is None
    async with running(tmp_path):
        pass


async def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    data = tmp_path / ("d" * 120)
    said: list[str] = []
    async with running(data, progress=said.append) as child:
        assert len(child.url) < 100
        assert await command(child.url, "PING") == b"PONG"
        assert embedded_url(data) == child.url
        second = ValkeyChild(data, ChildRules())
        with pytest.raises(StoreError):
            await second.start()
        await second.stop()
        assert await command(child.url, "PING") == b"PONG", "whoever does not own it leaves it alone"
        assert stat.S_IMODE(Path(child.url.removeprefix("unix://")).parent.stat().st_mode) == 0o700
    assert any("too long" in line for line in said)
    assert not Path(child.url.removeprefix("unix://")).parent.exists()
    with pytest.raises(StoreError):
        embedded_url(data)
    async with running(data):
        pass


async def test_a_server_that_will_not_end_is_killed(tmp_path: Path) -> None:
    async with running(tmp_path, ChildRules(stop_deadline=0.3)) as child:
        assert child.pid
        os.kill(child.pid, signal.SIGSTOP)
        began = time.monotonic()
        await child.stop()
        assert child.pid is None
        assert time.monotonic() - began < 3
        await child.stop()


async def test_a_bounded_server_is_full_not_forgetful(tmp_path: Path) -> None:
    async with running(tmp_path, ChildRules(maxmemory=3 << 20)) as child, opened(child) as store:

        async def fill() -> None:
            for n in range(3000):
                await store.put(entry(f"e{n}"))

        with pytest.raises(StoreError) as failed:
            await fill()
        assert failed.value.kind == "full"
        assert await store.get_exact(ACME, entry("e0").key)


async def test_an_unusable_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "valkey").write_text("a file")
    with pytest.raises(StoreError) as failed:
        await ValkeyChild(tmp_path, ChildRules()).start()
    assert failed.value.kind == "start"


async def test_a_grown_log_is_turned_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_LOG_LIMIT", 10)
    for _ in range(2):
        async with running(tmp_path):
            pass
    assert (tmp_path / "valkey" / "valkey.log.1").exists()


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    one, two = FileLock(tmp_path / "l"), FileLock(tmp_path / "l")
    assert one.acquire()
    assert one.acquire()
    assert not two.acquire()
    with pytest.raises(StoreError):
        two.fileno()
    one.release()
    one.release()
    assert two.acquire()
    two.release()
    with pytest.raises(StoreError):
        FileLock(tmp_path / "none" / "l").acquire()


@LINUX
def test_never_kills_a_stranger(tmp_path: Path) -> None:
    for content in ("", "x", "0", str(os.getpid()), "99999999"):
        (tmp_path / "pid").write_text(content)
        end_process(tmp_path / "pid", "valkey-server")
    end_process(tmp_path / "none", "valkey-server")
