"""Requests go by, sightings and decisions come to the queue."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import (
    Bypass,
    Completion,
    Directives,
    Draft,
    DraftRecord,
    Effect,
    EntryId,
    Hit,
    Miss,
    Mode,
    ReviewPolicy,
    ReviewStatus,
    TenantId,
)
from semcache.evidence_port import Finding, Source
from semcache.review_rules import PUBLIC, WHOLE
from semcache.sighting.shelf import Met, ShelfLimits
from semcache.sighting.sights import SightLimits
from semcache.sighting.watches import Watches
from semcache.sighting.weighing import Weigher
from tests.sighting.scene import (
    ACME,
    ASKED,
    PLACE,
    POLICY,
    STORED,
    Scene,
    answered,
    author_of,
    digest_of,
    draft,
)


async def test_a_hit_near_its_bar_is_seen() -> None:
    scene = Scene()
    found = await scene.seen(scene.hit(0.91), user="ann")
    assert (found.entry, found.asked, found.question) == ("e1", digest_of(ASKED), ASKED)
    assert (found.domain, found.outcome, found.at) == ("chat", "semantic", scene.clock.at)
    assert found.reasons == ("near-threshold",)
    assert found.risk == pytest.approx(0.08)
    assert (found.similarity, found.score, found.asker) == (0.91, 0.97, author_of("ann"))
    assert scene.told.sights == {("semantic", True): 1}
    (kept,) = await scene.queue.decisions(ACME, "chat")
    assert (kept.similarity, kept.score, kept.outcome, kept.request) == (0.91, 0.97, "semantic", "r1")


async def test_a_calm_hit_only_counts() -> None:
    scene = Scene()
    found = await scene.seen(scene.hit(0.99))
    assert (found.risk, found.reasons) == (0.0, ())
    assert await scene.queue.waits(ACME, EntryId("e1")) is None
    assert len(await scene.queue.questions(ACME, EntryId("e1"))) == 1
    drawn = await scene.seen(scene.hit(0.99), policy=replace(POLICY, review=ReviewPolicy(sample=0.6)))
    assert drawn.reasons == ("sample",)


async def test_equal_questions() -> None:
    scene = Scene()
    found = await scene.seen(scene.equal(), STORED)
    assert (found.outcome, found.asked, found.risk) == ("exact", WHOLE, 0.0)
    assert await scene.queue.decisions(ACME, "chat") == []
    mine = scene.equal(id=EntryId("e2"), author=author_of("ann"), text="Your balance is $12.")
    assert (await scene.seen(mine, STORED, user="ann")).reasons == ()
    other = await scene.seen(mine, STORED, user="bob")
    assert other.reasons == ("personal", "other-user")
    assert other.risk > 0.5


async def test_who_asks_is_another() -> None:
    scene = Scene()
    scene.flips[0] = 0.05
    calm = scene.hit(0.99, author=author_of("ann"))
    drawing = replace(POLICY, review=ReviewPolicy(sample=0.01))
    assert (await scene.seen(calm, user="ann", policy=drawing)).reasons == ()
    assert (await scene.seen(calm, user="bob", policy=drawing)).reasons == ("other-user",)
    # It has left its author.
    assert (await scene.seen(calm, user="cem", policy=drawing)).reasons == ()
    assert (await scene.seen(scene.hit(0.99, author=""), user="bob", policy=drawing)).reasons == ()


async def test_words_of_persons_and_of_the_moment() -> None:
    scene = Scene()
    found = await scene.seen(scene.hit(0.99), "What is the latest way to close my account?")
    assert found.reasons == ("volatile",)
    found = await scene.seen(scene.hit(0.99), "My name is Ann Lee, what must I do to close my account?")
    assert found.reasons == ("personal",)
    found = await scene.seen(scene.hit(0.99, id=EntryId("e2"), prompt="my card 4539 1488 0343 6467?"))
    assert found.reasons == ("personal",)
    # An edited answer is another one.
    found = await scene.seen(scene.hit(0.99, text="Dear Ann Lee, go on.", version=2))
    assert found.reasons == ("personal",)


async def test_the_gate_only_raised_the_bar() -> None:
    rules = replace(POLICY, gate=replace(POLICY.gate, negation=Effect.RAISE, fragment=Effect.RAISE))
    scene = Scene()
    found = await scene.seen(scene.hit(0.99), "How do I not close my account?", policy=rules)
    assert found.reasons == ("gate",)


async def test_in_a_conversation_a_question_need_not_be_whole() -> None:
    rules = replace(POLICY, gate=replace(POLICY.gate, fragment=Effect.RAISE))
    scene = Scene()
    hit = scene.hit(0.99, prompt="And how is it in Spain?")
    found = await scene.seen(hit, "And what about in Spain?", policy=rules)
    assert found.reasons == ("gate",)
    found = await scene.seen(hit, "And what about in Spain?", policy=rules, kind="bound")
    assert found.reasons == ()


async def test_long_texts_are_not_read_again() -> None:
    scene = Scene()
    rules = replace(POLICY, gate=replace(POLICY.gate, negation=Effect.RAISE))
    found = await scene.seen(scene.hit(0.99), "How do I not close my account? " + "word " * 500, policy=rules)
    assert found.reasons == ()


async def test_hits_that_are_not_served() -> None:
    scene = Scene()
    assert (await scene.seen(scene.hit(0.91, shadow=True))).outcome == "shadow"
    found = await scene.seen(scene.hit(0.91), policy=replace(POLICY, mode=Mode.SHADOW))
    assert (found.outcome, found.reasons) == ("shadow", ("near-threshold",))
    assert found.risk < 0.08
    assert [kept.outcome for kept in await scene.queue.decisions(ACME, "chat")] == ["shadow", "shadow"]


async def test_a_draft_waits_for_what_becomes_of_it() -> None:
    scene = Scene()
    step = scene.meet(draft(scene))
    await scene.flushed()
    assert scene.queue.seen == []
    step.trace.draft = DraftRecord("revise", "kept")
    await scene.flushed()
    (found,) = scene.queue.seen
    assert (found.outcome, found.reasons) == ("draft", ("draft",))
    await scene.flushed()
    assert len(scene.queue.seen) == 1


@pytest.mark.parametrize("result", ["edited", "verified", "predicted", "rewritten"])
async def test_only_what_was_taken_from_the_stored_answer_is_seen(result: str) -> None:
    scene = Scene()
    step = scene.meet(draft(scene))
    step.trace.draft = DraftRecord("auto", result)
    await scene.flushed()
    assert [(found.outcome, found.risk) for found in scene.queue.seen] == [("draft", 0.0)] * (
        result == "edited"
    )


@pytest.mark.parametrize("end", ["failed", "stored", "answered", "late", "crowd"])
async def test_a_draft_that_came_to_nothing(end: str) -> None:
    scene = Scene(limits=SightLimits(drafts=1))
    steps = [
        scene.meet(draft(scene)),
        scene.meet(draft(scene, 0.95, ("risk",), 0.95)),
        scene.meet(draft(scene, 0.95, ("numbers",))),
    ]
    for step in steps:
        match end:
            case "failed":
                step.trace.draft = DraftRecord("revise", "failed-gate")
            case "stored":
                step.trace.stored = True
            case "answered":
                step.trace.completion = answered("x")
            case "late":
                scene.clock.at += 121
    await scene.flushed()
    found = {sighting.outcome: sighting.reasons for sighting in scene.queue.seen}
    # The two that would have been hits; the first was neither.
    assert set(found) == {"shadow"}
    assert len(scene.queue.seen) == (1 if end == "crowd" else 2)


async def test_nothing_is_kept_of_what_must_not_be_stored() -> None:
    scene = Scene()
    off = replace(POLICY, review=ReviewPolicy(enabled=False))
    step = scene.meet(scene.hit(0.91), directives=Directives(no_store=True))
    scene.sights.on_label(scene.label(Finding.WRONG), step, scene.hit())
    scene.meet(scene.hit(0.91), policy=off)
    scene.meet(draft(scene), directives=Directives(no_store=True))
    scene.meet(Bypass("policy-off"))
    scene.meet(Miss("empty"))
    scene.meet(scene.hit(0.91, tenant=TenantId(PUBLIC)), directives=Directives())
    await scene.flushed()
    assert scene.queue.seen == []
    # But that a public answer was near is no secret of anybody.
    assert [kept.outcome for kept in await scene.queue.decisions(ACME, "chat")] == ["semantic"]


async def test_misses_are_kept_as_decisions() -> None:
    scene = Scene()
    scene.meet(Miss("gate", ("numbers",), 0.93, None))
    await scene.flushed()
    (kept,) = await scene.queue.decisions(ACME, "chat")
    assert (kept.similarity, kept.outcome) == (0.93, "miss")
    assert scene.queue.seen == []


async def test_what_an_audit_found_wrong_comes_before_a_reviewer() -> None:
    scene = Scene()
    step = scene.step(scene.hit(0.99))
    for finding in (Finding.RIGHT, Finding.UNDECIDED):
        scene.sights.on_label(scene.label(finding), step, scene.hit(0.99))
    await scene.flushed()
    assert scene.queue.seen == []
    scene.sights.on_label(scene.label(Finding.WRONG), step, scene.hit(0.99))
    scene.sights.on_label(scene.label(Finding.WRONG, Source.SHADOW), step, scene.hit(0.99))
    await scene.flushed()
    audit, shadow = scene.queue.seen
    assert (audit.outcome, audit.reasons, audit.question) == ("semantic", ("audit",), ASKED)
    assert (shadow.outcome, shadow.reasons) == ("shadow", ("audit",))
    assert audit.risk > shadow.risk > 0.5


async def test_verified_answers_weigh_less() -> None:
    scene = Scene()
    plain = await scene.seen(scene.hit(0.91))
    verified = await scene.seen(scene.hit(0.91, status=ReviewStatus.APPROVED))
    assert 0 < verified.risk < plain.risk / 5


async def test_equal_requests_are_met_once_a_turn() -> None:
    scene = Scene()
    for _ in range(2):
        for _ in range(50):
            scene.meet(scene.equal(), "equal")
        await scene.flushed()
    assert [found.outcome for found in scene.queue.seen] == ["exact", "exact"]


async def test_the_newest_win_and_drops_are_counted() -> None:
    scene = Scene(limits=SightLimits(shelf=ShelfLimits(by_meaning=3, equal=2, decisions=4)))
    for n in range(5):
        scene.meet(scene.hit(0.91), f"question {n}")
        scene.meet(scene.equal(id=EntryId(f"e{n}")), f"equal {n}")
    await scene.flushed()
    assert [found.question for found in scene.queue.seen] == [
        "question 2",
        "question 3",
        "question 4",
        "equal 3",
        "equal 4",
    ]
    assert scene.told.drops == {"full": 5}
    assert len(await scene.queue.decisions(ACME, "chat")) == 4


async def test_bounds_in_bytes_and_over_all_tenants() -> None:
    size = len(STORED) + len(ASKED) + answered("Go to settings.").size
    scene = Scene(limits=SightLimits(shelf=ShelfLimits(tenant_bytes=2 * size)))
    for _ in range(3):
        scene.meet(scene.hit())
    await scene.flushed()
    assert (len(scene.queue.seen), scene.told.drops["full"]) == (2, 1)
    scene = Scene(limits=SightLimits(shelf=ShelfLimits(most=3, most_bytes=3 * size)))
    for n in range(5):
        tenant = TenantId(f"t{n}")
        scene.meet(scene.hit(tenant=tenant), policy=replace(POLICY, tenant=tenant))
    await scene.flushed()
    assert (len(scene.queue.seen), scene.told.drops["full"]) == (3, 2)
    scene.meet(scene.hit())
    await scene.flushed()
    assert len(scene.queue.seen) == 4
    large = scene.hit(completion=Completion(b"x" * 300_000, None))
    scene.meet(Draft(large.entry, 0.85))
    await scene.flushed()
    assert scene.told.drops["full"] == 3


async def test_a_queue_that_is_away_costs_nothing_but_sightings() -> None:
    scene = Scene()
    scene.queue.away = True
    scene.meet(scene.hit())
    await scene.flushed()
    assert scene.told.drops == {"store": 2}
    scene.queue.away = False
    scene.meet(scene.hit())
    await scene.flushed()
    assert len(scene.queue.seen) == 1


async def test_it_flushes_by_itself() -> None:
    scene = Scene(limits=SightLimits(flush_every=0.001))
    task = asyncio.get_running_loop().create_task(scene.sights.run())
    scene.meet(scene.hit())
    for _ in range(200):
        await asyncio.sleep(0.005)
        if scene.queue.seen:
            break
    task.cancel()
    assert len(scene.queue.seen) == 1


async def test_weighing_lets_others_have_their_turn() -> None:
    scene = Scene()
    ticks = iter(range(1000))
    scene.clock.monotonic = lambda: float(next(ticks))  # type: ignore[method-assign]  # every look takes a second
    for n in range(20):
        scene.meet(scene.hit(0.99), f"question {n}")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.get_running_loop().create_task(other())
    await scene.sights.flush()
    task.cancel()
    assert turns >= 20


async def test_several_watches_are_one() -> None:
    heard: list[str] = []

    def watch(name: str) -> Any:
        def watching(step: object, hit: Hit, request_id: str, keep: Any) -> Any:
            async def kept(completion: Completion) -> bool:
                done = await keep(completion)
                heard.append(f"{name} kept {done}")
                return bool(done)

            return kept

        return SimpleNamespace(
            on_decided=lambda step: heard.append(f"{name} decided"),
            on_served=lambda step, hit, request_id: heard.append(f"{name} served {request_id}"),
            watching=watching,
        )

    async def keep(completion: Completion) -> bool:
        heard.append("keep")
        return True

    scene = Scene()
    watches = Watches(watch("a"), watch("b"), scene.sights)
    step, hit = scene.step(scene.hit()), scene.hit()
    watches.on_decided(step)
    watches.on_served(step, hit, "r7")
    assert await watches.watching(step, hit, "r7", keep)(answered("x")) is True
    assert heard == [
        "a decided",
        "b decided",
        "a served r7",
        "b served r7",
        "keep",
        "a kept True",
        "b kept True",
    ]
    await scene.flushed()
    assert len(scene.queue.seen) == 1


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300), st.booleans())
def test_any_texts_are_weighed(question: str, prompt: str, answer: str, equal: bool) -> None:
    scene = Scene()
    hit = scene.equal(prompt=prompt, text=answer) if equal else scene.hit(prompt=prompt, text=answer)
    step = scene.step(hit, question)
    place = None if equal else PLACE
    met = Met(1.0, POLICY, Directives(), hit, question, place, step.partition, "", None, served=True)
    weighed = Weigher(lambda: 0.5).weigh(met)
    assert weighed is not None
    assert 0.0 <= weighed.sighting.risk < 1.0
    assert weighed.sighting.question == question
