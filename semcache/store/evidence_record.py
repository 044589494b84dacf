"""How labels and counters stand in Redis, and reading them back (pure).

What comes back may be damaged: then it is a `StoreError` of kind `corrupt`, never a wrong number.
"""

from __future__ import annotations

import math
from typing import Any

import orjson

from semcache.core import EntryId, TenantId
from semcache.errors import StoreError
from semcache.evidence_port import Finding, Label, Source
from semcache.store.shapes import some_bytes
from semcache.store.subjects import marked, unmarked

LONGEST_TEXT = 512
"""Characters of any name in a record."""
_MOST_REASONS = 16
_FIELDS = 14


def cell_of(name: bytes) -> tuple[tuple[Source, int, int], int]:
    """Take the name of a counter apart: whose it is, and 0 for all, 1 for the wrong ones."""
    parts = name.decode("utf-8", "replace").split(":")
    try:
        source, bucket, bin_, side = parts
        return (Source(source), int(bucket), int(bin_)), ("n", "w").index(side)
    except ValueError:
        raise corrupt() from None


def record_of(label: Label) -> bytes:
    """Write a label for the list, its fields in the order of `label_of`."""
    return orjson.dumps(
        [
            _cut(label.id), _cut(label.domain), label.source.value, label.finding.value, label.bin, label.bucket,
            label.at, label.weight, _cut(label.entry or ""), _cut(label.request), label.score, label.similarity,
            [_cut(word) for word in label.reasons[:_MOST_REASONS]], marked(label.subject, _cut(label.note)),
        ]
    )  # fmt: skip


def label_of(tenant: TenantId, row: Any) -> Label:
    """Read a label of the list.

    Raises:
        StoreError: `corrupt`; `error`: not even bytes.
    """
    found: Any = json_of(some_bytes(row))
    if not isinstance(found, list) or len(found) != _FIELDS:
        raise corrupt()
    (
        id_,
        domain,
        source,
        finding,
        bin_,
        bucket,
        at,
        weight,
        entry,
        request,
        score,
        similarity,
        reasons,
        note,
    ) = found
    subject, text = unmarked(str(note))
    try:
        return Label(
            id=str(id_),
            tenant=tenant,
            domain=str(domain),
            source=Source(source),
            finding=Finding(finding),
            bin=number_or_none(bin_, int),
            bucket=int(bucket),
            at=float(at),
            weight=float(weight),
            entry=EntryId(str(entry)) if entry else None,
            request=str(request),
            score=number_or_none(score, float),
            similarity=number_or_none(similarity, float),
            reasons=tuple(map(str, reasons)),
            note=text,
            subject=subject,
        )
    except (TypeError, ValueError):
        raise corrupt() from None


def number_or_none(value: Any, kind: type) -> Any:
    """Give a number of that kind, or None for null."""
    return None if value is None else kind(value)


def _cut(text: str) -> str:
    """Bound a text and make it Unicode, which JSON demands."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode()


def json_of(value: bytes) -> Any:
    """Read JSON.

    Raises:
        StoreError: `corrupt`.
    """
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        raise corrupt() from None


def a_float(value: bytes) -> float:
    """Read a finite number.

    Raises:
        StoreError: `corrupt`.
    """
    try:
        number = float(value)
    except ValueError:
        raise corrupt() from None
    if not math.isfinite(number):
        raise corrupt()
    return number


def text_of(name: bytes) -> str:
    """Read a name as it went over the wire."""
    return name.decode("utf-8", "surrogatepass")


def corrupt() -> StoreError:
    """Make the error for what is damaged."""
    return StoreError("evidence: a stored value is damaged", kind="corrupt")
