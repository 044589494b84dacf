"""What every store of evidence does, the one in Redis (on one server, on a cluster) and the fake alike."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from semcache.core import EntryId, ExactKey, TenantId
from semcache.errors import StoreError
from semcache.evidence_port import (
    Alarm,
    AuditBudget,
    Cell,
    EvidenceStore,
    Finding,
    Label,
    ServedHit,
    ServedHits,
    Source,
    Spending,
)
from semcache.review_rules import WHOLE
from semcache.store.embedded import ValkeyChild
from semcache.store.evidence import EvidenceRules
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules
from tests.fakes.evidence import FakeAuditBudget, FakeEvidence, FakeServedHits
from tests.store.servers import ACME, cluster, valkey

__all__ = ["cluster", "valkey"]

OTHER = TenantId("other {tenant}: \ud800 名")
DAY = 86_400.0
NOW = time.time()


@dataclass
class Subject:
    labels: EvidenceStore
    budget: AuditBudget
    hits: ServedHits


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def subject(
    request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[Subject]:
    if request.param == "fake":
        yield Subject(FakeEvidence(buckets=10, days=30, listed=5), FakeAuditBudget(), FakeServedHits())
        return
    url = valkey.url if request.param == "valkey" else cluster
    kept = EvidenceRules(buckets=10, days=30, listed=5)
    shelves = EvidenceShelves(url, LinkRules(deadline=5.0), uuid.uuid4().hex, kept)
    yield Subject(shelves.labels, shelves.budget, shelves.hits)
    await shelves.aclose()


def label(id: str = "a", **changes: object) -> Label:
    made = Label(id, ACME, "chat", Source.AUDIT, Finding.RIGHT, bin=7, bucket=100, at=NOW)
    return replace(made, **changes)  # type: ignore[arg-type] # a table of any fields


async def test_labels_are_counted_by_source_bucket_and_bin(subject: Subject) -> None:
    store = subject.labels
    assert await store.counts(ACME, "chat") == ()
    assert await store.add(label("a"))
    assert await store.add(label("b", finding=Finding.WRONG))
    assert await store.add(label("c", bin=8, source=Source.FEEDBACK, weight=0.25, finding=Finding.WRONG))
    assert await store.add(label("d", bucket=101, bin=-1))
    assert await store.counts(ACME, "chat") == (
        Cell(Source.AUDIT, 100, 7, 2.0, 1.0),
        Cell(Source.AUDIT, 101, -1, 1.0, 0.0),
        Cell(Source.FEEDBACK, 100, 8, 0.25, 0.25),
    )


async def test_a_note_keeps_whose_it_is(subject: Subject) -> None:
    made = [
        label("a", entry=EntryId("e"), note="wrong year", subject="ab" * 12),
        label("b", entry=EntryId("e"), note="\x1eodd"),
    ]
    for one in made:
        assert await subject.labels.add(one)
    assert await subject.labels.recent(ACME, 2) == made[::-1]


async def test_a_label_that_comes_again_counts_once(subject: Subject) -> None:
    store = subject.labels
    assert await store.add(label("a"))
    assert not await store.add(label("a"))
    assert not await store.add(label("a", finding=Finding.WRONG, bin=9))
    assert await store.add(label("a", tenant=OTHER))
    assert [(cell.n, cell.wrong) for cell in await store.counts(ACME, "chat")] == [(1.0, 0.0)]
    assert await store.tallies(ACME, "chat", 0) == {"audit-right": 1}


async def test_many_at_once_lose_nothing(subject: Subject) -> None:
    await asyncio.gather(*(subject.labels.add(label(f"{n % 30}")) for n in range(60)))
    assert [cell.n for cell in await subject.labels.counts(ACME, "chat")] == [30.0]


async def test_tenants_and_domains_do_not_mix(subject: Subject) -> None:
    store = subject.labels
    await store.add(label("a"))
    await store.add(label("b", tenant=OTHER, domain="other domain: \u540d"))
    assert len(await store.counts(ACME, "chat")) == 1
    assert await store.counts(ACME, "other domain: \u540d") == ()
    assert len(await store.counts(OTHER, "other domain: \u540d")) == 1
    assert await store.domains(ACME) == ("chat",)
    assert await store.domains(OTHER) == ("other domain: \u540d",)
    assert await store.tenants() == (ACME, OTHER)


async def test_the_undecided_and_the_scoreless_are_in_no_cell(subject: Subject) -> None:
    store = subject.labels
    assert await store.add(label("a", finding=Finding.UNDECIDED))
    assert await store.add(label("b", bin=None, finding=Finding.WRONG))
    assert await store.counts(ACME, "chat") == ()
    assert await store.tallies(ACME, "chat", 0) == {"audit-undecided": 1, "audit-wrong": 1}


async def test_old_buckets_fade(subject: Subject) -> None:
    store = subject.labels
    await store.add(label("a", bucket=100))
    await store.add(label("b", bucket=109))
    assert [cell.bucket for cell in await store.counts(ACME, "chat")] == [100, 109]
    await store.add(label("c", bucket=110))
    assert [cell.bucket for cell in await store.counts(ACME, "chat")] == [109, 110]
    assert not await store.add(label("d", bucket=100))
    assert await store.add(label("e", bucket=101))


async def test_labels_from_the_future_cannot_push_out_what_is_there(subject: Subject) -> None:
    assert not await subject.labels.add(label("a", at=NOW + 2 * DAY, bucket=10_000))
    assert await subject.labels.add(label("b"))
    assert [cell.bucket for cell in await subject.labels.counts(ACME, "chat")] == [100]


@pytest.mark.parametrize(
    "changes", [{"weight": 0.0}, {"weight": -1.0}, {"weight": float("nan")}, {"at": float("inf")}]
)
async def test_nonsense_is_refused(subject: Subject, changes: dict[str, float]) -> None:
    with pytest.raises(StoreError) as refused:
        await subject.labels.add(label(**changes))
    assert refused.value.kind == "invalid"


async def test_hits_as_such_are_cells_of_their_own(subject: Subject) -> None:
    store = subject.labels
    await store.see(ACME, "chat", NOW, {(100, 3): 5, (101, 4): 1})
    await store.see(ACME, "chat", NOW, {(101, 4): 2})
    await store.see(ACME, "chat", NOW, {})
    await store.add(label("a", bucket=101, bin=4))
    assert await store.counts(ACME, "chat") == (
        Cell(Source.AUDIT, 101, 4, 1.0, 0.0),
        Cell(Source.SEEN, 100, 3, 5.0, 0.0),
        Cell(Source.SEEN, 101, 4, 3.0, 0.0),
    )
    await store.see(ACME, "chat", NOW, {(90, 1): 7, (111, 1): 1})
    assert [cell.bucket for cell in await store.counts(ACME, "chat")] == [111]
    await store.see(ACME, "chat", NOW + 2 * DAY, {(500, 1): 7})
    await store.reset(ACME, "chat", NOW)
    await store.see(ACME, "chat", NOW, {(111, 1): 7})
    assert await store.counts(ACME, "chat") == ()
    assert await store.domains(ACME) == ("chat",)


async def test_a_reset_forgets_and_refuses_what_was_observed_before(subject: Subject) -> None:
    store = subject.labels
    await store.add(label("a"))
    await store.add(label("b", domain="legal"))
    await store.reset(ACME, "chat", NOW + 1)
    assert await store.counts(ACME, "chat") == ()
    assert len(await store.counts(ACME, "legal")) == 1
    assert not await store.add(label("c", at=NOW))
    assert await store.add(label("d", at=NOW + 2, bucket=5))
    await store.reset(ACME, "chat", NOW - 50)
    assert not await store.add(label("e", at=NOW))


async def test_the_newest_labels_are_listed_without_those_that_have_no_entry(subject: Subject) -> None:
    store = subject.labels
    full = label(
        "z",
        entry=EntryId("e-z"),
        request="req_1",
        score=0.91,
        similarity=0.97,
        reasons=("numbers", "names"),
        note="said so",
        finding=Finding.WRONG,
    )
    await store.add(label("none"))
    for n in range(6):
        await store.add(label(f"{n}", entry=EntryId(f"e{n}")))
    await store.add(full)
    listed = await store.recent(ACME, 10)
    assert listed[0] == full
    assert [item.entry for item in listed[1:]] == ["e5", "e4", "e3", "e2"]
    assert await store.recent(ACME, 1) == [full]
    assert await store.recent(ACME, 0) == []
    assert await store.recent(OTHER, 5) == []


async def test_entries_found_wrong_are_flagged(subject: Subject) -> None:
    store = subject.labels
    for n, finding in enumerate((Finding.WRONG, Finding.RIGHT, Finding.WRONG, Finding.UNDECIDED)):
        await store.add(label(f"{n}", entry=EntryId("bad"), finding=finding))
    await store.add(label("x", entry=EntryId("good")))
    assert await store.flags(ACME) == {"bad": 2}
    assert await store.flags(OTHER) == {}


async def test_tallies_are_summed_by_day_and_fade(subject: Subject) -> None:
    store = subject.labels
    await store.tally(ACME, "chat", NOW - 29 * DAY, {"exact": 4})
    await store.tally(ACME, "chat", NOW, {"exact": 2, "semantic": 1})
    await store.tally(ACME, "chat", NOW, {"exact": 1})
    await store.tally(ACME, "chat", NOW, {})
    assert await store.tallies(ACME, "chat", 0) == {"exact": 7, "semantic": 1}
    assert await store.tallies(ACME, "chat", NOW - DAY) == {"exact": 3, "semantic": 1}
    await store.tally(ACME, "chat", NOW + DAY, {"exact": 1})
    assert await store.tallies(ACME, "chat", 0) == {"exact": 4, "semantic": 1}


async def test_the_last_alarm(subject: Subject) -> None:
    store = subject.labels
    assert await store.alarm(ACME, "chat") is None
    await store.sound(ACME, "chat", Alarm(NOW, "drift"))
    await store.sound(ACME, "chat", Alarm(NOW + 5, "budget"))
    assert await store.alarm(ACME, "chat") == Alarm(NOW + 5, "budget")
    assert await store.tallies(ACME, "chat", 0) == {"alarms": 2}


async def test_a_days_allowance_is_shared_and_never_exceeded(subject: Subject) -> None:
    budget, most = subject.budget, Spending(100, 5)
    took = await asyncio.gather(*(budget.reserve(ACME, NOW, Spending(30, 1), most) for _ in range(8)))
    assert sum(took) == 3
    assert await budget.spent(ACME, NOW) == Spending(90, 3)
    assert await budget.reserve(ACME, NOW, Spending(0, 1), most)
    await budget.settle(ACME, NOW, -60)
    assert await budget.spent(ACME, NOW) == Spending(30, 4)
    assert await budget.reserve(ACME, NOW, Spending(30, 1), most)
    assert not await budget.reserve(ACME, NOW, Spending(1, 1), most)
    assert await budget.reserve(ACME, NOW + DAY, Spending(1, 1), most)
    assert await budget.reserve(OTHER, NOW, Spending(1, 1), most)
    await budget.settle(OTHER, NOW, -50)
    assert await budget.spent(OTHER, NOW) == Spending(0, 1)


async def test_events_are_limited_by_who(subject: Subject) -> None:
    budget = subject.budget
    assert [await budget.allows(ACME, "me", 2, 60) for _ in range(3)] == [True, True, False]
    assert await budget.allows(ACME, "you", 2, 60)
    assert await budget.allows(OTHER, "me", 2, 60)


def hit(request: str, entry: str = "e", **changes: object) -> ServedHit:
    made = ServedHit(request, EntryId(entry), "chat", "", exact=False, bin=3, at=NOW, score=0.5)
    return replace(made, **changes)  # type: ignore[arg-type] # a table of any fields


async def test_served_hits_are_found_by_request_and_by_entry(subject: Subject) -> None:
    hits = subject.hits
    first, second = hit("r1", subject="ab" * 12), hit("r2", at=NOW + 1, similarity=0.9)
    exact = hit("r3", "x", exact=True, bin=None, score=None, principal="digest")
    await hits.note(ACME, [first, second, exact])
    await hits.note(ACME, [])
    assert await hits.by_request(ACME, "r1") == first
    assert await hits.by_request(ACME, "r3") == exact
    assert await hits.by_entry(ACME, EntryId("e"), "") == second
    assert await hits.by_entry(ACME, EntryId("x"), "digest") == exact
    assert await hits.by_entry(ACME, EntryId("x"), "") is None
    assert await hits.by_entry(ACME, EntryId("x"), "other") is None
    assert await hits.by_request(ACME, "never") is None
    assert await hits.by_request(OTHER, "r1") is None
    assert await hits.by_entry(OTHER, EntryId("e"), "") is None


async def test_a_hit_says_which_pair_it_was_and_is_settled_once(subject: Subject) -> None:
    hits = subject.hits
    first, second = hit("r1", key=ExactKey("ab" * 32), asked="cd" * 12), hit("r2", asked=WHOLE, public=True)
    await hits.note(ACME, [first, second])
    for _ in range(2):
        await hits.settle(ACME, "r1")
    await hits.settle(ACME, "never")
    await hits.settle(OTHER, "r2")
    assert await hits.by_request(ACME, "r1") == replace(first, settled=True)
    assert await hits.by_request(ACME, "r2") == second
    assert await hits.by_request(ACME, "never") is None
