"""How many files this process may have open: as many as the system lets it.

A connection of a client and one to its upstream are two files; the usual soft limit of 1024 would end at a few hundred requests.
"""

from __future__ import annotations

import contextlib
import resource


def raise_file_limit() -> None:
    """Raise the soft limit to the hard one; children inherit it. Where that is refused, all stays as it is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
