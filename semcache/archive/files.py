"""Files that are there whole or not at all: written beside, brought to disk, renamed. Knows bytes only."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from semcache.cost.segments import synced


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file for its owner alone that takes the place of `path` when the block ends well, and else is gone.

    Raises:
        OSError: it cannot be made, written or renamed.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(file, "wb") as open_file:
            yield open_file
            open_file.flush()
            os.fsync(open_file.fileno())
        temporary.rename(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    synced(path.parent)
