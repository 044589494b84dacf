"""Requests and drafts in the shared tallies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcache.auditing.books import Books
from semcache.auditing.tallying import Tallying
from semcache.core import DraftRecord, Outcome, RequestRecord, TenantId
from tests.fakes.evidence import FakeEvidence, FakeServedHits

ACME = TenantId("acme")
RECORD = RequestRecord(
    "r", 1_000_000.0, "acme", "chat", "chat", "m", False, Outcome.MISS, "empty", 200, 0.1, 0.0
)


class Kept:
    def __init__(self) -> None:
        self.records: list[RequestRecord] = []

    def emit(self, record: RequestRecord) -> None:
        self.records.append(record)


async def tallied(*records: RequestRecord) -> dict[str, int]:
    evidence, sink = FakeEvidence(), Kept()
    books = Books(evidence, FakeServedHits())
    tallying = Tallying(sink, books)
    for record in records:
        tallying.emit(record)
    assert sink.records == list(records)
    await books.flush(RECORD.at)
    return dict(await evidence.tallies(ACME, "chat", 0.0))


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_hits_are_counted_elsewhere_and_all_else_here(outcome: Outcome) -> None:
    hit = outcome in (Outcome.EXACT, Outcome.SEMANTIC)
    assert await tallied(replace(RECORD, outcome=outcome)) == ({} if hit else {outcome.value: 1})


async def test_a_draft_is_counted_once_however_many_share_it() -> None:
    drafted = replace(RECORD, outcome=Outcome.DRAFT, draft=DraftRecord("revise", "edited"))
    failed = replace(RECORD, draft=DraftRecord("revise", "failed-gate"))
    found = await tallied(drafted, replace(drafted, collapsed=True), failed)
    assert found == {"draft": 2, "miss": 1, "drafted-edited": 1, "drafted-failed-gate": 1}


async def test_nobody_s_requests_are_counted_for_nobody() -> None:
    assert await tallied(replace(RECORD, tenant=""), replace(RECORD, domain="")) == {}
