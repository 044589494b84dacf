"""Runs a child process that can be given up, and that never outlives its parent's decision.

Does NOT know: what the child does.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

_POLL: Final = 0.1
_TAIL: Final = 4000


@contextmanager
def child(
    command: Sequence[str],
    *,
    stdout: int | IO[bytes],
    stderr: IO[bytes],
    keep: Sequence[int],
    environ: Mapping[str, str],
    limit: float,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child that inherits the descriptors `keep`; killed on leaving and after `limit` seconds."""
    with subprocess.Popen(  # noqa: S603 - the command comes from `Options`, no shell reads it
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        pass_fds=keep,
        env=dict(environ),
    ) as process:
        timer = threading.Timer(limit, process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()


def wait(process: subprocess.Popen[bytes], meanwhile: Callable[[], None]) -> int:
    """Wait for the end of a child; `meanwhile` is called every tenth of a second and may raise."""
    while process.poll() is None:
        meanwhile()
        time.sleep(_POLL)
    return process.returncode


def tail(path: Path) -> list[str]:
    """Give the last non-empty lines of a child's output."""
    text = path.read_bytes()[-_TAIL:].decode("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]
