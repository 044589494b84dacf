"""The doors to the outside: one Protocol a dependency, each with a contract suite in tests/contracts.

Implementations raise only the named errors of `semcache.errors`; every other exception is a
defect. All of them are safe to use from one event loop; none blocks it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from semcache.core import (
    Embedding,
    EncoderId,
    Entry,
    EntryId,
    Epochs,
    ExactKey,
    JsonObject,
    Namespace,
    Neighbour,
    RequestRecord,
    TenantId,
)
from semcache.records import SideRecord


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> float:
        """Give the Unix time in seconds (may jump)."""
        ...

    def monotonic(self) -> float:
        """Give seconds that never go back (for durations)."""
        ...


class Encoder(Protocol):
    """Text to unit vectors; may route by script to several models inside."""

    async def encode(self, text: str) -> Embedding:
        """Embed one text: float32 [d], unit length, finite.

        Raises:
            EncoderError: failed, late (own deadline), busy, or a refusal (`too_long`,
                `unknown_script`, `empty`).
        """
        ...

    def to_reference(self, encoder: EncoderId, cosine: float) -> float | None:
        """Map a raw cosine of `encoder` to the reference scale; None without a calibration table."""
        ...

    def name_of(self, encoder: EncoderId) -> str:
        """Give the short model name that policies use for explicit thresholds."""
        ...

    def generations(self) -> frozenset[EncoderId]:
        """Give the generations in service; vectors of any other are never indexed or compared."""
        ...


class Verifier(Protocol):
    """Says whether an answer may be reused for another question, from the two questions."""

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        """Give the probability in [0, 1] that the answer stored for `stored` is right for `asked`.

        Pure arithmetic, well under a millisecond for ordinary questions. None: it cannot tell, and
        then the answer is no. `similarity` is on the reference scale.
        """
        ...


class VectorIndex(Protocol):
    """Nearest neighbours inside one namespace. Derived data: the store can always rebuild it."""

    def count(self, namespace: Namespace) -> int:
        """Give the number of live vectors of the namespace over all encoders; O(1), never blocks."""
        ...

    async def search(self, namespace: Namespace, embedding: Embedding, k: int) -> list[Neighbour]:
        """Find the k nearest by cosine, best first; same namespace and same encoder only.

        Raises:
            VectorIndexError: the search could not be made.
        """
        ...

    async def add(self, namespace: Namespace, entry_id: EntryId, embedding: Embedding) -> None:
        """Add or replace the vector of an entry. Idempotent.

        Raises:
            VectorIndexError: not finite, not unit length, other dimension than its encoder's.
        """
        ...

    async def remove(self, entry_ids: Sequence[EntryId]) -> int:
        """Remove vectors; unknown ids are no error. Gives how many were there."""
        ...

    async def clear(self) -> None:
        """Forget everything (before a rebuild)."""
        ...

    def sizes(self) -> tuple[int, int]:
        """Give (vectors, namespaces) for the gauges."""
        ...


@dataclass(frozen=True, slots=True)
class EntryPut:
    """An entry was stored or changed by some process."""

    tenant: TenantId
    entry_id: EntryId


@dataclass(frozen=True, slots=True)
class EntriesDeleted:
    """Entries are gone for good."""

    tenant: TenantId
    entry_ids: tuple[EntryId, ...]


@dataclass(frozen=True, slots=True)
class EpochBumped:
    """Everything of `tenant` born under an older count of `key` is dead (see `core.Epochs`)."""

    tenant: TenantId
    key: str
    value: int


@dataclass(frozen=True, slots=True)
class StoreReset:
    """The store is not the one followed so far (flushed, restored, trimmed): rebuild everything."""


Change = EntryPut | EntriesDeleted | EpochBumped | StoreReset


@dataclass(frozen=True, slots=True)
class Selector:
    """Which entries of one tenant: all given fields must match; no field means all of the tenant."""

    tenant: TenantId
    ids: tuple[EntryId, ...] = ()
    tag: str = ""
    namespace: str = ""
    model: str = ""
    subject: str = ""
    """Digest of an end user (`core.Entry.subject`)."""


SAMPLE = 16
"""Numbers of a vector that tell it from any other text's: by chance they agree once in 10^30."""


@dataclass(frozen=True, slots=True)
class Glimpses:
    """Some live entries of `tenant`: `samples` are the first `SAMPLE` numbers of each vector, or all it has.

    As stored: float16, little-endian, b"" without a vector, in length off by that rounding.
    """

    tenant: TenantId
    ids: tuple[EntryId, ...]
    samples: tuple[bytes, ...]


@dataclass(slots=True)
class StreamCursor:
    """How far a follower has come in which store's change stream; the store moves it on. "": nowhere yet."""

    identity: str = ""
    number: int = 0


class EntryStore(Protocol):
    """Entries, flags and epochs: the only owner of the truth."""

    async def get_exact(self, tenant: TenantId, key: ExactKey) -> Entry | None:
        """Give the live entry of an exact key: not expired, not rejected, epochs equal to the present.

        Raises:
            StoreError: unreachable, late or corrupt (the corrupt value is dropped).
        """
        ...

    async def lookup(
        self, tenant: TenantId, key: ExactKey, epoch_keys: Sequence[str]
    ) -> tuple[Entry | None, Epochs]:
        """Give what `get_exact` and `epochs` give, in one round trip.

        A request that will store its own answer after a miss needs both, from one moment.

        Raises:
            StoreError: unreachable, late or corrupt (the corrupt value is dropped).
        """
        ...

    async def get_many(self, tenant: TenantId, ids: Sequence[EntryId]) -> list[Entry | None]:
        """Give live entries by id, in order; None for those that are gone, dead or another tenant's.

        Raises:
            StoreError: unreachable or late.
        """
        ...

    async def epochs(self, tenant: TenantId, keys: Sequence[str]) -> Epochs:
        """Give the present invalidation counters; an entry is born under them.

        Raises:
            StoreError: unreachable or late.
        """
        ...

    async def put(self, entry: Entry) -> bool:
        """Store and announce an entry; False when an invalidation since `entry.epochs` forbids it.

        Atomic: entry, exact key, membership sets and announcement, all or none. Idempotent by
        id; a newer entry of one exact key replaces the older. A human-verified entry is never
        replaced by an unverified one.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        ...

    async def confirm(self, entry: Entry, user: str) -> bool:
        """Note that a user (named as in `Entry.author`) got this answer from the model themselves, and announce it.

        Idempotent and atomic; kept as long as the entry, of `review_rules.MOST_CONFIRMERS` users. False when the
        answer no longer stands as it was read: it is gone, rejected or another version.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        ...

    async def delete(self, selector: Selector) -> int:
        """Invalidate what the selector names, durably and for every process; gives how many.

        By id: the entries are removed. By tag, namespace, model or tenant: the epoch is bumped
        (nothing born before comes back) and the entries are removed.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        ...

    def scan(self, tenant: TenantId | None = None) -> AsyncIterator[Entry]:
        """Yield all live entries (of one tenant), in no order, in batches behind the scenes.

        Raises:
            StoreError: unreachable or late.
        """
        ...

    def glimpses(self, tenant: TenantId | None = None) -> AsyncIterator[Glimpses]:
        """Yield what `scan` does, but of each entry only what tells its vector from others: a tenth of the price.

        Raises:
            StoreError: unreachable or late.
        """
        ...

    def changes(self, cursor: StreamCursor | None = None) -> AsyncIterator[Change | None]:
        """Follow the change stream from now on; yields None at least every half second while idle.

        The first item is `StoreReset` (the follower compares its state with the store after it), but with a
        `cursor` whose place the stream still holds: then what came after that place follows. The cursor is moved
        to each change once the next item is asked for. A None says that everything was given that was done before
        it was waited for; a change alone does not, since more may be left behind it.

        Raises:
            StoreError: the connection is lost; call again to resume (begins with StoreReset).
        """
        ...

    async def ping(self) -> None:
        """Prove the store answers and takes writes.

        Raises:
            StoreError: it does not.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class UpstreamCall:
    """One HTTP request to an upstream. `path` begins with a slash and follows the base URL.

    `affinity` names what it shares with requests that had best be answered by the same node (b"": nothing known),
    `tenant` whose it is, so that tenants take turns where calls wait ("": nobody's).
    """

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes | AsyncIterator[bytes]
    query: bytes = b""
    affinity: bytes = b""
    tenant: str = ""


class UpstreamReply(Protocol):
    """A reply whose head has come; the body streams."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Raw header pairs as received, content-encoding included."""
        ...

    def body(self) -> AsyncIterator[bytes]:
        """Stream the raw (still encoded) body once.

        Raises:
            UpstreamError: cut, stalled (idle timeout), or otherwise broken.
        """
        ...

    async def aclose(self) -> None:
        """Give the connection up. Idempotent; cancels a body that is not read to its end."""
        ...


class Generator(Protocol):
    """Something that answers: an upstream API, or the local engine."""

    @property
    def name(self) -> str:
        """Name from the configuration."""
        ...

    async def open(self, call: UpstreamCall) -> UpstreamReply:
        """Send a call and wait for the reply's head.

        Raises:
            UpstreamError: unreachable or late.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        ...


class RecordSink(Protocol):
    """Where request records go; never blocks, drops and counts when full."""

    def emit(self, record: RequestRecord) -> None:
        """Take one record."""
        ...


class SideSink(Protocol):
    """Where records of work beside requests go; never blocks, drops and counts when full."""

    def note(self, side: SideRecord) -> None:
        """Take one record."""
        ...


__all__ = [
    "SAMPLE",
    "Change",
    "Clock",
    "Encoder",
    "EntriesDeleted",
    "EntryPut",
    "EntryStore",
    "EpochBumped",
    "Generator",
    "Glimpses",
    "JsonObject",
    "RecordSink",
    "Selector",
    "SideSink",
    "StoreReset",
    "StreamCursor",
    "UpstreamCall",
    "UpstreamReply",
    "VectorIndex",
    "Verifier",
]
