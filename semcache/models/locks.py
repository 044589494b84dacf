"""One process at a time for one name: an advisory lock on a small file.

The lock belongs to the open file, and child processes inherit it on purpose: when the parent is
killed, the lock stays held until its last child is gone too, so nobody sweeps a folder that an
orphan still writes into.

Does NOT know: what is guarded.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_POLL: Final = 0.1


@contextmanager
def locked(parent: Path, name: str, waiting: Callable[[], None]) -> Iterator[int]:
    """Hold the lock `name` in the folder `parent`; gives its descriptor for children to inherit.

    `waiting` is called every tenth of a second while another process holds it; it may raise to give up.
    """
    parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(parent / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not _try(descriptor):
            waiting()
            time.sleep(_POLL)
        yield descriptor
    finally:
        # Only closed, not unlocked: an orphaned child that inherited it keeps it.
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
