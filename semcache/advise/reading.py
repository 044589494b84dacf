"""Log files as rows, in time order, in flat memory, read as often as one likes.

    with opened_logs(files, watcher) as logs:
        for row in logs.rows(watcher): ...
        logs.reading   # what was read and what was skipped

Knows no model and no policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from semcache.advise.findings import Reading
from semcache.advise.rows import LogRow, Skipped, Watcher


class Logs:
    """Files that were looked through once: their rows can be had in time order, again and again."""

    reading: Reading

    def rows(self, told: Watcher) -> Iterator[LogRow]:
        """Give all rows in time order; those without a time stand where they stood in their file."""
        raise NotImplementedError


@contextmanager
def opened_logs(files: Sequence[Path], told: Watcher, *, form: str = "", limit: int = 0) -> Iterator[Logs]:
    """Look through files once."""
    raise NotImplementedError


def read_logs(files: Sequence[Path], told: Watcher, *, form: str = "") -> Iterator[LogRow | Skipped]:
    """Give what stands in files, file after file, in the order of each file."""
    raise NotImplementedError
