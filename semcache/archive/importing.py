"""Entries of an export come back, each by itself: taken in, or passed over for a reason that is counted.

What happened since wins: who was erased, what was deleted, rejected or invalidated after an entry was made stays away, and a
newer answer in its place stays there. What a human said comes along only where an operator asks for it; what takes away
(only for its author, at least so near, barred questions) always does. Doing it again changes nothing.

An export is taken back by the tenant it was made of, under the same name: namespaces and keys are digests over that name,
so under another one no request would ever find its entries. Knows no command line.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from semcache.archive.errors import ArchiveError
from semcache.archive.journal import Erasure
from semcache.archive.lines import Head, UnfitError, read_entry
from semcache.archive.reading import Checked
from semcache.archive.soundness import is_sound
from semcache.core import EncoderId, Entry, EntryId, Review, ReviewStatus, TenantId
from semcache.errors import StoreError
from semcache.ports import Clock
from semcache.review_port import Act, Pair, Verdicts
from semcache.store.standing import Standing

_SKEW = 5.0
"""Seconds that the clocks of a proxy and the store may differ: what is that near to an invalidation is taken for older."""
_AT_ONCE, _BYTES = 64, 8 << 20
"""Entries that are asked about and stored at a time, and their bytes."""


class Standings(Protocol):
    """Says how it stands with entries (`store.standing.StandingShelf`)."""

    async def of(self, entry: Entry) -> Standing:
        """Say how it stands with an entry."""
        ...


class Target(Protocol):
    """Where entries go (`store.redis_store.RedisStore`). Every method may raise StoreError."""

    async def put(self, entry: Entry) -> bool:
        """Store an entry; False when the store refuses it."""
        ...

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        """Give an entry by id."""
        ...

    async def confirm(self, entry: Entry, user: str) -> bool:
        """Note that a user got this answer from the model."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """How an export is taken in.

    Attributes:
        tenant: whose its entries will be.
        keep_review: believe what it says of humans' verdicts and of who confirmed an answer.
        dry_run: change nothing.
        by: who imports, for the audit log.
        encoders: dimensions of the encoders in service; vectors of others are left away. None: not known, all are kept.
    """

    tenant: TenantId
    keep_review: bool = False
    dry_run: bool = False
    by: str = "cli"
    encoders: Mapping[EncoderId, int] | None = None


@dataclass(slots=True)
class Report:
    """What became of an export: entries taken in, how many of those lost their vector, and those passed over, by reason."""

    imported: int = 0
    verified: int = 0
    without_vector: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Doors:
    """What an import needs of the store; `erasures` is the journal of this machine."""

    target: Target
    standings: Standings
    verdicts: Verdicts
    clock: Clock
    erasures: tuple[Erasure, ...] = ()


def check_tenant(head: Head, tenant: TenantId) -> None:
    """Refuse the export of another tenant.

    Raises:
        ArchiveError: its name is another one.
    """
    if head.tenant != tenant:
        raise ArchiveError(
            f"this export was made of another tenant ({head.tenant[:100]!r}, not {tenant!r}). Namespaces and keys are digests over"
            " the tenant's name: under another one no request would ever find these entries. Import it under the name it"
            " was made of"
        )


async def import_entries(
    checked: Checked, doors: Doors, terms: Terms, told: Callable[[Report], None]
) -> Report:
    """Take an export in.

    Args:
        checked: the export.
        doors: the store.
        terms: how.
        told: hears of progress now and then.

    Raises:
        ArchiveError: another tenant's; the file changed since it was checked.
        StoreError: unreachable, late, read-only or full: what came before is in, and doing it again does the rest.
    """
    check_tenant(checked.head, terms.tenant)
    if not terms.dry_run:
        # First the line: nothing comes in without one.
        after = {
            "what": "entries",
            "sha256": checked.foot.sha256,
            "count": checked.foot.count,
            "keep_review": terms.keep_review,
        }
        await doors.verdicts.write(terms.tenant, Act(terms.by, doors.clock.now(), "import", after=after))
    report = Report()
    importer = _Importer(doors, terms, report)
    for batch in _batches(checked.bodies()):
        for outcome in await asyncio.gather(*map(importer.take, batch), return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
        told(report)
    return report


def _batches(bodies: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for body in bodies:
        batch.append(body)
        size += len(body)
        if len(batch) == _AT_ONCE or size > _BYTES:
            yield batch
            batch, size = [], 0
    yield batch


class _Importer:
    def __init__(self, doors: Doors, terms: Terms, report: Report) -> None:
        self._doors = doors
        self._terms = terms
        self._report = report
        mine = [one for one in doors.erasures if one.tenant == terms.tenant]
        self._erased = _latest((name, one.at) for one in mine for name in (one.subject, *one.authors))

    async def take(self, body: bytes) -> None:
        now = self._doors.clock.now()
        try:
            told = read_entry(body, self._terms.tenant, now)
            if not is_sound(told.completion):
                raise UnfitError("malformed")
            entry = await self._ready(told, now)
            if not self._terms.dry_run:
                await self._put(entry)
        except UnfitError as error:
            self._report.skipped[error.word] += 1
            return
        except StoreError as error:
            if error.kind not in ("invalid", "quota"):
                raise
            self._report.skipped[error.kind] += 1
            return
        self._report.imported += 1
        self._report.verified += entry.status.is_verified
        self._report.without_vector += told.embedding is not None and entry.embedding is None

    async def _ready(self, told: Entry, now: float) -> Entry:
        """Give an entry as it may come in.

        Raises:
            UnfitError: it may not.
        """
        if not told.is_fresh(now):
            raise UnfitError("expired")
        if (
            max(self._erased.get(name, 0.0) for name in (told.subject, told.author))
            >= told.created_at - _SKEW
        ):
            raise UnfitError("erased")
        entry = self._as_believed(told)
        standing = await self._doors.standings.of(entry)
        if standing.buried:
            raise UnfitError("deleted")
        if standing.raised and standing.raised >= entry.created_at - _SKEW:
            raise UnfitError("invalidated")
        if standing.version >= entry.version:
            raise UnfitError("present")
        await self._check_other(entry, standing)
        return replace(entry, epochs=standing.epochs)

    async def _check_other(self, entry: Entry, standing: Standing) -> None:
        if standing.other is None:
            return
        other = await self._doors.target.show(entry.tenant, standing.other)
        if other is None or not other.is_fresh(self._doors.clock.now()):
            return
        if other.status is not ReviewStatus.UNREVIEWED and not entry.status.is_verified:
            raise UnfitError("decided")
        if other.created_at >= entry.created_at:
            raise UnfitError("newer")

    def _as_believed(self, told: Entry) -> Entry:
        """Give an entry with what is believed of it."""
        known, vector = self._terms.encoders, told.embedding
        if vector is not None and known is not None and known.get(vector.encoder) != vector.vector.shape[0]:
            vector = None
        entry = replace(told, embedding=vector)
        if self._terms.keep_review:
            return entry
        if told.status is ReviewStatus.REJECTED:
            raise UnfitError("rejected")
        narrower = Review(least=told.review.least, only=told.review.only)
        return replace(entry, status=ReviewStatus.UNREVIEWED, review=narrower, confirmed=frozenset())

    async def _put(self, entry: Entry) -> None:
        for asked in sorted(entry.barred):
            act = Act(self._terms.by, self._doors.clock.now(), "bar", entry.id, after={"asked": asked})
            await self._doors.verdicts.bar(entry.tenant, entry.id, Pair(entry.key, asked), act)
        plain = replace(entry, barred=frozenset(), confirmed=frozenset())
        if not await self._doors.target.put(plain):
            # Something happened in the moment since it was asked how it stands.
            raise UnfitError("refused")
        for user in sorted(entry.confirmed):
            await self._doors.target.confirm(plain, user)


def _latest(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, at in pairs:
        if name:
            found[name] = max(at, found.get(name, 0.0))
    return found
