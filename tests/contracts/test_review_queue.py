"""What every review queue does, the one in Redis (on one server, on a cluster) and the fake alike."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from semcache.core import EntryId, TenantId
from semcache.errors import StoreError
from semcache.evidence_port import Finding, Label, Source
from semcache.review_port import Agreement, Decided, Opinion, Question, Sighting, Waiting
from semcache.store.cluster import ClusterLink, open_link
from semcache.store.embedded import ValkeyChild
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.keys import Keys
from semcache.store.link import Link, LinkRules
from semcache.store.queue import QueueRules, RedisReviewQueue, ReviewShelves
from tests.fakes.review_queue import FakeReviewQueue
from tests.store.servers import ACME, cluster, valkey

__all__ = ["cluster", "valkey"]

OTHER = TenantId("other {tenant}: \ud800 名")
NOW = time.time()
E1, E2, E3 = EntryId("e1"), EntryId("e2 名"), EntryId("e3")
LINK = LinkRules(deadline=5.0)


@dataclass
class Subject:
    """A queue, and hands on the store and the evidence beside it."""

    queue: RedisReviewQueue | FakeReviewQueue
    store: Callable[[TenantId, EntryId], Awaitable[None]]
    erase: Callable[[TenantId, EntryId], Awaitable[None]]
    label: Callable[[TenantId, str, bool], Awaitable[None]]
    keys: Callable[[TenantId], Awaitable[list[bytes]]]


@dataclass
class _Beside:
    """The store of the fake."""

    held: set[tuple[TenantId, EntryId]] = field(default_factory=set)

    def subject(self) -> Subject:
        queue = FakeReviewQueue(
            most=20, kept_questions=5, kept_decisions=6, exists=lambda *pair: pair in self.held
        )

        async def store(tenant: TenantId, id: EntryId) -> None:
            self.held.add((tenant, id))

        async def erase(tenant: TenantId, id: EntryId) -> None:
            self.held.discard((tenant, id))

        async def label(tenant: TenantId, request: str, wrong: bool) -> None:
            queue.wrong[tenant, request] = wrong

        async def keys(tenant: TenantId) -> list[bytes]:
            return [entry.encode() for entry in queue.known[tenant]]

        return Subject(queue, store, erase, label, keys)


def real_subject(url: str, prefix: str) -> tuple[Subject, list[Any]]:
    kept = QueueRules(most=20, questions=5, decisions=6)
    shelves = ReviewShelves(url, LINK, prefix, kept)
    evidence = EvidenceShelves(url, LINK, prefix)
    link: Link | ClusterLink = open_link(url, LINK)
    names = Keys(prefix)

    async def store(tenant: TenantId, id: EntryId) -> None:
        await link.call("SET", names.base(tenant) + b"e:" + id.encode(), "value")

    async def erase(tenant: TenantId, id: EntryId) -> None:
        await link.call("DEL", names.base(tenant) + b"e:" + id.encode())

    async def label(tenant: TenantId, request: str, wrong: bool) -> None:
        finding = Finding.WRONG if wrong else Finding.RIGHT
        await evidence.labels.add(
            Label(
                f"audit:{request}:{wrong}",
                tenant,
                "chat",
                Source.AUDIT,
                finding,
                5,
                100,
                NOW,
                entry=E1,
                request=request,
            )
        )

    async def keys(tenant: TenantId) -> list[bytes]:
        found = []
        for entry in (E1, E2, E3):
            for kind in (b"rw:", b"ra:"):
                name = names.base(tenant) + kind + entry.encode()
                if await link.call("EXISTS", name):
                    found.append(name)
        return found

    return Subject(shelves.queue, store, erase, label, keys), [shelves, evidence, link]


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def subject(
    request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[Subject]:
    if request.param == "fake":
        made, to_close = _Beside().subject(), list[Any]()
    else:
        url = valkey.url if request.param == "valkey" else cluster
        made, to_close = real_subject(url, uuid.uuid4().hex)
    for tenant in (ACME, OTHER):
        for entry in (E1, E2, E3):
            await made.store(tenant, entry)
    yield made
    for one in to_close:
        await one.aclose()


def sighting(entry: EntryId = E1, **changes: object) -> Sighting:
    made = Sighting(
        entry,
        "aa",
        "what is 名\ud800?",
        NOW,
        "chat",
        "semantic",
        1.0,
        ("gate",),
        0.96,
        0.9,
        "somebody",
        "ab" * 12,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # a table of any fields


def opinion(fit: float, **changes: object) -> Opinion:
    return replace(Opinion(E1, "aa", "judge", fit, NOW), **changes)  # type: ignore[arg-type] # likewise


async def order(subject: Subject, **options: Any) -> list[EntryId]:
    return [row.entry for row in (await subject.queue.waiting(ACME, **options)).waiting]


async def weight(subject: Subject, id: EntryId = E1) -> float | None:
    place = await subject.queue.waits(ACME, id)
    return None if place is None else place.weight


async def test_weight_is_risk_times_traffic(subject: Subject) -> None:
    queue = subject.queue
    assert (await queue.waiting(ACME)).waiting == ()
    await queue.sight(ACME, [])
    await queue.sight(
        ACME, [sighting(), sighting(E2, risk=2.5), sighting(at=NOW + 1, reasons=("gate", "audit"))]
    )
    await queue.sight(ACME, [sighting(asked="bb", risk=0.0, reasons=("sample",), at=NOW - 5, domain="docs")])
    place = Waiting(E1, 2.0, "docs", {"gate": 2, "audit": 1}, 3, NOW + 1)
    page = await queue.waiting(ACME)
    assert page.waiting == (Waiting(E2, 2.5, "chat", {"gate": 1}, 1, NOW), place)
    assert page.cursor == ""
    assert (await queue.size(ACME), await queue.size(OTHER)) == (2, 0)
    assert await queue.waits(ACME, E1) == place
    assert await queue.waits(ACME, E3) is None


async def test_without_risk_it_is_only_counted(subject: Subject) -> None:
    queue = subject.queue
    await queue.sight(ACME, [sighting(risk=0.0, reasons=(), similarity=None, score=None)] * 2)
    assert (await queue.waiting(ACME)).waiting == ()
    assert await queue.waits(ACME, E1) is None
    text = "what is 名?" if isinstance(subject.queue, RedisReviewQueue) else None
    [question] = await queue.questions(ACME, E1)
    assert text is None or question.text.startswith("what is 名")
    assert (question.times, question.similarity, question.score) == (2, None, None)


async def test_questions_are_counted_and_bounded(subject: Subject) -> None:
    queue = subject.queue
    await queue.sight(ACME, [sighting(question="first?")])
    await queue.sight(ACME, [sighting(question="later?", at=NOW + 9, outcome="draft", score=None)])
    await queue.sight(ACME, [sighting(question="late news", at=NOW + 4)])
    assert await queue.questions(ACME, E1) == [
        Question("aa", "later?", 3, NOW, NOW + 9, "draft", ("gate",), 0.96, None)
    ]
    await queue.sight(ACME, [sighting(asked=f"q{n}", at=NOW + 20 + n) for n in range(12)])
    assert [q.asked for q in await queue.questions(ACME, E1)] == ["q11", "q10", "q9", "q8", "q7"]
    await queue.sight(ACME, [sighting(asked="long", question="x" * 5000, at=NOW + 99)])
    assert len((await queue.questions(ACME, E1))[0].text) == 1000
    assert await queue.questions(ACME, E2) == []


@pytest.mark.parametrize("late", [-5.0, 5.0])
async def test_who_knows_no_text_takes_none_away(subject: Subject, late: float) -> None:
    queue = subject.queue
    await queue.sight(
        ACME, [sighting(question="what?"), sighting(question="", at=NOW + late, reasons=("complaint",))]
    )
    await queue.sight(ACME, [sighting(E2, question=""), sighting(E2, question="what?", at=NOW + late)])
    for entry in (E1, E2):
        [question] = await queue.questions(ACME, entry)
        assert (question.text, question.times, question.last_at) == ("what?", 2, max(NOW, NOW + late))


async def test_tenants_do_not_mix(subject: Subject) -> None:
    queue = subject.queue
    await queue.sight(OTHER, [sighting()])
    await queue.opine(OTHER, opinion(0.0))
    await queue.settled(OTHER, E1, False)
    await queue.keep(OTHER, "chat", [Decided(NOW, 0.9, None, "semantic")])
    assert await order(subject) == []
    assert await queue.questions(ACME, E1) == []
    assert await queue.opinions(ACME, E1) == []
    assert await queue.agreement(ACME) == {}
    assert await queue.decisions(ACME, "chat") == []
    assert len((await queue.waiting(OTHER)).waiting) == 1


@pytest.mark.parametrize(
    "changes", [{"risk": -1.0}, {"risk": float("nan")}, {"risk": float("inf")}, {"at": float("nan")}]
)
async def test_nonsense_is_refused_whole(subject: Subject, changes: dict[str, Any]) -> None:
    with pytest.raises(StoreError) as refused:
        await subject.queue.sight(ACME, [sighting(), sighting(**changes)])
    assert refused.value.kind == "invalid"
    assert await order(subject) == []


async def test_entries_that_are_gone_are_left_out_and_forgotten(subject: Subject) -> None:
    queue = subject.queue
    await queue.sight(ACME, [sighting(), sighting(E2, risk=3.0), sighting(E3, risk=2.0)])
    await subject.erase(ACME, E2)
    assert await order(subject) == [E3, E1]
    await subject.store(ACME, E2)
    assert await queue.questions(ACME, E2) == []
    assert await queue.waits(ACME, E2) is None


async def test_nothing_is_kept_of_what_is_gone_already(subject: Subject) -> None:
    await subject.erase(ACME, E1)
    await subject.queue.sight(ACME, [sighting(), sighting(E2)])
    await subject.queue.opine(ACME, opinion(0.5))
    assert await subject.queue.questions(ACME, E1) == []
    assert await subject.queue.opinions(ACME, E1) == []
    assert await order(subject) == [E2]


async def test_forgetting_leaves_nothing_of_a_question(subject: Subject) -> None:
    queue = subject.queue
    await queue.sight(ACME, [sighting(), sighting(E2), sighting(E3, risk=0.0)])
    await queue.opine(ACME, opinion(0.9))
    await queue.forget(ACME, [])
    await queue.forget(ACME, [E1, EntryId("never was")])
    assert await order(subject) == [E2]
    assert not any(name.endswith(b"e1") for name in await subject.keys(ACME))
    await queue.settled(ACME, E1, True)
    assert await queue.agreement(ACME) == {"judge": Agreement(both=1)}
    await subject.erase(ACME, E3)
    assert await queue.sweep(ACME) == 1
    assert await queue.sweep(ACME) == 0
    assert not any(name.endswith(b"e3") for name in await subject.keys(ACME))
    assert await order(subject) == [E2]


async def test_the_dismissed_come_back_from_nothing(subject: Subject) -> None:
    queue = subject.queue
    await queue.sight(ACME, [sighting(risk=9.0, reasons=("complaint",)), sighting(E2)])
    await queue.dismiss(ACME, [])
    await queue.dismiss(ACME, [E1, E3])
    assert await order(subject) == [E2]
    await queue.sight(ACME, [sighting(risk=0.0)])
    assert await queue.waits(ACME, E1) is None
    await queue.sight(ACME, [sighting(risk=0.5)])
    place = await queue.waits(ACME, E1)
    assert place is not None
    assert (place.weight, place.reasons, place.sightings) == (0.5, {"gate": 1}, 3)
    # What was counted before does not bear on what an opinion moves now.
    await queue.opine(ACME, opinion(1.0))
    assert await weight(subject) == pytest.approx(0.125)


async def test_the_lightest_go_when_there_are_too_many(subject: Subject) -> None:
    ids = [EntryId(f"n{number:02}") for number in range(30)]
    for entry in ids:
        await subject.store(ACME, entry)
    await subject.queue.sight(ACME, [sighting(entry, risk=1.0 + n) for n, entry in enumerate(ids)])
    assert await order(subject, limit=99) == ids[:9:-1]


async def test_pages_are_filtered(subject: Subject) -> None:
    ids = [EntryId(f"n{number:02}") for number in range(18)]
    for entry in ids:
        await subject.store(ACME, entry)
    await subject.queue.sight(
        ACME,
        [
            sighting(
                entry,
                risk=1.0 + n,
                domain="docs" if n % 3 else "chat",
                reasons=("audit",) if n % 2 else ("gate", "sample"),
            )
            for n, entry in enumerate(ids)
        ],
    )
    assert await order(subject, domain="chat") == [ids[n] for n in (15, 12, 9, 6, 3, 0)]
    assert await order(subject, reason="sample") == [ids[n] for n in range(16, -1, -2)]
    assert await order(subject, domain="chat", reason="audit", limit=2) == [ids[15], ids[9]]
    assert await order(subject, domain="none") == []
    assert await order(subject, reason="n") == []
    first = await subject.queue.waiting(ACME, limit=2, domain="chat", reason="audit")
    second = await subject.queue.waiting(ACME, first.cursor, 2, domain="chat", reason="audit")
    assert [row.entry for row in second.waiting] == [ids[3]]


async def test_nothing_is_skipped_or_repeated_while_weights_change(subject: Subject) -> None:
    ids = [EntryId(f"n{number:02}") for number in range(20)]
    for entry in ids:
        await subject.store(ACME, entry)
    await subject.queue.sight(ACME, [sighting(entry, risk=1.0) for entry in ids])
    found: list[EntryId] = []
    cursor = ""
    for turn in range(99):
        page = await subject.queue.waiting(ACME, cursor, 3)
        found += [row.entry for row in page.waiting]
        cursor = page.cursor
        if not cursor:
            break
        # The heaviest of the page sinks, the lightest of all rises above it.
        await subject.queue.opine(ACME, opinion(1.0, entry=page.waiting[0].entry))
        await subject.queue.sight(ACME, [sighting(ids[turn % 20], risk=50.0 + turn)])
    assert sorted(found) == ids
    assert len(found) == 20


async def test_who_leaves_while_somebody_pages_is_left_out(subject: Subject) -> None:
    await subject.queue.sight(ACME, [sighting(), sighting(E2, risk=3.0), sighting(E3, risk=2.0)])
    page = await subject.queue.waiting(ACME, limit=1)
    await subject.queue.dismiss(ACME, [E2, E3])
    assert [row.entry for row in page.waiting] == [E2]
    assert [row.entry for row in (await subject.queue.waiting(ACME, page.cursor, 1)).waiting] == [E1]


@pytest.mark.parametrize("cursor", ["x", "AAAA", "\ud800", "a" * 5000, "0.x", "!!", "MR8xHw"])
async def test_cursors_that_are_none_are_refused(subject: Subject, cursor: str) -> None:
    with pytest.raises(StoreError) as refused:
        await subject.queue.waiting(ACME, cursor)
    assert refused.value.kind == "invalid"


@pytest.mark.parametrize(("fit", "factor"), [(0.0, 2.0), (0.5, 1.0), (0.75, 0.5), (1.0, 0.25)])
async def test_an_opinion_weighs_its_own_question(subject: Subject, fit: float, factor: float) -> None:
    queue = subject.queue
    await queue.sight(ACME, [sighting(risk=4.0), sighting(asked="bb", risk=1.0)])
    for _ in range(3):
        await queue.opine(ACME, opinion(fit))
        assert await weight(subject) == pytest.approx(4 * factor + 1)
    await queue.sight(ACME, [sighting(risk=2.0)])
    assert await weight(subject) == pytest.approx(6 * factor + 1)


async def test_opinions_before_and_after_their_sightings_weigh_the_same(subject: Subject) -> None:
    queue = subject.queue
    said = [opinion(0.1), opinion(0.4, model="other judge: 名"), opinion(0.9, asked="bb")]
    for one in said:
        await queue.opine(ACME, one)
    assert await weight(subject) is None
    await queue.sight(ACME, [sighting(risk=4.0), sighting(asked="bb"), sighting(asked="cc")])
    assert await weight(subject) == pytest.approx(4 * 1.5 + 0.25 + 1)
    await queue.sight(ACME, [sighting(E2, risk=4.0), sighting(E2, asked="bb"), sighting(E2, asked="cc")])
    for one in reversed(said):
        await queue.opine(ACME, replace(one, entry=E2))
    assert await weight(subject, E2) == pytest.approx(4 * 1.5 + 0.25 + 1)


async def test_opinions_are_listed_and_the_newest_of_a_judge_counts(subject: Subject) -> None:
    queue = subject.queue
    await queue.sight(ACME, [sighting()])
    await queue.opine(ACME, opinion(0.9, at=NOW + 5))
    await queue.opine(ACME, opinion(0.0, at=NOW))
    await queue.opine(ACME, opinion(0.2, model="other judge: 名", at=NOW + 9))
    assert await queue.opinions(ACME, E1) == [
        opinion(0.2, model="other judge: 名", at=NOW + 9),
        opinion(0.9, at=NOW + 5),
    ]
    assert await weight(subject) == pytest.approx(2 * (1 - 0.55))
    await queue.opine(ACME, opinion(0.0, at=NOW + 10))
    assert await weight(subject) == pytest.approx(2 * (1 - 0.1))


@pytest.mark.parametrize("fit", [-0.1, 1.1, float("nan")])
async def test_a_fit_that_is_none_is_refused(subject: Subject, fit: float) -> None:
    with pytest.raises(StoreError) as refused:
        await subject.queue.opine(ACME, opinion(fit))
    assert refused.value.kind == "invalid"


async def test_agreement_counts_an_entry_once(subject: Subject) -> None:
    queue = subject.queue
    await queue.opine(ACME, opinion(0.9))
    await queue.opine(ACME, opinion(0.2, asked="bb"))
    await queue.opine(ACME, opinion(0.1, model="other"))
    await queue.opine(ACME, opinion(0.1, entry=E2))
    await queue.settled(ACME, E3, True)
    assert await queue.agreement(ACME) == {}
    for _ in range(2):
        await queue.settled(ACME, E1, True)
    assert await queue.agreement(ACME) == {"judge": Agreement(both=1), "other": Agreement(only_human=1)}
    await queue.settled(ACME, E2, False)
    await queue.settled(ACME, E1, False)
    assert await queue.agreement(ACME) == {
        "judge": Agreement(only_judge=1, neither=1),
        "other": Agreement(neither=1),
    }


async def test_decisions_are_kept_newest_first_with_what_labels_say(subject: Subject) -> None:
    queue = subject.queue
    rows = [Decided(NOW + n, 0.9 + n / 100, None if n % 2 else 0.5, "semantic", f"req_{n}") for n in range(8)]
    await queue.keep(ACME, "chat", [])
    await queue.keep(ACME, "chat", rows[:3])
    await queue.keep(ACME, "chat", rows[3:])
    await queue.keep(ACME, "docs", [replace(rows[0], wrong=True)])
    assert await queue.decisions(ACME, "chat") == rows[:1:-1]
    assert await queue.decisions(ACME, "docs") == [replace(rows[0], wrong=True)]
    await subject.label(ACME, "req_7", True)
    await subject.label(ACME, "req_5", False)
    await subject.label(OTHER, "req_6", True)
    assert [row.wrong for row in await queue.decisions(ACME, "chat")] == [True, None, False, None, None, None]
    with pytest.raises(StoreError):
        await queue.keep(ACME, "chat", [Decided(NOW, float("nan"), None, "semantic")])


async def test_many_at_once_lose_nothing(subject: Subject) -> None:
    await asyncio.gather(*(subject.queue.sight(ACME, [sighting(), sighting(E2)]) for _ in range(30)))
    assert await weight(subject) == 30.0
    [question] = await subject.queue.questions(ACME, E2)
    assert question.times == 30
