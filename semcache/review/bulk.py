"""One verdict about many entries, and invalidations: first a dry run, then the same again for real.

The dry run says how many a filter finds and gives a digest of exactly these entries in these versions; the real run
repeats both and is refused when it would reach anything else. It goes entry by entry, each of them one whole
write, says what became of each, and may be broken off after any.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

from semcache.core import EntryId, TenantId
from semcache.errors import StoreError
from semcache.ports import Selector
from semcache.review import searching
from semcache.review.access import Reviewer, Role
from semcache.review.problems import (
    ConflictError,
    NotThereError,
    ReviewError,
    SelectionChangedError,
    UnfitError,
)
from semcache.review.service import ReviewService
from semcache.review.verdicts import Approve, Bar, Narrow, Purge, Raise, Reject, Reopen, Verdict, role_for
from semcache.review.views import BulkStep, Filter, Selection
from semcache.review_port import Line
from semcache.review_rules import WHOLE

_SAMPLE = 10
_LOOKED = 50_000
_ALLOWED = (Approve, Reject, Reopen, Narrow, Raise, Purge)


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be invalidated: all given must match; `everything` stands alone."""

    ids: tuple[EntryId, ...] = ()
    tag: str = ""
    namespace: str = ""
    model: str = ""
    everything: bool = False

    def selector(self, tenant: TenantId) -> Selector:
        """Give it as the store takes it.

        Raises:
            UnfitError: it names nothing, or everything and something.
        """
        named = bool(self.ids or self.tag or self.namespace or self.model)
        if named == self.everything:
            raise UnfitError("bad-target", "Name ids, tag, namespace or model; or everything, alone.")
        return Selector(tenant, self.ids, self.tag, self.namespace, self.model)


@dataclass(frozen=True, slots=True)
class Invalidated:
    """How many entries went, and the line in the log; in a dry run how many would (`line` None)."""

    count: int
    is_whole: bool
    line: Line | None


class Bulk:
    """Verdicts about many entries.

    Args:
        service: settles each of them.
    """

    def __init__(self, service: ReviewService) -> None:
        self._service = service

    async def select(self, who: Reviewer, tenant: TenantId, wanted: Filter, verdict: Verdict) -> Selection:
        """Say what a verdict would reach, and change nothing."""
        chosen, found = await self._chosen(who, tenant, wanted, verdict)
        return _selection(chosen, *found)

    async def run(
        self, who: Reviewer, tenant: TenantId, wanted: Filter, verdict: Verdict, digest: str, note: str = ""
    ) -> AsyncGenerator[BulkStep, None]:
        """Settle what the dry run selected; the result is to be gone through, and closed to break off.

        Raises:
            SelectionChangedError: the filter finds other entries, or other versions; nothing was done.
        """
        if wanted.before is None:
            raise UnfitError("bad-filter", "Repeat 'before' as the dry run gave it.", "before")
        chosen, found = await self._chosen(who, tenant, wanted, verdict)
        selection = _selection(chosen, *found)
        if digest != selection.digest:
            raise SelectionChangedError(selection.digest)
        return self._steps(who, found[0], verdict, note)

    async def _steps(
        self, who: Reviewer, entries: list[tuple[EntryId, int, TenantId]], verdict: Verdict, note: str
    ) -> AsyncGenerator[BulkStep, None]:
        for name, version, tenant in entries:
            yield await self._one(who, tenant, name, version, verdict, note)

    async def _one(
        self, who: Reviewer, tenant: TenantId, id: EntryId, version: int, verdict: Verdict, note: str
    ) -> BulkStep:
        try:
            entry = await self._service.entry(who, tenant, id)
            if entry.version != version:
                return BulkStep(id, "stale")
            await self._service.settle_present(who, entry, verdict, note)
        except NotThereError:
            return BulkStep(id, "gone")
        except ConflictError:
            return BulkStep(id, "stale")
        except ReviewError as error:
            return BulkStep(id, "unfit", error.code)
        except StoreError as error:
            return BulkStep(id, "failed", error.kind)
        return BulkStep(id, "done")

    async def _chosen(
        self, who: Reviewer, tenant: TenantId, wanted: Filter, verdict: Verdict
    ) -> tuple[Filter, tuple[list[tuple[EntryId, int, TenantId]], bool]]:
        self._service.allow(who, tenant, role_for(verdict))
        if not isinstance(verdict, _ALLOWED) and verdict != Bar(WHOLE):
            raise UnfitError("bad-verdict", "This verdict is about one entry.", "verdict")
        wanted = searching.checked(wanted)
        if wanted.before is None:
            wanted = replace(wanted, before=self._service.clock.now())
        most, looked = self._service.rules.bulk, 0
        found: list[tuple[EntryId, int, TenantId]] = []
        cursor = ""
        while True:
            shelves, room = self._service.shelf.entries, most - len(found)
            page = await searching.find(shelves, tenant, wanted, cursor, room, self._service.rules.looked)
            found += [(entry.id, entry.version, tenant) for entry in page.entries]
            cursor, looked = page.cursor, looked + self._service.rules.looked
            if not cursor or len(found) >= most or looked >= _LOOKED:
                return wanted, (found, not cursor)

    # -- invalidation -------------------------------------------------------------------

    async def count(self, who: Reviewer, tenant: TenantId, target: Target) -> Invalidated:
        """Say how many entries an invalidation would reach, and change nothing."""
        self._service.allow(who, tenant, Role.OPERATOR)
        selector = target.selector(tenant)
        if target.everything:
            return Invalidated((await self._service.shelf.entries.counts(tenant)).entries, True, None)
        count, looked, cursor = 0, 0, ""
        while True:
            page = await self._service.shelf.entries.list_entries(selector, cursor, 500)
            count, looked, cursor = count + len(page.entries), looked + 500, page.cursor
            if not cursor or looked >= _LOOKED:
                return Invalidated(count, not cursor, None)

    async def invalidate(self, who: Reviewer, tenant: TenantId, target: Target, note: str) -> Invalidated:
        """Invalidate, durably and everywhere. The line is written first: nothing goes without one."""
        self._service.allow(who, tenant, Role.OPERATOR)
        selector = target.selector(tenant)
        after = {
            "ids": len(target.ids),
            "tag": target.tag,
            "namespace": target.namespace,
            "model": target.model,
            "everything": target.everything,
        }
        named = {name: value for name, value in after.items() if value}
        line = await self._service.write_down(who, tenant, "invalidate", named, note)
        return Invalidated(await self._service.shelf.entries.delete(selector), True, line)


def _selection(wanted: Filter, found: list[tuple[EntryId, int, TenantId]], is_whole: bool) -> Selection:
    digest = hashlib.sha256()
    for name, version, _ in sorted(found):
        digest.update(f"{len(name)}:{name}:{version}\n".encode())
    sample = tuple(name for name, _, _ in found[:_SAMPLE])
    return Selection(len(found), digest.hexdigest()[:32], wanted.before or 0.0, is_whole, sample)
