"""What a writing script is handed about an entry: its bytes, lifetime, size, and the bounds of its tenant.

Knows the clock that lifetimes are counted by and what a tenant may hold; decides nothing about entries, sends nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from semcache.core import Entry, EntryId, TenantId
from semcache.errors import StoreError
from semcache.store import codec
from semcache.store.keys import digest
from semcache.store.worth import level, made_for

OVERHEAD = 900
"""Bytes an entry costs the server beside its value: keys, sets, expiry, score, share (measured, rounded up)."""
_SET = 140
"""Bytes that each further set costs in which an entry stands: one a tag, two for its end user (measured, rounded up)."""
LONGEST_LIFE = 10 * 365 * 86400.0
_DIGEST = 8
"""Bytes of the digests of those who hold entries: two of a tenant's with one digest would share a share, no more."""
_THREAD_ABOVE = 32 << 10
"""Texts above this are packed in a thread: it takes about a millisecond."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What one tenant may hold; what is worth least goes first, verified ones last. Bytes count as `size_of` does.

    Who holds more than `share` of it (one API key, one end user) gives way first; None: nobody does.
    """

    entries: int = 100_000
    bytes: int = 1 << 30
    share: float | None = None

    @property
    def told(self) -> str:
        """The quota as scripts read it."""
        return f"{self.entries} {self.bytes} {self.share or 0}"


def same_quota(_: TenantId) -> Quota:
    """Give every tenant the default quota."""
    return Quota()


@dataclass(frozen=True, slots=True)
class Packed:
    """An entry ready to be sent: `ttl` in milliseconds, `size` in bytes as the `room` counts them.

    `room` is its tenant's quota and `worth` what it cost and who holds it, both as scripts read them.
    """

    value: bytes
    ttl: int
    size: int
    room: str
    worth: bytes


async def packed(entry: Entry, now: float, quota_of: Callable[[TenantId], Quota]) -> Packed | None:
    """Make an entry ready; None when it has expired already.

    Args:
        entry: what to store.
        now: Unix seconds.
        quota_of: what a tenant may hold.

    Raises:
        StoreError: `invalid` (cannot be written) and `quota` (larger than a tenant's all).
    """
    life = min(entry.expires_at - entry.created_at, entry.expires_at - now, LONGEST_LIFE)
    if not life > 0:
        return None
    check_id(entry.id)
    large = entry.completion.size + len(entry.prompt) > _THREAD_ABOVE
    value = await asyncio.to_thread(codec.encode, entry) if large else codec.encode(entry)
    quota = quota_of(entry.tenant)
    size = size_of(entry, value)
    if size > quota.bytes:
        raise StoreError("entry is larger than its tenant's quota", kind="quota")
    who = _who(entry) if quota.share else b""
    worth = b"%.6f %b" % (level(made_for(entry)), who)
    return Packed(value, max(1, int(life * 1000)), size, quota.told, worth)


def size_of(entry: Entry, value: bytes) -> int:
    """Give the bytes that an entry written as `value` takes of its tenant's quota."""
    return len(value) + OVERHEAD + _SET * (len(set(entry.tags)) + (2 if entry.subject else 0))


def _who(entry: Entry) -> bytes:
    """Name those whose share an entry takes: nine bytes each, a letter and a digest (`store.lua_worth`)."""
    pieces = ((b"k", entry.holder), (b"u", entry.subject))
    return b"".join(letter + digest(text)[:_DIGEST] for letter, text in pieces if text)


def check_id(id: EntryId) -> None:
    """Refuse names that the store keeps for itself.

    Raises:
        StoreError: `invalid`.
    """
    if not id or len(id) > 256 or id.startswith("#"):
        raise StoreError("entry id is empty, longer than 256 characters, or begins with '#'", kind="invalid")
