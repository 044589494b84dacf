"""Who owns a directory and the server in it: file locks, and a child that dies with its parent.

A lock is a `flock` on an open file. A child that inherits the file holds the lock for as long as
it lives, also when its parent is killed: two servers can so never write one append-only file.

This module knows nothing of Valkey beyond the name of its process.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from semcache.errors import StoreError

_PR_SET_PDEATHSIG = 1


class FileLock:
    """An exclusive lock on a file, never waited for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        """True while this object holds the lock."""
        return self._file is not None

    def acquire(self) -> bool:
        """Take the lock; False when somebody else holds it.

        Raises:
            StoreError: `start`: the file cannot be opened.
        """
        if self._file is not None:
            return True
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"cannot open {self._path}: {error.strerror}", kind="start") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        return True

    def fileno(self) -> int:
        """Give the locked file, for a child to inherit.

        Raises:
            StoreError: `start`: the lock is not held.
        """
        if self._file is None:
            raise StoreError(f"{self._path} is not locked", kind="start")
        return self._file

    def release(self) -> None:
        """Give the lock up for everybody who inherited it too. Idempotent."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self.release_here()

    def release_here(self) -> None:
        """Close this process's share; a child that inherited it keeps the lock. Idempotent."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def spawn(command: list[str], home: Path, log: Path, inherited: int) -> subprocess.Popen[bytes]:
    """Start a server in its own session, its output in `log`, ended when this process ends.

    Raises:
        OSError: it could not be started.
    """
    with log.open("ab") as output:
        os.fchmod(output.fileno(), 0o600)
        return subprocess.Popen(  # noqa: S603 - the command is ours, no shell
            command,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            pass_fds=(inherited,),
            umask=0o077,
            # A Ctrl-C in the terminal is for the parent, which then ends the server in order.
            start_new_session=True,
            preexec_fn=_die_with_parent(),  # noqa: PLW1509 - two system calls prepared before the fork
        )


def end_process(pid_file: Path, name: str) -> None:
    """Kill the process that a pid file names, if it is really one of that name.

    Does nothing where that cannot be known (no /proc): a reused pid would hit a stranger.
    """
    try:
        pid = int(pid_file.read_text(encoding="ascii"))
        program = Path(f"/proc/{pid}/exe").readlink().name
    except (OSError, ValueError):
        return
    if program.startswith(name):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _die_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None  # there the next owner ends what was left behind
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask_kernel() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return ask_kernel
