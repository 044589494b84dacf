"""How much memory the embedded server may take: half of what this machine, or the container around us, has."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_SHARE = 2
_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def bound_of(told: int | None, container: Path = _CONTAINER) -> int:
    """Give the bound in bytes, 0 for none.

    Args:
        told: as configured; None: half of what there is.
        container: where the kernel tells what we may have.
    """
    if told is not None:
        return told
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        # "max" where nothing was said, and no such file outside of containers.
        there = min(there, int(container.read_text()))
    return there // _SHARE
