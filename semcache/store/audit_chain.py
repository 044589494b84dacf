"""The audit log as a chain: each line's digest is over the one before and the act (pure).

A stored line is `<digest> <number> <digest of the line before, or -> <act>`: SHA-256 in hex, and the act as canonical
JSON (keys sorted, no blanks, UTF-8). The digest is over the digest before, a line feed, and that JSON, so that whoever changes, removes,
inserts or exchanges lines has to work out all later ones anew, and the end of the chain no longer is what
was seen or exported before. The chain is no signature: it shows what was done to a part of the log, and
against one who can rewrite all of it only a digest that was kept elsewhere helps.

Knows no store: what stands where is handed in.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import EntryId
from semcache.errors import StoreError
from semcache.review_port import Act, Line

MOST_BYTES = 16 << 10
"""Of an act in JSON: lines say what was done, they hold no answers."""
_START = "-"


def next_line(number: int, previous: str, act: Act) -> Line:
    """Make the line that follows line `number`, whose digest is `previous` (0 and "" of none).

    Raises:
        StoreError: `invalid`: the act is no JSON, too large, or its time is none.
    """
    return Line(number + 1, act, previous, digest_of(previous, canonical(act)))


def canonical(act: Act) -> bytes:
    """Write an act as canonical JSON.

    Raises:
        StoreError: `invalid`: it is no JSON, larger than `MOST_BYTES`, or its time is none.
    """
    fields = {
        "who": act.who,
        "at": act.at,
        "what": act.what,
        "entry": act.entry,
        "before": act.before,
        "after": act.after,
        "note": act.note,
    }
    if not math.isfinite(act.at):
        raise StoreError("act cannot be written down: its time is none", kind="invalid")
    try:
        text = orjson.dumps(fields, default=_plain, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise StoreError("act cannot be written down: it is no JSON", kind="invalid") from error
    if len(text) > MOST_BYTES:
        raise StoreError(f"act cannot be written down: larger than {MOST_BYTES} bytes", kind="invalid")
    return text


def digest_of(previous: str, act: bytes) -> str:
    """Work out a line's digest: SHA-256 in hex over the digest before and the act's JSON."""
    return hashlib.sha256(previous.encode() + b"\n" + act).hexdigest()


def written(line: Line) -> bytes:
    """Give the bytes of a line as it is stored.

    Raises:
        StoreError: `invalid`, as `canonical`.
    """
    return f"{line.digest} {line.number} {line.previous or _START} ".encode() + canonical(line.act)


def read(stored: bytes) -> Line | None:
    """Read a stored line; None when it is none. Whether it fits its neighbours is `Walk`'s matter."""
    parts = _parts(stored)
    if parts is None:
        return None
    digest, number, previous, text = parts
    try:
        fields = orjson.loads(text)
        entry = fields["entry"]
        act = Act(
            who=str(fields["who"]),
            at=float(fields["at"]),
            what=str(fields["what"]),
            entry=None if entry is None else EntryId(str(entry)),
            before=dict(fields["before"]),
            after=dict(fields["after"]),
            note=str(fields["note"]),
        )
    except (ValueError, TypeError, LookupError):
        return None
    return Line(number, act, previous, digest)


@dataclass(slots=True)
class Walk:
    """Goes along a chain; stands behind line `number`, whose digest is `digest`."""

    number: int = 0
    digest: str = ""

    def take(self, stored: bytes) -> bool:
        """Go on by a line; False, and no step, when it is not the one that follows."""
        parts = _parts(stored)
        if parts is None:
            return False
        digest, number, previous, text = parts
        if number != self.number + 1 or previous != self.digest or digest != digest_of(previous, text):
            return False
        self.number, self.digest = number, digest
        return True

    def wrong_end(self, number: int, digest: str) -> int | None:
        """Compare the end of the walk with where the log is said to end: the first line that does not fit."""
        if (number, digest) == (self.number, self.digest):
            return None
        # The same number with another digest: the last line itself is not the one that was written.
        return min(number, self.number) + (number != self.number)


def _parts(stored: bytes) -> tuple[str, int, str, bytes] | None:
    head = stored.split(b" ", 3)
    if len(head) != 4 or len(head[0]) != 64 or not head[1].isdigit() or len(head[1]) > 15:
        return None
    previous = head[2].decode("utf-8", "replace")
    return head[0].decode("utf-8", "replace"), int(head[1]), "" if previous == _START else previous, head[3]


def _plain(thing: Any) -> Any:
    if isinstance(thing, Mapping):
        return dict(thing)
    if isinstance(thing, (frozenset, set)):
        return sorted(thing)
    raise TypeError(type(thing))
