"""The journal of erasures: a file outside of the store, so that a store restored from before knows who was erased since.

One line of JSON each, in a chain like the audit log's: a line's digest is SHA-256 over the digest before, a line feed and the
rest of the line. Holds digests of people, never names. A line that was cut off by a crash is no line: what it
was to say was not begun.
"""

from __future__ import annotations

import fcntl
import hashlib
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from semcache.archive.errors import ArchiveError
from semcache.archive.files import whole
from semcache.cost.segments import synced

NAME = "erasures.jsonl"
_LONGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Erasure:
    """Somebody was erased: when (Unix seconds), of which tenant, under which digests (`store.erasure.Whom`), by which receipt."""

    at: float
    tenant: str
    subject: str
    authors: tuple[str, ...]
    receipt: str


def read(path: Path) -> list[Erasure]:
    """Give all lines of a journal, oldest first; none where there is no file.

    Raises:
        ArchiveError: a line is none of ours, or does not fit the chain.
        OSError: it cannot be read.
    """
    return [erasure for erasure, _ in _lines(path)]


def append(path: Path, erasure: Erasure) -> str:
    """Write a line to disk and give its digest.

    Raises:
        ArchiveError: what stands there is no journal; nothing was written.
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        lines = _lines(path)
        size = _whole_bytes(path)
        os.ftruncate(file, size)
        digest, line = _written(lines[-1][1] if lines else "", len(lines) + 1, erasure)
        os.pwrite(file, line, size)
        os.fsync(file)
    finally:
        os.close(file)
    synced(path.parent)
    return digest


def merged(journals: Iterable[Sequence[Erasure]]) -> list[Erasure]:
    """Give the last erasure of everybody, oldest first."""
    last: dict[tuple[str, str], Erasure] = {}
    for journal in journals:
        for one in journal:
            known = last.get((one.tenant, one.subject))
            if known is None:
                last[one.tenant, one.subject] = one
                continue
            authors = tuple(sorted({*known.authors, *one.authors}))
            newer = max(known, one, key=lambda each: each.at)
            last[one.tenant, one.subject] = Erasure(newer.at, one.tenant, one.subject, authors, newer.receipt)
    return sorted(last.values(), key=lambda one: (one.at, one.tenant, one.subject))


def unknown(erasures: Iterable[Erasure], journal: Sequence[Erasure]) -> list[Erasure]:
    """Give those that a journal does not know of, or only of an earlier time."""
    known = {(one.tenant, one.subject): one.at for one in merged([journal])}
    return [one for one in erasures if known.get((one.tenant, one.subject), float("-inf")) < one.at]


def write(path: Path, erasures: Sequence[Erasure]) -> None:
    """Write a journal anew.

    Raises:
        OSError: it cannot be written.
    """
    with whole(path) as file:
        digest = ""
        for number, erasure in enumerate(erasures, 1):
            digest, line = _written(digest, number, erasure)
            file.write(line)


def _written(previous: str, number: int, erasure: Erasure) -> tuple[str, bytes]:
    told = {**asdict(erasure), "number": number, "previous": previous}
    digest = _digest(previous, told)
    return digest, orjson.dumps(told | {"digest": digest}) + b"\n"


def _digest(previous: str, told: dict[str, Any]) -> str:
    text = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(previous.encode() + b"\n" + text).hexdigest()


def _lines(path: Path) -> list[tuple[Erasure, str]]:
    found: list[tuple[Erasure, str]] = []
    previous = ""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return found
    with file:
        while line := file.readline(_LONGEST):
            if not line.endswith(b"\n"):
                if len(line) == _LONGEST or file.readline(1):
                    raise ArchiveError(f"{path.name} is no journal of erasures", len(found) + 1)
                break
            erasure, previous = _read(line, previous, len(found) + 1, path.name)
            found.append((erasure, previous))
    return found


def _read(line: bytes, previous: str, number: int, name: str) -> tuple[Erasure, str]:
    try:
        told: Any = orjson.loads(line)
        digest = told.pop("digest")
        erasure = Erasure(
            float(told["at"]),
            str(told["tenant"]),
            str(told["subject"]),
            tuple(map(str, told["authors"])),
            str(told["receipt"]),
        )
        fits = (told["number"], told["previous"]) == (number, previous) and math.isfinite(erasure.at)
    except (ValueError, TypeError, LookupError, AttributeError):
        raise ArchiveError(f"{name} is no journal of erasures", number) from None
    if not fits or digest != _digest(previous, told):
        raise ArchiveError(
            f"{name} was changed: this line does not follow the one before; restore the file from a copy",
            number,
        )
    return erasure, digest


def _whole_bytes(path: Path) -> int:
    data = path.read_bytes()
    return data.rfind(b"\n") + 1
