"""Requests are counted by what became of them, and drafts by what they came to: tallies that all replicas share.

Hits are counted where they are decided (`auditor`), so only the others are here. Passes every record on. Never blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.auditing.books import Books
from semcache.core import Outcome, RequestRecord, TenantId
from semcache.ports import RecordSink

DRAFTED = "drafted-"
"""Begins the words of drafts by result (`core.DraftRecord.result`)."""
_COUNTED = frozenset((Outcome.DRAFT, Outcome.MISS, Outcome.BYPASS, Outcome.ERROR))


@dataclass(frozen=True, slots=True)
class Tallying:
    """A `RecordSink` before another one.

    Args:
        sink: gets every record.
        books: counts on their way to the shared tallies.
    """

    sink: RecordSink
    books: Books

    def emit(self, record: RequestRecord) -> None:
        """Count a record and pass it on."""
        self.sink.emit(record)
        if not (record.tenant and record.domain):
            return
        tenant = TenantId(record.tenant)
        if record.outcome in _COUNTED:
            self.books.count(tenant, record.domain, record.outcome.value)
        if record.draft is not None and not record.collapsed:
            self.books.count(tenant, record.domain, DRAFTED + record.draft.result)
