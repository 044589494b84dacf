"""Entries of every kind, and exports of them."""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from semcache.archive.lines import Foot, Head, entry_line, foot_line, head_line
from semcache.core import (
    Completion,
    Embedding,
    EncoderId,
    Entry,
    EntryId,
    ExactKey,
    Review,
    ReviewStatus,
    TenantId,
    Usage,
)

ACME = TenantId("acme")
MINI = EncoderId("mini@0123456789ab")


def made(name: str, now: float | None = None, **changes: object) -> Entry:
    """Give an entry with everything that one can have."""
    at = time.time() if now is None else now
    digest = hashlib.sha256(name.encode()).hexdigest()
    values = np.random.default_rng(sum(name.encode())).normal(size=8).astype(np.float32)
    one = Entry(
        id=EntryId(name),
        tenant=ACME,
        namespace="aa" * 32,
        key=ExactKey(digest),
        domain="chat",
        model="small",
        prompt=f"what is {name}? 名",
        completion=Completion(
            body=b'{"object":"chat.completion","choices":[{"index":0,"message":{"content":"yes"},"finish_reason":"stop"}]}',
            usage=Usage(3, 5, 1),
            chunks=b"[1]",
            native=b'{"a":"\xc3\xa9"}',
        ),
        created_at=at - 60,
        expires_at=at + 3600,
        embedding=Embedding(values / np.linalg.norm(values), MINI),
        tags=("a", "b"),
        context=b"[]",
        origin="draft:x",
        author="ab" * 12,
        subject="cd" * 12,
        seconds=1.5,
        commons="ef" * 32,
    )
    return replace(one, **changes)  # type: ignore[arg-type] # a table of any fields


def approved(name: str, now: float | None = None) -> Entry:
    """Give an entry that a human vouches for."""
    review = Review(by="eve", at=1.0, until=None, edition="e", least=0.9, only="ab" * 12)
    return made(name, now, status=ReviewStatus.APPROVED, version=2, review=review)


def export(entries: Iterable[Entry], tenant: str = ACME, now: float = 1e9) -> bytes:
    """Write an export of these."""
    lines = [head_line(Head(tenant, now)), *map(entry_line, entries)]
    return sealed(lines)


def sealed(lines: list[bytes]) -> bytes:
    """Put a foot that fits behind lines."""
    whole = b"".join(lines)
    return whole + foot_line(Foot(len(lines) - 1, hashlib.sha256(whole).hexdigest()))


def entry_of(body: bytes) -> bytes:
    """Write a line with a checksum that fits, whatever it holds."""
    return b'{"sum":"' + hashlib.sha256(body).hexdigest().encode() + b'","entry":' + body + b"}\n"


def file_of(text: bytes) -> io.BytesIO:
    """Give it as an open file."""
    return io.BytesIO(text)
