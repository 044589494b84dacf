"""Many entries settled at once, and whole groups invalidated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcache.core import EntryId, ReviewStatus
from semcache.review.bulk import Target
from semcache.review.looking import etag_of
from semcache.review.problems import (
    ForbiddenError,
    SelectionChangedError,
    UnfitError,
)
from semcache.review.service import ReviewRules
from semcache.review.verdicts import (
    Bar,
    Edit,
    Narrow,
    Note,
    Publish,
    Purge,
    Raise,
    Reject,
)
from semcache.review.views import Filter
from tests.review.scene import ACME, ASKED, NOW, OPERATOR, REVIEWER, Scene, entry


async def test_bulk_repeats_its_dry_run(at: Scene) -> None:
    await at.put(*(entry(f"e{number}") for number in range(6)), entry("other", model="n"))
    wanted = Filter(model="m", status="unreviewed")
    selection = await at.bulk.select(REVIEWER, ACME, wanted, Reject())
    assert (selection.count, selection.is_whole) == (6, True)
    assert not await at.words()
    with pytest.raises(UnfitError, match="before"):
        await at.bulk.run(REVIEWER, ACME, wanted, Reject(), selection.digest)
    wanted = replace(wanted, before=selection.before)
    with pytest.raises(SelectionChangedError) as caught:
        await at.bulk.run(REVIEWER, ACME, wanted, Reject(), "0" * 32)
    assert caught.value.digest == selection.digest
    await at.put(entry("late", created_at=NOW))
    steps = await at.bulk.run(REVIEWER, ACME, wanted, Reject(), selection.digest)
    first = await anext(steps)
    await steps.aclose()
    assert first.result == "done"
    assert len(await at.words()) == 1, "broken off after one"
    again = await at.bulk.select(REVIEWER, ACME, wanted, Reject())
    assert again.count == 5
    steps = await at.bulk.run(REVIEWER, ACME, wanted, Reject(), again.digest)
    changed = EntryId("e0") if first.entry != "e0" else EntryId("e1")
    results = {}
    async for step in steps:
        results[step.entry] = step.result
        if len(results) == 1:
            target = changed if step.entry != changed else EntryId("e2" if first.entry != "e2" else "e3")
            present = await at.now(target)
            await at.service.settle(OPERATOR, ACME, target, etag_of(present), Raise(0.95))
            changed = target
    assert results.pop(changed) == "stale"
    assert set(results.values()) == {"done"}
    assert (await at.now("late")).status is ReviewStatus.UNREVIEWED
    assert (await at.now("other")).status is ReviewStatus.UNREVIEWED


@pytest.mark.event(45)
async def test_bulk_puts_out_of_service_and_keeps_what_is_learned_later_out_too(at: Scene) -> None:
    await at.put(entry("a", tags=("bad",)), entry("b", tags=("bad",)), entry("c"))
    wanted, verdict = Filter(tag="bad"), Bar("*")
    selection = await at.bulk.select(REVIEWER, ACME, wanted, verdict)
    wanted = replace(wanted, before=selection.before)
    steps = [step async for step in await at.bulk.run(REVIEWER, ACME, wanted, verdict, selection.digest)]
    assert {(step.entry, step.result) for step in steps} == {("a", "done"), ("b", "done")}
    assert "*" in (await at.now("a")).barred
    assert not (await at.now("c")).barred
    with pytest.raises(UnfitError):
        await at.bulk.select(REVIEWER, ACME, Filter(), Bar("x"))


async def test_bulk_tells_what_did_not_fit_and_what_failed(at: Scene) -> None:
    await at.put(entry("a", author=""), entry("b"))
    selection = await at.bulk.select(REVIEWER, ACME, Filter(), Narrow())
    wanted = Filter(before=selection.before)
    steps = await at.bulk.run(REVIEWER, ACME, wanted, Narrow(), selection.digest)
    assert {step.entry: (step.result, step.detail) async for step in steps} == {
        "a": ("unfit", "no-author"),
        "b": ("done", ""),
    }
    for verdict in (Edit("x"), Bar(ASKED), Publish(), Note()):
        with pytest.raises(UnfitError):
            await at.bulk.select(OPERATOR, ACME, Filter(), verdict)
    with pytest.raises(ForbiddenError):
        await at.bulk.select(REVIEWER, ACME, Filter(), Purge())


async def test_bulk_takes_no_more_than_it_says(at: Scene) -> None:
    at.service.rules = ReviewRules(bulk=4)
    await at.put(*(entry(f"e{number}") for number in range(6)))
    selection = await at.bulk.select(REVIEWER, ACME, Filter(), Reject())
    assert (selection.count, selection.is_whole) == (4, False)


async def test_invalidation_has_its_line_first(at: Scene) -> None:
    await at.put(entry("one", tags=("t",)), entry("two"))
    counted = await at.bulk.count(OPERATOR, ACME, Target(tag="t"))
    assert (counted.count, counted.line) == (1, None)
    assert not await at.words()
    done = await at.bulk.invalidate(OPERATOR, ACME, Target(tag="t"), "old handbook")
    assert done.count == 1
    assert done.line is not None
    assert done.line.act.after == {"tag": "t"}
    assert await at.store.get_many(ACME, [EntryId("one"), EntryId("two")]) != [None, None]
    for wrong in (Target(), Target(tag="t", everything=True)):
        with pytest.raises(UnfitError):
            await at.bulk.invalidate(OPERATOR, ACME, wrong, "")
    with pytest.raises(ForbiddenError):
        await at.bulk.invalidate(REVIEWER, ACME, Target(tag="t"), "")
