"""Receipts of erasures: what was removed where, what could not be reached and what becomes of it. Pure, but for their files.

A receipt's digest is SHA-256 in hex over its canonical JSON (keys sorted, without digest and line); it stands in the audit
log's line that ends the erasure, whose number and digest the receipt names, so neither can be changed unseen.
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
from semcache.archive.files import whole

FOLDER = "erasures"
FORMAT = 1
_NAME = re.compile(r"er_[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure did.

    Attributes:
        id: `er_` and 24 hex digits.
        tenant: whose end user.
        subject: digest of their name (`core.Entry.subject`).
        by: who had them erased.
        note: what was added.
        begun, done: Unix seconds.
        removed: what and how many, by place.
        announced: what every process that hears of it does then.
        kept: what stays on purpose, and why.
        unreached: what could not be reached from here, and what becomes of it.
        journal: digest of its line in the journal.
    """

    id: str
    tenant: str
    subject: str
    by: str
    note: str
    begun: float
    done: float
    removed: Mapping[str, int]
    announced: tuple[str, ...]
    kept: tuple[str, ...]
    unreached: tuple[str, ...]
    journal: str

    def told(self) -> dict[str, Any]:
        """Give it as JSON objects and lists."""
        return {
            "format": FORMAT,
            "id": self.id,
            "tenant": self.tenant,
            "subject": self.subject,
            "by": self.by,
            "note": self.note,
            "begun": self.begun,
            "done": self.done,
            "removed": dict(self.removed),
            "announced": list(self.announced),
            "kept": list(self.kept),
            "unreached": list(self.unreached),
            "journal": self.journal,
        }

    @property
    def digest(self) -> str:
        """SHA-256 in hex over all of it."""
        return digest_of(self.told())


def digest_of(told: Mapping[str, Any]) -> str:
    """Work out the digest of a receipt that was read; `digest` and `line` play no part."""
    counted = {name: value for name, value in told.items() if name not in ("digest", "line")}
    return hashlib.sha256(orjson.dumps(counted, option=orjson.OPT_SORT_KEYS)).hexdigest()


def write(data: Path, receipt: Receipt, line: Mapping[str, Any]) -> dict[str, Any]:
    """Write a receipt to its file and give it as written; `line` is number and digest of the audit log's line.

    Raises:
        OSError: it cannot be written.
    """
    folder = data / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    told = receipt.told() | {"digest": receipt.digest, "line": dict(line)}
    with whole(folder / f"{receipt.id}.json") as file:
        file.write(orjson.dumps(told, option=orjson.OPT_INDENT_2) + b"\n")
    return told


def read(data: Path, id: str) -> dict[str, Any]:
    """Give a receipt by its id.

    Raises:
        ArchiveError: there is none, or it was changed since.
        OSError: it cannot be read.
    """
    if _NAME.fullmatch(id) is None:
        raise ArchiveError("receipts are named er_ and 24 hex digits")
    try:
        told: Any = orjson.loads((data / FOLDER / f"{id}.json").read_bytes())
    except FileNotFoundError:
        raise ArchiveError(f"there is no receipt {id} in {data / FOLDER}") from None
    except orjson.JSONDecodeError:
        raise ArchiveError(f"receipt {id} is damaged") from None
    if not isinstance(told, dict) or told.get("id") != id or told.get("digest") != digest_of(told):
        raise ArchiveError(f"receipt {id} was changed since it was written")
    return told
