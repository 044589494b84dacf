"""Where a model comes from: a folder, a GGUF file, or a name on the Hugging Face hub.

Knows files and names; opens no weights.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from semcache.errors import EngineError

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_WANTED = ("*.json", "*.safetensors", "*.jinja", "*.model", "*.txt")


@dataclass(frozen=True, slots=True)
class Source:
    """A folder on this machine, and the GGUF file in it when that is what counts."""

    folder: Path
    gguf: str | None = None


def find_source(name: str | Path) -> Source:
    """Find a model; a name of the form `owner/model` that is no folder is fetched from the hub.

    Raises:
        EngineError: nothing there, or the hub may not or cannot be asked.
    """
    path = Path(name)
    if path.is_file() and path.suffix == ".gguf":
        return Source(path.parent, path.name)
    if (path / "config.json").is_file():
        return Source(path)
    if path.is_dir():
        files = sorted(found.name for found in path.glob("*.gguf"))
        if len(files) == 1:
            return Source(path, files[0])
        raise EngineError(f"cannot load the model in {path}: it has no config.json")
    if _HUB_NAME.fullmatch(str(name)):
        return Source(_fetched(str(name)))
    raise EngineError(f"cannot load the model {name}: no such folder or GGUF file, and no name of the hub")


def _fetched(name: str) -> Path:
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise EngineError(f"cannot load the model {name}: no such folder, and HF_HUB_OFFLINE forbids the hub")
    # Here and not above: it takes a second, and folders need none of it.
    from transformers.utils.hub import snapshot_download  # noqa: PLC0415 - slow, and rarely needed

    try:
        return Path(snapshot_download(name, allow_patterns=list(_WANTED)))
    except (OSError, ValueError) as error:  # the hub's own errors are OSErrors, those of names ValueErrors
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise EngineError(f"cannot fetch the model {name}: {reason}") from error
