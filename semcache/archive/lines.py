"""An export as lines of JSON: a head, one entry a line with its own checksum, a foot with the checksum of all (pure).

    {"head":{"semcache":"entries","format":1,"tenant":...,"made_at":...,"encoders":[...]}}
    {"sum":"<SHA-256 of the bytes behind entry>","entry":{...}}
    {"foot":{"count":...,"sha256":"<of all lines before>"}}

An entry's line holds all of it but its tenant, which whoever imports it says, and its counters (`core.Epochs`), which belong to
one store. Reading takes nothing on trust: shapes, times and vectors are looked at, and what does not fit is `Unfit`
with a closed word. Knows no store and no files.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import orjson

from semcache.archive.errors import ArchiveError
from semcache.core import (
    Completion,
    Embedding,
    EncoderId,
    Entry,
    Epochs,
    Review,
    ReviewStatus,
    TenantId,
    Usage,
)

FORMAT = 1
KIND = "entries"
_HEX = re.compile(r"[0-9a-f]*")
_ID = re.compile(r"[0-9A-Za-z_.:-]{1,128}")
_BEGIN, _BETWEEN, _END = b'{"sum":"', b'","entry":', b"}\n"
_SUM = 64
_APART = frozenset(
    (
        "tenant",
        "epochs",
        "embedding",
        "completion",
        "review",
        "tags",
        "status",
        "context",
        "barred",
        "confirmed",
    )
)
_KINDS = {"str": str, "EntryId": str, "ExactKey": str, "float": float, "int": int}
_SCALARS = {one.name: _KINDS[str(one.type)] for one in fields(Entry) if one.name not in _APART}
_COUNTS = tuple(one.name for one in fields(Usage) if one.type == "int")
_REVIEW = ("by", "at", "until", "edition", "least", "only")
_LONGEST_NAME = 4096
_MOST_TAGS = 58
_LONGEST_LIFE = 10 * 365 * 86_400.0
_SKEW = 86_400.0
_LARGEST_COUNT = 1 << 53


class UnfitError(Exception):
    """An entry that cannot be taken in; `word` says why, in a word for counting."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


@dataclass(frozen=True, slots=True)
class Head:
    """What an export says of itself; nothing in it is believed but to refuse the file."""

    tenant: str
    made_at: float
    encoders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Foot:
    """How an export ends."""

    count: int
    sha256: str


# -- writing --------------------------------------------------------------------------------


def head_line(head: Head) -> bytes:
    """Write the first line."""
    told = {
        "semcache": KIND,
        "format": FORMAT,
        "tenant": head.tenant,
        "made_at": head.made_at,
        "encoders": list(head.encoders),
    }
    return orjson.dumps({"head": told}) + b"\n"


def foot_line(foot: Foot) -> bytes:
    """Write the last line."""
    return orjson.dumps({"foot": {"count": foot.count, "sha256": foot.sha256}}) + b"\n"


def entry_line(entry: Entry) -> bytes:
    """Write an entry.

    Raises:
        UnfitError: `text`: it holds what is no Unicode.
    """
    try:
        body = orjson.dumps(_told(entry))
    except (TypeError, UnicodeDecodeError):
        raise UnfitError("text") from None
    return _BEGIN + hashlib.sha256(body).hexdigest().encode() + _BETWEEN + body + _END


def _told(entry: Entry) -> dict[str, Any]:
    completion, usage = entry.completion, entry.completion.usage
    told: dict[str, Any] = {name: getattr(entry, name) for name in _SCALARS}
    told |= {
        "status": entry.status.value,
        "tags": list(entry.tags),
        "context": entry.context.decode(),
        "review": {name: getattr(entry.review, name) for name in _REVIEW},
        "barred": sorted(entry.barred),
        "confirmed": sorted(entry.confirmed),
        "completion": {
            "body": completion.body.decode(),
            "chunks": None if completion.chunks is None else completion.chunks.decode(),
            "native": None if completion.native is None else completion.native.decode(),
            "has_tool_calls": completion.has_tool_calls,
            "usage": None if usage is None else {name: getattr(usage, name) for name in _COUNTS},
        },
        "vector": None if entry.embedding is None else _vector_told(entry.embedding),
    }
    return told


def _vector_told(embedding: Embedding) -> dict[str, Any]:
    values = embedding.vector.astype("<f2").tobytes()
    return {"encoder": embedding.encoder, "float16": base64.b64encode(values).decode()}


# -- reading --------------------------------------------------------------------------------


def read_head(line: bytes) -> Head:
    """Read the first line.

    Raises:
        ArchiveError: this is no export, or one of a later release.
    """
    told = _object(line, "head")
    if told is None or told.get("semcache") != KIND:
        raise ArchiveError(
            "this is no export of entries: it does not begin as `semcache entries export` begins one", 1
        )
    if told.get("format") != FORMAT:
        raise ArchiveError(
            f"an export of format {told.get('format')!r}; this release reads format {FORMAT}", 1
        )
    match told:
        case {"tenant": str(tenant), "made_at": float() | int() as made_at, "encoders": list(encoders)}:
            return Head(tenant, float(made_at), tuple(map(str, encoders)))
        case _:
            raise ArchiveError("the head of the export is damaged", 1)


def read_foot(line: bytes) -> Foot | None:
    """Read a last line; None for another one."""
    match _object(line, "foot"):
        case {"count": int(count), "sha256": str(digest)}:
            return Foot(count, digest)
        case _:
            return None


def checked_body(line: bytes, number: int) -> bytes:
    """Give the JSON of an entry's line, its checksum having held.

    Raises:
        ArchiveError: it is no such line, or its checksum differs.
    """
    at = len(_BEGIN) + _SUM
    body = line[at + len(_BETWEEN) : -len(_END)]
    shaped = line.startswith(_BEGIN) and line[at : at + len(_BETWEEN)] == _BETWEEN and line.endswith(_END)
    if not shaped:
        raise ArchiveError("neither an entry nor the foot of an export", number)
    if hashlib.sha256(body).hexdigest().encode() != line[len(_BEGIN) : at]:
        raise ArchiveError("its checksum differs: the file was damaged or changed", number)
    return body


def read_entry(body: bytes, tenant: TenantId, now: float) -> Entry:
    """Read an entry as one of this tenant's; without counters, questions and confirmations as the line has them.

    Args:
        body: what `checked_body` gave.
        tenant: whose it is to be.
        now: Unix seconds.

    Raises:
        UnfitError: it does not follow its format (`malformed`), its times are none (`times`), its vector is none (`vector`).
    """
    try:
        told = orjson.loads(body)
        return _entry(told, tenant, now)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
        raise UnfitError("malformed") from None


def _entry(told: dict[str, Any], tenant: TenantId, now: float) -> Entry:
    known: dict[str, Any] = {name: _of(told[name], kind) for name, kind in _SCALARS.items() if name in told}
    _check_names(known)
    created, expires = known["created_at"], known["expires_at"]
    if not 0 < created <= now + _SKEW or not 0 < expires - created <= _LONGEST_LIFE:
        raise UnfitError("times")
    tags = _texts(told["tags"])
    if len(tags) > _MOST_TAGS or not 1 <= known["version"] < 1 << 32:
        raise UnfitError("malformed")
    return Entry(
        **known,
        tenant=tenant,
        epochs=Epochs(),
        completion=_completion(told["completion"]),
        embedding=_embedding(told["vector"]),
        tags=tags,
        status=ReviewStatus(told["status"]),
        context=_of(told["context"], str).encode(),
        review=_review(told["review"]),
        barred=frozenset(_texts(told["barred"])),
        confirmed=frozenset(_texts(told["confirmed"])),
    )


def _check_names(known: dict[str, Any]) -> None:
    hexes = (("namespace", 64), ("key", 64), ("author", 24), ("subject", 24), ("commons", 64))
    for name, size in hexes:
        text = known.get(name, "")
        optional = name in ("author", "subject", "commons") and not text
        if not (optional or (len(text) == size and _HEX.fullmatch(text))):
            raise UnfitError("malformed")
    if _ID.fullmatch(known["id"]) is None:
        raise UnfitError("malformed")
    # Names, all but the question itself; some of them become parts of names of keys.
    names = [text for name, text in known.items() if isinstance(text, str) and name != "prompt"]
    if any(len(text) > _LONGEST_NAME for text in names) or not _HEX.fullmatch(known.get("holder", "")):
        raise UnfitError("malformed")


def _completion(told: dict[str, Any]) -> Completion:
    body, chunks, native = told["body"], told["chunks"], told["native"]
    for text, kind in ((body, dict), (chunks, list), (native, dict)):
        if text is None and text is not body:
            continue
        if not isinstance(orjson.loads(_of(text, str)), kind):
            raise UnfitError("malformed")
    usage = told["usage"]
    return Completion(
        body=body.encode(),
        usage=None if usage is None else _usage(usage),
        chunks=None if chunks is None else chunks.encode(),
        has_tool_calls=_of(told["has_tool_calls"], bool),
        native=None if native is None else native.encode(),
    )


def _usage(told: dict[str, Any]) -> Usage:
    counts = {name: _of(told[name], int) for name in _COUNTS if name in told}
    if any(not 0 <= count <= _LARGEST_COUNT for count in counts.values()):
        raise UnfitError("malformed")
    return Usage(**counts)


def _embedding(told: dict[str, Any] | None) -> Embedding | None:
    if told is None:
        return None
    encoder = _of(told["encoder"], str)
    try:
        values = base64.b64decode(_of(told["float16"], str), validate=True)
        vector = np.frombuffer(values, dtype="<f2").astype(np.float32)
    except (binascii.Error, ValueError):
        raise UnfitError("vector") from None
    length = float(np.dot(vector, vector))
    if not (0 < vector.shape[0] <= 0xFFFF and abs(length - 1.0) < 1e-2) or len(encoder) > _LONGEST_NAME:
        raise UnfitError("vector")  # NaN fails this too
    vector /= np.sqrt(length)
    return Embedding(vector, EncoderId(encoder))


def _review(told: dict[str, Any]) -> Review:
    by, edition, only = (_of(told[name], str) for name in ("by", "edition", "only"))
    until, least = (None if told[name] is None else _of(told[name], float) for name in ("until", "least"))
    return Review(by, _of(told["at"], float), until, edition, least, only)


def _of(value: Any, kind: type[Any]) -> Any:
    """Give a value of that kind; numbers are finite."""
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise UnfitError("malformed")
    return value


def _texts(told: Any) -> tuple[str, ...]:
    if not isinstance(told, list) or not all(
        isinstance(one, str) and len(one) <= _LONGEST_NAME for one in told
    ):
        raise UnfitError("malformed")
    return tuple(told)


def _object(line: bytes, name: str) -> dict[str, Any] | None:
    try:
        told = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    inner = told.get(name) if isinstance(told, dict) and len(told) == 1 else None
    return inner if isinstance(inner, dict) else None
