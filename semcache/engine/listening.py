"""A listening socket for the engine: a loopback port, or a private unix socket with one owner.

A unix socket belongs to whoever holds the lock beside it; the lock dies with its process, so a
socket file left by a killed process is told from a living server without asking it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from semcache.errors import EngineError

OWNER_WAIT_SECONDS = 15.0
"""How long to wait for a former owner of a unix socket, which may be on its way out."""


@contextlib.contextmanager
def unix_listener(path: Path, owner_wait: float = OWNER_WAIT_SECONDS) -> Iterator[socket.socket]:
    """Listen on a unix socket that only this user can open; removes it at the end.

    Raises:
        EngineError: another process serves there, the path is taken by something else, or it
            cannot be made.
    """
    try:
        lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EngineError(f"cannot listen on {path}: {error.strerror}") from error
    try:
        _own(lock, path, owner_wait)
        _remove_leftover(path)
        with _bound(path) as listener:
            try:
                yield listener
            finally:
                path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def port_listener(host: str, port: int) -> socket.socket:
    """Listen on a TCP port; 0 takes any free one.

    Raises:
        EngineError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise EngineError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error


def _own(lock: int, path: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise EngineError(f"another process serves on {path}") from None
            time.sleep(0.1)
        else:
            return


def _remove_leftover(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise EngineError(f"{path} exists and is no socket")
    path.unlink()


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    former = os.umask(0o177)
    try:
        listener.bind(str(path))
        listener.listen(256)
    except OSError as error:
        listener.close()
        raise EngineError(f"cannot listen on {path}: {error.strerror or error}") from error
    finally:
        os.umask(former)
    return listener
