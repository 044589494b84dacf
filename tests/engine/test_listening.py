"""Sockets with one owner."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from semcache.engine.listening import port_listener, unix_listener
from semcache.errors import EngineError


def test_only_this_user_may_connect_and_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    with unix_listener(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    assert not path.exists()


def test_a_second_owner_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    with unix_listener(path):
        with pytest.raises(EngineError, match="another process"), unix_listener(path, owner_wait=0.2):
            pass
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))  # the first one was not disturbed
    with unix_listener(path, owner_wait=0.0):
        assert path.exists()


def test_the_socket_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom semcache.engine.listening import unix_listener\n"
        "with unix_listener(Path(sys.argv[1])):\n    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert killed.returncode == -9
    assert path.exists()
    with unix_listener(path, owner_wait=0.0), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_other_files_are_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    path.write_text("mine")
    with pytest.raises(EngineError, match="no socket"), unix_listener(path):
        pass
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["missing/e.sock", "x" * 150])
def test_places_that_cannot_be_are_named_errors(tmp_path: Path, name: str) -> None:
    with pytest.raises(EngineError, match="cannot listen"), unix_listener(tmp_path / name):
        pass


def test_a_taken_port_is_a_named_error() -> None:
    with port_listener("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(EngineError, match=str(port)):
            port_listener("127.0.0.1", port)


def test_the_lock_is_not_inherited(tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    with unix_listener(path):
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
        )
    try:
        with unix_listener(path, owner_wait=0.0):
            assert os.getpid() != child.pid
    finally:
        child.communicate()
