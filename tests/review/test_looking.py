"""What reviewers are shown: why an entry was served, searches, numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcache.core import EntryId, ReviewStatus
from semcache.review.problems import (
    NotThereError,
    UnfitError,
)
from semcache.review.service import ReviewRules
from semcache.review.verdicts import (
    Approve,
    Bar,
    Reject,
)
from semcache.review.views import Filter
from semcache.review_port import Decided, Opinion
from tests.review.scene import ACME, ASKED, NOW, VIEWER, Scene, entry
from tests.review.settling import DAY, settled


async def test_a_view_says_why(at: Scene) -> None:
    one = entry("one", prompt="How much is 20 mg?")
    await at.put(one)
    await at.sighted(one, question="How much is 40 mg?")
    view = await at.service.view(VIEWER, ACME, one.id)
    assert view.why is not None
    assert (view.why.similarity, view.why.score, view.why.is_barred) == (0.91, 0.97, False)
    rules = {objection.word for objection in view.why.objections}
    assert rules & {"numbers", "units"}
    spot = next(objection for objection in view.why.objections if objection.asked)
    assert spot.asked is not None
    assert "40" in view.why.text[slice(*spot.asked)]
    assert view.waiting is not None
    assert view.answer == "Paris."
    await settled(at, Bar(ASKED))
    view = await at.service.view(VIEWER, ACME, one.id, ASKED)
    assert view.why is not None
    assert view.why.is_barred
    assert [line.act.what for line in view.lines] == ["bar"]
    with pytest.raises(NotThereError, match="question"):
        await at.service.view(VIEWER, ACME, one.id, "b" * 24)
    tried = await at.service.why(VIEWER, ACME, one.id, "How much is 50 mg?")
    assert tried.objections


async def test_a_flag_lapses_with_its_day(at: Scene) -> None:
    await at.put(entry("one"))
    await settled(at, Approve(NOW + 500))
    assert (await at.service.view(VIEWER, ACME, EntryId("one"))).is_vouched
    at.clock.time += 501
    await at.put(entry("two", expires_at=NOW + 9000))
    present = replace(await at.now("two"), status=ReviewStatus.APPROVED)
    assert at.service.looking.is_vouched(replace(present, review=replace(present.review, until=NOW + 502)))
    assert not at.service.looking.is_vouched(replace(present, review=replace(present.review, until=NOW + 1)))


async def test_search_goes_on_where_it_stopped(tmp_path: object, at: Scene) -> None:
    at.service.rules = ReviewRules(page=5, looked=20)
    names = [f"e{number:03d}" for number in range(120)]
    for number, name in enumerate(names):
        text = "needle IN text" if number % 7 == 0 else "hay"
        await at.put(entry(name, prompt=f"question {name}", text=text))
    found: list[str] = []
    cursor = ""
    for _ in range(200):
        page = await at.service.find(VIEWER, ACME, Filter(text="NEEDLE in"), cursor, 3)
        assert len(page.entries) <= 3
        found += [one.id for one in page.entries]
        cursor = page.cursor
        if not cursor:
            break
    assert sorted(found) == sorted(names[::7])
    page = await at.service.find(VIEWER, ACME, Filter(text="question e011"), "", 3)
    while not page.entries:
        page = await at.service.find(VIEWER, ACME, Filter(text="question e011"), page.cursor, 3)
    assert [one.id for one in page.entries] == ["e011"]
    with pytest.raises(UnfitError):
        await at.service.find(VIEWER, ACME, Filter(status="odd"))
    assert not (await at.service.find(VIEWER, ACME, Filter(status="approved"))).entries


async def test_numbers_what_if_and_judges(at: Scene) -> None:
    await at.put(entry("one"))
    await at.evidence.tally(
        ACME, "chat", NOW, {"exact": 3, "semantic": 4, "audit-right": 9, "audit-wrong": 1}
    )
    numbers = await at.service.numbers(VIEWER, ACME, NOW - DAY)
    chat = next(one for one in numbers.domains if one.domain == "chat")
    assert (chat.hits, chat.wrong, numbers.entries) == (7, 0.1, 1)
    assert chat.interval[0] < 0.1 < chat.interval[1]
    await at.queue.keep(
        ACME, "chat", [Decided(NOW, 0.92, 0.9, "semantic", "r", True), Decided(NOW, 0.88, 0.9, "miss")]
    )
    found = await at.service.what_if(VIEWER, ACME, "chat", 0.85)
    assert (found.would, found.served, found.more, found.judged, found.wrong) == (2, 1, 1, 1, 1)
    with pytest.raises(UnfitError):
        await at.service.what_if(VIEWER, ACME, "chat", 1.5)
    await at.queue.opine(ACME, Opinion(EntryId("one"), ASKED, "judge", 0.1, NOW))
    await settled(at, Reject())
    judge = (await at.service.judges(VIEWER, ACME))[0]
    assert (judge.model, judge.n, judge.agreed, judge.kappa) == ("judge", 1, 1.0, None)
