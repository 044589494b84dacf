"""Somebody is erased: from the store, from raw rows, from the server's own files; a journal and a receipt remain.

    journal, on disk            from here on no restore brings them back
    audit log: it begins
    store: tombstone, counter, entries and all beside them, announcement
    raw rows of this machine
    the server's files, written anew
    receipt; audit log: it ends, with the receipt's digest

Whatever moment it is killed at, doing it again does the rest: each step finds what is there. Knows no command line and no HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from semcache.archive import journal, receipts
from semcache.archive.errors import ArchiveError
from semcache.archive.journal import Erasure
from semcache.archive.receipts import Receipt
from semcache.core import TenantId
from semcache.cost.redacting import Redacted, redact
from semcache.embed.fingerprint import Partition, asker_digest, subject_digest
from semcache.errors import StoreError
from semcache.ports import Clock
from semcache.review_port import Act, Verdicts
from semcache.store.compaction import FileWriter
from semcache.store.erasure import ErasureShelf, Whom

LONGEST_NAME = 512
"""Characters of an end user's name."""
_ANNOUNCED = (
    "every process drops the entries from its near cache and its index within a second",
    "snapshots of the tenant's indexes are written anew",
    "heads of prompts that were to be computed beforehand are forgotten, and learned again",
)
_KEPT = (
    "digests: the tombstone, lines of the audit log, questions that a human barred (without them a refused answer could come back)",
    "money: rows and sums of costs stay, without the name",
)
_ELSEWHERE = (
    "data directories of other machines (raw rows, snapshots): run `semcache backup replay-erasures` there",
    "backups made before: `semcache backup restore` erases again before anything is served",
    "exports made before: they cannot be imported here; delete the files",
    "what upstreams keep: ask them",
    "tokens in the memory of an engine: they go with its next restart, or when their room is needed",
    "log lines that were written or shipped: they hold labels, never prompts",
    "questions asked of other users' entries under an earlier release: they fade 90 days after they were last met",
)


@dataclass(frozen=True, slots=True)
class Site:
    """Where things are: the data directory of this machine, the store's URL, and whether its server is ours."""

    data: Path
    url: str
    embedded: bool

    @property
    def journal(self) -> Path:
        """The file of the journal."""
        return self.data / journal.NAME


@dataclass(frozen=True, slots=True)
class Plan:
    """What an erasure would remove; `digest` changes with it."""

    whom: Whom
    found: dict[str, int]

    @property
    def digest(self) -> str:
        """What the real run repeats, to show that it is about the same."""
        told = "\n".join(
            [self.whom.subject, *(f"{name} {count}" for name, count in sorted(self.found.items()))]
        )
        return hashlib.sha256(told.encode()).hexdigest()[:32]


def _fresh_id() -> str:
    return secrets.token_hex(12)


class Eraser:
    """Erases end users of tenants.

    Args:
        site: where things are.
        shelf: what the store holds of somebody.
        verdicts: the audit log.
        clock: time.
        new_id: gives 24 fresh hex digits.
    """

    def __init__(
        self,
        site: Site,
        shelf: ErasureShelf,
        verdicts: Verdicts,
        clock: Clock,
        new_id: Callable[[], str] = _fresh_id,
    ) -> None:
        self.site = site
        self._shelf = shelf
        self._verdicts = verdicts
        self._clock = clock
        self._new_id = new_id

    async def plan(self, tenant: TenantId, name: str) -> Plan:
        """Say what would be removed, and change nothing.

        Raises:
            ArchiveError: no name.
            StoreError: unreachable or late.
            OSError: rows cannot be read.
        """
        whom = await self._whom(tenant, name)
        traces = await self._shelf.count(tenant, whom)
        rows = await self._rows(tenant, whom.subject, remove=False, name=name)
        return Plan(whom, asdict(traces) | {"rows": rows.rows})

    async def erase(self, tenant: TenantId, name: str, by: str, note: str = "") -> dict[str, Any]:
        """Erase somebody, and give the receipt as written.

        Args:
            tenant: whose end user.
            name: as callers name them (`user`, `Semcache-User`).
            by: who has it done.
            note: what they add; no name, please.

        Raises:
            ArchiveError: no name, or the journal is damaged: nothing was done.
            StoreError: unreachable, late or read-only: what is not done is done by doing it again.
            OSError: a file cannot be written, likewise.
        """
        whom, begun = await self._whom(tenant, name), self._clock.now()
        erasure = Erasure(begun, tenant, whom.subject, tuple(sorted(whom.authors)), f"er_{self._new_id()}")
        digest = await asyncio.to_thread(journal.append, self.site.journal, erasure)
        named = {"subject": whom.subject, "receipt": erasure.receipt}
        await self._verdicts.write(tenant, Act(by, begun, "erase", after=named, note=note))
        removed, unreached = await self._removed(erasure, name)
        done = Receipt(
            id=erasure.receipt,
            tenant=tenant,
            subject=whom.subject,
            by=by,
            note=note,
            begun=begun,
            done=self._clock.now(),
            removed=removed,
            announced=_ANNOUNCED,
            kept=_KEPT,
            unreached=(*unreached, *_ELSEWHERE),
            journal=digest,
        )
        after = named | {"digest": done.digest, "removed": sum(removed.values())}
        line = await self._verdicts.write(tenant, Act(by, done.done, "erased", after=after))
        told = {"number": line.number, "digest": line.digest}
        return await asyncio.to_thread(receipts.write, self.site.data, done, told)

    def receipt(self, id: str) -> dict[str, Any]:
        """Give a receipt by its id.

        Raises:
            ArchiveError: there is none, or it was changed since.
            OSError: it cannot be read.
        """
        return receipts.read(self.site.data, id)

    async def tenants(self) -> list[TenantId]:
        """Name the tenants of whom somebody was erased, as far as the store knows.

        Raises:
            StoreError: unreachable or late.
        """
        return await self._shelf.tenants()

    async def known(self, tenant: TenantId) -> list[Erasure]:
        """Give the erasures that the store itself knows of.

        Raises:
            StoreError: unreachable or late.
        """
        told = await self._shelf.erased(tenant)
        return [Erasure(at, tenant, who, tuple(sorted(authors)), "") for who, (at, authors) in told.items()]

    async def replay(self, erasures: Sequence[Erasure]) -> dict[str, int]:
        """Do again what journals say; gives what was removed. Also those that this store knows of itself.

        Raises:
            StoreError, OSError: as `erase`.
        """
        tenants = sorted({one.tenant for one in erasures})
        known = [erasures, *[await self.known(TenantId(tenant)) for tenant in tenants]]
        removed: dict[str, int] = {}
        for erasure in journal.merged(known):
            counts, _ = await self._removed(erasure, rewrite=False)
            for place, count in counts.items():
                removed[place] = removed.get(place, 0) + count
        if sum(removed.values()):
            await self._rewritten()
        return removed

    # -- steps ------------------------------------------------------------------------------

    async def _whom(self, tenant: TenantId, name: str) -> Whom:
        if not name.strip() or len(name) > LONGEST_NAME:
            raise ArchiveError(f"name an end user, in at most {LONGEST_NAME} characters")
        owners = await self._shelf.principals(tenant)
        authors = {
            asker_digest(Partition(tenant, "", owner, "", ""), name)
            for principal in owners
            for owner in (principal, f"{principal}\x00{name}")
        }
        return Whom(subject_digest(tenant, name), frozenset(authors))

    async def _removed(
        self, erasure: Erasure, name: str = "", *, rewrite: bool = True
    ) -> tuple[dict[str, int], list[str]]:
        tenant, whom = TenantId(erasure.tenant), Whom(erasure.subject, frozenset(erasure.authors))
        traces = await self._shelf.erase(tenant, whom, erasure.at)
        rows = await self._rows(tenant, whom.subject, remove=True, name=name)
        left = [f"raw rows in {one}: see why, and erase again" for one in rows.left]
        if rewrite:
            left += await self._rewritten()
        return asdict(traces) | {"rows": rows.rows}, left

    async def _rows(self, tenant: TenantId, subject: str, *, remove: bool, name: str) -> Redacted:
        def is_name(text: str) -> bool:
            return subject_digest(tenant, text) == subject

        work = partial(redact, self.site.data / "ledger", tenant, is_name, remove=remove, name=name)
        return await asyncio.to_thread(work)

    async def _rewritten(self) -> list[str]:
        """Have the server's files written anew; gives what could not be."""
        left = [
            f"{folder}: a damaged file that the store moved aside; delete it once nobody wants to look into it"
            for folder in sorted((self.site.data / "valkey").glob("unreadable-*"))
        ]
        if self.site.embedded:
            await self._write_anew()
            return left
        left.append("snapshots and replicas of your Redis: their own tools write them anew")
        try:
            await self._write_anew()
        except StoreError as error:
            left.append(f"the append-only file of your Redis ({error}): have it rewritten (BGREWRITEAOF)")
        return left

    async def _write_anew(self) -> None:
        writer = FileWriter(self.site.url)
        try:
            await writer.rewrite()
        finally:
            await writer.aclose()
        if self.site.embedded:
            # What a backup or a server that were killed left behind; nobody reads it again.
            await asyncio.to_thread(_cleared, self.site.data / "valkey")


def _cleared(home: Path) -> None:
    for path in [home / "dump.rdb", *home.glob("temp-*")]:
        path.unlink(missing_ok=True)
