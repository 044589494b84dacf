"""The child process: a real one with a tiny model, and stand-ins that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psutil
import pytest

from semcache.engine.child import EngineChild, EngineProgress, EngineSpec
from semcache.engine.launch import MAX_SOCKET_PATH, socket_path
from semcache.errors import EngineError
from tests.engine.tiny import tiny_llama, tiny_tokenizer

RUN_ENGINE = "import typer; from semcache.cli.engine import engine; typer.run(engine)"
REAL = (sys.executable, "-c", RUN_ENGINE)
LIGHT = (sys.executable, str(Path(__file__).with_name("light.py")))
ASK = {"model": "local", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tiny_llama().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@contextlib.asynccontextmanager
async def running(spec: EngineSpec, **options: object) -> AsyncIterator[EngineChild]:
    child = EngineChild(spec, command=options.pop("command", LIGHT), **options)
    try:
        yield child
    finally:
        await child.stop()


async def ask(child: EngineChild) -> httpx.Response:
    transport = httpx.AsyncHTTPTransport(uds=str(child.socket))
    async with httpx.AsyncClient(transport=transport, base_url="http://engine", timeout=20) as client:
        return await client.post("/v1/chat/completions", json=ASK)


def is_gone(pid: int) -> bool:
    """Ended; a zombie counts, since nobody may be there to reap it."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until(holds, seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.05)


async def test_a_real_engine_from_start_to_end(tiny_folder: Path, data: Path) -> None:
    seen: list[EngineProgress] = []
    async with running(EngineSpec(model=tiny_folder, data=data), command=REAL) as child:
        assert not child.is_ready
        await child.start(seen.append)
        assert child.is_ready
        assert (await ask(child)).json()["usage"]["completion_tokens"] > 0
        assert seen[0].stage == "starting the process"
        assert len(seen) > 1
        assert [step.seconds for step in seen] == sorted(step.seconds for step in seen)
        pid = child.pid
        await child.stop()
        assert not psutil.pid_exists(pid)
        assert not child.socket.exists()


async def test_a_killed_child_comes_back_by_itself(data: Path, tmp_path: Path) -> None:
    async with running(EngineSpec(model=tmp_path, data=data)) as child:
        await child.start()
        supervising = asyncio.create_task(child.supervise())
        first = child.pid
        os.kill(first, signal.SIGKILL)
        await until(lambda: not child.is_ready)
        assert child.socket.exists()  # the killed one left it behind
        await until(lambda: child.is_ready)
        assert child.pid != first
        assert child.restarts == 1
        assert (await ask(child)).json()["choices"][0]["message"]["content"] == "light"
        await child.stop()
        await asyncio.wait_for(supervising, 10)
        assert child.pid is None
        assert not child.socket.exists()


async def test_a_child_that_hangs_while_serving_is_replaced(data: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("semcache.engine.child.CHECK_SECONDS", 0.2)
    monkeypatch.setattr("semcache.engine.child.MAX_SILENT_CHECKS", 2)
    monkeypatch.setattr("semcache.engine.probe.PATIENCE", 0.3)
    async with running(EngineSpec(model=tmp_path, data=data)) as child:
        await child.start()
        supervising = asyncio.create_task(child.supervise())
        await asyncio.sleep(0.6)
        assert child.restarts == 0  # one that reacts is left alone
        first = child.pid
        os.kill(first, signal.SIGSTOP)
        await until(lambda: child.restarts == 1 and child.is_ready)
        assert is_gone(first)
        assert (await ask(child)).status_code == 200
        await child.stop()
        await asyncio.wait_for(supervising, 10)


async def test_a_killed_parent_takes_its_child_along_and_the_next_one_starts(
    data: Path, tmp_path: Path
) -> None:
    script = f"""
import asyncio
from pathlib import Path
from semcache.engine.child import EngineChild, EngineSpec
async def main():
    child = EngineChild(EngineSpec(model=Path({str(tmp_path)!r}), data=Path({str(data)!r})), command={LIGHT!r})
    await child.start()
    print(child.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=PIPE)
    orphan = int(await parent.stdout.readline())
    parent.kill()
    await parent.wait()
    async with running(EngineSpec(model=tmp_path, data=data)) as child:
        await child.start()
        assert child.pid != orphan
        assert (await ask(child)).status_code == 200
        await until(lambda: is_gone(orphan))


async def test_a_living_owner_of_the_socket_is_left_alone(data: Path, tmp_path: Path) -> None:
    async with running(EngineSpec(model=tmp_path, data=data)) as first:
        await first.start()
        async with running(EngineSpec(model=tmp_path, data=data), start_timeout=1.5) as second:
            with pytest.raises(EngineError):
                await second.start()
        assert first.is_ready
        assert (await ask(first)).status_code == 200


async def test_a_long_data_path_gets_a_short_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="sc-", dir="/tmp") as short:
        monkeypatch.setattr("tempfile.tempdir", short)
        await _check_short_socket(tmp_path, Path(short))


async def _check_short_socket(tmp_path: Path, short: Path) -> None:
    data = tmp_path / ("d" * 100)
    async with running(EngineSpec(model=tmp_path, data=data)) as child:
        await child.start()
        assert child.socket.parent.parent == short
        assert (await ask(child)).status_code == 200
        assert child.log.parent == data


async def test_a_bad_model_is_an_error_that_says_why(data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    async with running(EngineSpec(model=tmp_path / "empty", data=data), command=REAL) as child:
        with pytest.raises(EngineError, match=r"engine\.log"):
            await child.start()
        assert not child.is_ready
        assert child.pid is None
        assert "cannot load the model" in child.log.read_text()


async def test_a_child_that_hangs_is_given_up_and_ended(data: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import time; time.sleep(600)")
    async with running(EngineSpec(model=tmp_path, data=data), command=command, start_timeout=0.5) as child:
        began = time.monotonic()
        with pytest.raises(EngineError, match="not ready"):
            await child.start()
        assert time.monotonic() - began < 5
        assert child.pid is None


async def test_a_child_that_will_not_end_is_forced(data: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("semcache.engine.child.PATIENCE_AFTER_TERM", 0.3)
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    command = (sys.executable, "-c", stubborn)
    async with running(EngineSpec(model=tmp_path, data=data), command=command, start_timeout=1.0) as child:
        with pytest.raises(EngineError, match="not ready"):
            await child.start()
        assert child.pid is None


async def test_a_missing_program_is_a_named_error(data: Path, tmp_path: Path) -> None:
    async with running(EngineSpec(model=tmp_path, data=data), command=("/nowhere/python",)) as child:
        with pytest.raises(EngineError, match="cannot start"):
            await child.start()


async def test_supervision_waits_longer_after_each_failure(data: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("semcache.engine.child.FIRST_BACKOFF", 0.05)
    command = (sys.executable, "-c", "print('no luck today')")
    async with running(EngineSpec(model=tmp_path, data=data), command=command) as child:
        with pytest.raises(EngineError, match="no luck today"):
            await child.start()
        supervising = asyncio.create_task(child.supervise())
        await until(lambda: child.restarts >= 3)
        await child.stop()
        await asyncio.wait_for(supervising, 10)


async def test_stopping_twice_or_before_the_start_is_fine(data: Path, tmp_path: Path) -> None:
    child = EngineChild(EngineSpec(model=tmp_path, data=data))
    await child.stop()
    await child.stop()
    await asyncio.wait_for(child.supervise(), 1)


async def test_stopping_during_a_start_leaves_nothing_running(data: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import time; time.sleep(600)")
    async with running(EngineSpec(model=tmp_path, data=data), command=command) as child:
        starting = asyncio.create_task(child.start())
        await until(lambda: child.pid is not None)
        pid = child.pid
        await child.stop()
        with pytest.raises(EngineError):
            await starting
        assert not psutil.pid_exists(pid)


@pytest.fixture
def old_log(data: Path) -> Path:
    data.mkdir()
    log = data / "engine.log"
    log.write_text("an older and longer log")
    return log


async def test_a_long_log_is_set_aside(old_log: Path, data: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("semcache.engine.launch.MAX_LOG_BYTES", 10)
    command = (sys.executable, "-c", "print('new')")
    async with running(EngineSpec(model=tmp_path, data=data), command=command) as child:
        with pytest.raises(EngineError):
            await child.start()
    found = {path.name: path.read_bytes() for path in [old_log, old_log.with_name("engine.log.1")]}
    assert found == {"engine.log": b"new\n", "engine.log.1": b"an older and longer log"}
    assert mode(old_log) == 0o600


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_sockets_lie_in_the_data_directory_while_the_path_is_short(tmp_path: Path) -> None:
    assert socket_path(Path("/var/lib/semcache")) == Path("/var/lib/semcache/engine.sock")
    long = tmp_path / ("d" * 100)
    assert len(os.fsencode(socket_path(long))) < MAX_SOCKET_PATH
    assert socket_path(long) == socket_path(long)
    assert socket_path(long) != socket_path(tmp_path / ("e" * 100))


async def test_a_stand_in_folder_that_others_can_enter_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = tmp_path / ("d" * 100)
    socket_path(data).parent.mkdir(mode=0o777)
    socket_path(data).parent.chmod(0o777)
    async with running(EngineSpec(model=tmp_path, data=data)) as child:
        with pytest.raises(EngineError, match="private"):
            await child.start()


def test_the_parents_side_imports_no_torch() -> None:
    code = (
        "import sys, semcache.engine.child, semcache.cli.engine\n"
        "print([name for name in ('torch', 'transformers', 'fastapi') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
