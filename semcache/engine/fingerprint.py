"""The identity of a model folder: equal fingerprints mean equal tokens from equal requests.

Reads files only; knows no torch. Paths, times and names are not part of the identity.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_BLOCK = 1 << 20
_RELEVANT = (".json", ".jinja", ".safetensors", ".model", ".txt")


def fingerprint(folder: Path | None, *settings: str, only: str | None = None) -> str:
    """Digest every file of `folder` that shapes answers, and `settings` (dtype, versions, ...).

    `only` names the one file that counts (a GGUF file has everything in it); without a folder
    the settings alone are digested. Gives `fp_` and 16 hex digits of BLAKE2b. Takes about a second for each GiB.

    Raises:
        OSError: a file cannot be read.
    """
    whole = hashlib.blake2b(digest_size=8)
    for part in settings:
        _add(whole, part.encode())
    for path in _relevant(folder, only):
        _add(whole, path.name.encode() if only is None else b"gguf")
        _add(whole, _file_digest(path))
    return f"fp_{whole.hexdigest()}"


def _relevant(folder: Path | None, only: str | None) -> list[Path]:
    if folder is None:
        return []
    if only is not None:
        return [folder / only]
    return [path for path in sorted(folder.iterdir()) if path.suffix in _RELEVANT and path.is_file()]


def _add(whole: hashlib.blake2b, part: bytes) -> None:
    """Add a part with its length, so that no two lists of parts look alike."""
    whole.update(len(part).to_bytes(8, "little"))
    whole.update(part)


def _file_digest(path: Path) -> bytes:
    digest = hashlib.blake2b()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.digest()
