"""What a backup says of itself: its parts with their checksums, in a file that is written last. Reading trusts nothing.

A backup is a directory:

    manifest.json        this
    store.rdb            all keys of the store as of one moment
    data/...             what else of the data directory cannot be made again: raw rows, journal and receipts of erasures, secrets
    policies/...         the tenants' policy files
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from semcache.archive.errors import ArchiveError

NAME = "manifest.json"
STORE = "store.rdb"
FORMAT = 1
_KIND = "backup"
_LONGEST = 64 << 20
_CHUNK = 1 << 20
_PART = re.compile(r"(?:store\.rdb|(?:data|policies)(?:/[^/\x00]+)+)")
_STARTS = (b"REDIS", b"VALKEY")


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a backup: bytes and SHA-256 in hex."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds.

    Attributes:
        made_at: Unix seconds.
        version: release that made it.
        data: the data directory that it was made of: its journal may know of later erasures.
        secrets: whether secrets of the installation are in it.
        parts: by path inside the backup.
    """

    made_at: float
    version: str
    data: str
    secrets: bool
    parts: Mapping[str, Part]

    def dumps(self) -> bytes:
        """Write it, its own checksum included."""
        told = self._told()
        return orjson.dumps(told | {"sha256": _digest(told)}, option=orjson.OPT_INDENT_2) + b"\n"

    def _told(self) -> dict[str, Any]:
        return {
            "semcache": _KIND,
            "format": FORMAT,
            "made_at": self.made_at,
            "version": self.version,
            "data": self.data,
            "secrets": self.secrets,
            "parts": {name: [part.size, part.sha256] for name, part in self.parts.items()},
        }


def read(backup: Path) -> Manifest:
    """Read the manifest of a backup.

    Raises:
        ArchiveError: there is none, or it is none of ours.
        OSError: it cannot be read.
    """
    path = backup / NAME
    try:
        if path.stat().st_size > _LONGEST:
            raise ArchiveError(f"{path} is no manifest")
        told: Any = orjson.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise ArchiveError(f"{backup} is no backup, or one that was not finished: it has no {NAME}") from None
    except orjson.JSONDecodeError:
        raise ArchiveError(f"{path} is damaged") from None
    if not isinstance(told, dict) or told.get("semcache") != _KIND:
        raise ArchiveError(f"{path} is no manifest of a backup")
    if told.get("format") != FORMAT:
        raise ArchiveError(f"a backup of format {told.get('format')!r}; this release reads format {FORMAT}")
    digest = told.pop("sha256", "")
    if digest != _digest(told):
        raise ArchiveError(f"{path} was changed since it was written")
    return _read(told, path)


def _read(told: dict[str, Any], path: Path) -> Manifest:
    try:
        parts = {str(name): Part(int(size), str(digest)) for name, (size, digest) in told["parts"].items()}
        found = Manifest(
            float(told["made_at"]), str(told["version"]), str(told["data"]), bool(told["secrets"]), parts
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ArchiveError(f"{path} is damaged") from None
    for name in parts:
        # Names lead where files are written to.
        if _PART.fullmatch(name) is None or any(word in (".", "..") for word in name.split("/")):
            raise ArchiveError(f"{path} names a part that no backup has: {name[:100]!r}")
    if STORE not in parts:
        raise ArchiveError(f"{path} names no {STORE}")
    return found


def verified(backup: Path) -> Manifest:
    """Read a backup's manifest and check that each of its parts is there as it was written, and nothing else.

    Raises:
        ArchiveError: a part is missing, was changed, is no plain file, or is not named.
        OSError: it cannot be read.
    """
    manifest = read(backup)
    found = {
        path.relative_to(backup).as_posix()
        for path in backup.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    strange = found - manifest.parts.keys() - {NAME}
    if strange:
        raise ArchiveError(f"{min(strange)} is no part of this backup; remove it")
    for name, part in manifest.parts.items():
        path = backup / name
        if path.is_symlink() or not path.is_file():
            raise ArchiveError(f"{name} is missing")
        if part_of(path) != part:
            raise ArchiveError(f"{name} was damaged or changed since the backup was made")
    with (backup / STORE).open("rb") as file:
        if not file.read(6).startswith(_STARTS):
            raise ArchiveError(f"{STORE} is no snapshot of a store")
    return manifest


def part_of(path: Path) -> Part:
    """Measure a file.

    Raises:
        OSError: it cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return Part(size, digest.hexdigest())


def _digest(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()
