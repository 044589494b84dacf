"""What reviewers decide: table by table, over fakes under the same contracts as the real ones."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from semcache.core import EntryId, ReviewStatus, TenantId
from semcache.errors import StoreError
from semcache.evidence_port import Finding, Source
from semcache.policy.loader import load_default
from semcache.review.answers import text_of
from semcache.review.bulk import Target
from semcache.review.looking import etag_of
from semcache.review.problems import (
    ConflictError,
    ForbiddenError,
    NotThereError,
    ReviewError,
    TooLargeError,
    UnfitError,
)
from semcache.review.verdicts import (
    Approve,
    Bar,
    Edit,
    Narrow,
    Note,
    Publish,
    Purge,
    Raise,
    Reject,
    Reopen,
    Said,
    Unbar,
    Verdict,
    change_of,
)
from semcache.review.views import Filter
from semcache.review_port import Opinion
from semcache.review_rules import AUTHOR, PUBLIC, WHOLE
from tests.review.scene import ACME, ASKED, NOW, OPERATOR, OTHER, REVIEWER, VIEWER, Scene, answer, entry
from tests.review.settling import ALL, DAY, settled


async def test_approval_vouches_for_as_long_as_the_policy_says(at: Scene) -> None:
    await at.put(entry("one"))
    etag = await settled(at, Approve(), REVIEWER)
    now = await at.now("one")
    assert etag == etag_of(now) == '"one.2"'
    assert (now.status, now.review.by, now.review.at, now.review.until) == (
        ReviewStatus.APPROVED,
        REVIEWER.name,
        NOW,
        None,
    )
    assert now.expires_at == NOW + 30 * DAY
    policy = at.service.policies(REVIEWER, ACME)[0]
    assert now.review.edition == policy.edition != ""
    line = (await at.verdicts.log(ACME)).lines[0]
    assert (line.act.who, line.act.what, line.act.note) == (REVIEWER.name, "approve", "because")
    assert line.act.before["status"] == "unreviewed"
    assert line.act.after["status"] == "approved"


async def test_approval_until_a_day(at: Scene) -> None:
    await at.put(entry("one"))
    await settled(at, Approve(NOW + 5000))
    now = await at.now("one")
    assert (now.review.until, now.expires_at) == (NOW + 5000, NOW + 5000)
    for wrong in (NOW, NOW - 1, NOW + 11 * 365 * DAY, float("nan"), float("inf")):
        with pytest.raises(UnfitError, match="until"):
            await settled(at, Approve(wrong))


async def test_an_edit_is_a_new_version_and_the_log_holds_no_text(at: Scene) -> None:
    await at.put(entry("one", text="Lyon, the secret."))
    await settled(at, Edit("Paris, the secret."))
    now = await at.now("one")
    assert (now.status, now.version, text_of(now.completion)) == (
        ReviewStatus.EDITED,
        2,
        "Paris, the secret.",
    )
    assert now.completion.usage == entry("one").completion.usage
    assert [text_of(old.completion) for old in await at.verdicts.versions(ACME, EntryId("one"))] == [
        "Lyon, the secret."
    ]
    act = (await at.verdicts.log(ACME)).lines[0].act
    assert act.before["answer"] != act.after["answer"]
    assert "secret" not in repr(act)
    assert "What is one" not in repr(act)


@pytest.mark.parametrize(
    ("completion", "text", "error", "code"),
    [
        (answer("x", tool_calls=[{"function": {"name": "f", "arguments": "{}"}}]), "y", UnfitError, "not-editable"),
        (replace(answer("x"), chunks=b"[]"), "y", UnfitError, "not-editable"),
        (answer("x", annotations=[{"url": "u"}]), "y", UnfitError, "not-editable"),
        (answer("x"), "  \n", UnfitError, "bad-text"),
        (answer("x"), "\ud800", UnfitError, "bad-text"),
        (answer("x"), "y" * 2000, TooLargeError, "too-large"),
    ],
)  # fmt: skip
async def test_edits_that_are_refused_change_nothing(
    at: Scene, completion: object, text: str, error: type[ReviewError], code: str
) -> None:
    await at.put(entry("one", completion=completion))
    with pytest.raises(error) as caught:
        await settled(at, Edit(text))
    assert caught.value.code == code
    assert (await at.now("one")).version == 1
    assert not await at.words()


async def test_reasoning_goes_with_the_text_that_it_led_to(at: Scene) -> None:
    await at.put(entry("one", completion=answer("Lyon", reasoning_content="since Lyon")))
    await settled(at, Edit("Paris"))
    assert b"since" not in (await at.now("one")).completion.body


async def test_rejected_is_kept_and_not_served_purged_is_gone(at: Scene) -> None:
    await at.put(entry("one"), entry("two"))
    await settled(at, Reject(), REVIEWER)
    assert (await at.now("one")).status is ReviewStatus.REJECTED
    assert await at.store.get_many(ACME, [EntryId("one")]) == [None]
    await settled(at, Purge(), name="two")
    assert await at.verdicts.show(ACME, EntryId("two")) is None
    assert await at.words() == ["purge", "reject"]


async def test_pairs_are_barred_and_free_again(at: Scene) -> None:
    await at.put(entry("one"))
    etag = await settled(at, Bar(ASKED), REVIEWER)
    assert (await at.now("one")).barred == {ASKED}
    assert etag == etag_of(await at.now("one"))
    with pytest.raises(UnfitError, match="already"):
        await settled(at, Bar(ASKED))
    await settled(at, Unbar(ASKED))
    assert not (await at.now("one")).barred
    with pytest.raises(UnfitError, match="not barred"):
        await settled(at, Unbar(ASKED))
    for wrong in ("", "xyz", "A" * 24, "a" * 23, "*\n"):
        with pytest.raises(UnfitError):
            await settled(at, Bar(wrong))


async def test_a_complaint_in_between_makes_the_etag_stale(at: Scene) -> None:
    await at.put(entry("one"))
    before = etag_of(await at.now("one"))
    await at.service.settle(OPERATOR, ACME, EntryId("one"), before, Bar(WHOLE))
    with pytest.raises(ConflictError) as caught:
        await at.service.settle(OPERATOR, ACME, EntryId("one"), before, Approve())
    assert caught.value.etag == etag_of(await at.now("one"))


@pytest.mark.parametrize("verdict", [Approve(), Edit("Canberra.")])
async def test_who_vouches_for_an_answer_puts_it_into_service_again(at: Scene, verdict: Verdict) -> None:
    await at.put(entry("one"))
    await settled(at, Bar(WHOLE))
    await settled(at, Bar(ASKED))
    await settled(at, verdict)
    assert (await at.now("one")).barred == {ASKED}, "a pair that was found wrong stays barred"


async def test_narrowing_and_thresholds(at: Scene) -> None:
    await at.put(entry("one"), entry("two", author=""))
    await settled(at, Narrow())
    assert (await at.now("one")).review.only == "b" * 24
    assert (await at.now("one")).barred == {AUTHOR}, "so are the answers to come"
    await settled(at, Raise(0.97))
    now = await at.now("one")
    assert (now.review.least, now.review.only) == (0.97, "b" * 24)
    await settled(at, Reopen())
    assert (await at.now("one")).review.only == "b" * 24, "who may get it stays as it was settled"
    await settled(at, Narrow(on=False))
    assert (await at.now("one")).barred == frozenset()
    await settled(at, Raise(None))
    assert (await at.now("one")).review.least is None
    with pytest.raises(UnfitError, match="first"):
        await settled(at, Narrow(), name="two")
    for wrong in (0.0, -1.0, 1.01, float("nan")):
        with pytest.raises(UnfitError, match="threshold"):
            await settled(at, Raise(wrong))


async def test_reopening_takes_the_flag_and_the_lifetime_that_came_with_it(at: Scene) -> None:
    await at.put(entry("one"))
    await settled(at, Approve())
    await settled(at, Reopen())
    now = await at.now("one")
    assert (now.status, now.review.by) == (ReviewStatus.UNREVIEWED, "")
    assert now.expires_at == NOW + at.service.policies(OPERATOR, ACME)[0].ttl


async def test_publishing_copies_nothing_of_whom(at: Scene) -> None:
    await at.put(entry("one", tags=("t",), context=b"said"), entry("two", commons=""))
    present = await at.now("one")
    done = await at.service.settle(OPERATOR, ACME, present.id, etag_of(present), Publish())
    assert done.published is not None
    public = await at.now(done.published, TenantId(PUBLIC))
    assert (public.namespace, public.status, public.author, public.commons, public.context) == (
        "2" * 64, ReviewStatus.APPROVED, "", "", b"",
    )  # fmt: skip
    assert (public.review.by, public.review.edition) == (OPERATOR.name, "")
    assert await at.words() == ["publish"]
    again = await at.service.settle(OPERATOR, ACME, present.id, etag_of(present), Publish())
    assert again.published == done.published
    with pytest.raises(UnfitError, match="public"):
        await settled(at, Publish(), name="two")
    await settled(at, Reject())
    with pytest.raises(UnfitError, match="public"):
        await settled(at, Publish())
    with pytest.raises(NotThereError):
        await at.service.entry(OPERATOR, TenantId(PUBLIC), done.published)
    assert await at.service.entry(ALL, TenantId(PUBLIC), done.published)


async def test_a_note_changes_nothing_but_the_log(at: Scene) -> None:
    await at.put(entry("one"))
    await at.sighted(entry("one"))
    present = await at.now("one")
    note = "line one\r\nX-Evil: 1\x1b[31m \u202e"
    await at.service.settle(REVIEWER, ACME, present.id, etag_of(present), Note(), note)
    act = (await at.verdicts.log(ACME)).lines[0].act
    assert (act.what, act.note) == ("note", "line one X-Evil: 1 [31m")
    assert await at.now("one") == present
    assert await at.queue.waits(ACME, present.id) is not None
    with pytest.raises(UnfitError, match="note"):
        await at.service.settle(REVIEWER, ACME, present.id, etag_of(present), Note(), "x" * 501)


async def test_who_may_what(at: Scene) -> None:
    await at.put(entry("one"), entry("two", tenant=OTHER))
    etag = etag_of(await at.now("one"))
    for verdict, role in ((Approve(), "reviewer"), (Purge(), "operator"), (Publish(), "operator")):
        with pytest.raises(ForbiddenError, match=role):
            await at.service.settle(VIEWER, ACME, EntryId("one"), etag, verdict)
    for verdict in (Purge(), Publish()):
        with pytest.raises(ForbiddenError):
            await at.service.settle(REVIEWER, ACME, EntryId("one"), etag, verdict)
    for work in (
        at.service.entry(OPERATOR, OTHER, EntryId("two")),
        at.service.entry(OPERATOR, ACME, EntryId("two")),
        at.service.queue(OPERATOR, OTHER),
        at.service.log(OPERATOR, OTHER),
        at.service.find(OPERATOR, OTHER, Filter()),
        at.service.numbers(OPERATOR, OTHER, NOW),
        at.bulk.count(OPERATOR, OTHER, Target(everything=True)),
        at.service.entry(OPERATOR, ACME, EntryId("#x")),
        at.service.entry(OPERATOR, ACME, EntryId("x" * 300)),
    ):
        with pytest.raises(NotThereError):
            await work
    assert await at.service.tenants(OPERATOR) == (ACME,)
    assert await at.service.tenants(ALL) == (ACME, OTHER)


@pytest.mark.event(40)
async def test_two_reviewers_at_once_one_of_them_wins(at: Scene) -> None:
    await at.put(entry("one"))
    etag = etag_of(await at.now("one"))
    verdicts: list[Verdict] = [Approve(), Edit("A"), Reject(), Raise(0.95), Narrow(), Bar(ASKED)]
    done = await asyncio.gather(
        *(at.service.settle(OPERATOR, ACME, EntryId("one"), etag, verdict) for verdict in verdicts),
        return_exceptions=True,
    )
    assert sum(not isinstance(one, BaseException) for one in done) == 1
    assert all(isinstance(one, ConflictError) for one in done if isinstance(one, BaseException))
    assert len(await at.words()) == 1


@pytest.mark.parametrize(
    ("verdict", "finding", "bin", "right"),
    [
        (Approve(asked=ASKED), Finding.RIGHT, 13, True),
        (Approve(), Finding.RIGHT, None, True),
        (Bar(ASKED), Finding.WRONG, 13, False),
        (Bar(WHOLE), Finding.WRONG, None, False),
        (Reject(), Finding.WRONG, None, False),
        (Edit("A"), Finding.WRONG, None, False),
        (Narrow(), None, None, None),
        (Raise(0.9), None, None, None),
    ],
)
async def test_verdicts_are_evidence_and_leave_the_queue(
    at: Scene, verdict: Verdict, finding: Finding | None, bin: int | None, right: bool | None
) -> None:
    await at.put(entry("one"))
    await at.sighted(entry("one"))
    await at.queue.opine(ACME, Opinion(EntryId("one"), ASKED, "judge", 0.9, NOW))
    await settled(at, verdict)
    assert await at.queue.waits(ACME, EntryId("one")) is None
    labels = await at.evidence.recent(ACME, 10)
    assert [(one.source, one.finding, one.bin) for one in labels] == (
        [(Source.VERDICT, finding, bin)] if finding else []
    )
    table = (await at.queue.agreement(ACME)).get("judge")
    counted = (table.both, table.only_judge) if table else None
    assert counted == {True: (1, 0), False: (0, 1), None: None}[right]


async def test_a_verdict_stands_though_evidence_is_away(at: Scene) -> None:
    await at.put(entry("one"))
    at.evidence.away = at.queue.away = True
    await settled(at, Reject())
    assert (await at.now("one")).status is ReviewStatus.REJECTED


async def test_a_store_that_is_away_leaves_the_old_state(at: Scene) -> None:
    await at.put(entry("one"))
    etag = etag_of(await at.now("one"))
    at.store.fault = StoreError("away", kind="down")
    with pytest.raises(StoreError):
        await at.service.settle(OPERATOR, ACME, EntryId("one"), etag, Approve())
    at.store.fault = None
    assert (await at.now("one")).version == 1


async def test_no_flag_is_given_under_a_domain_that_is_gone(at: Scene) -> None:
    await at.put(entry("one", domain="gone"))
    with pytest.raises(UnfitError, match="domain"):
        await settled(at, Approve())
    await settled(at, Reject())


def test_an_approval_lives_no_longer_than_the_policy_serves_it() -> None:
    """Otherwise it would stand in the way of newer answers, and be served to nobody."""
    policy = replace(load_default().by_tenant[TenantId("default")].domains["chat"], max_age=600.0)
    said = Said("lin", NOW)
    approved = change_of(entry("one"), Approve(), said, policy).entry
    assert approved is not None
    assert approved.expires_at == approved.created_at + 600
    with pytest.raises(UnfitError, match="edit it"):
        change_of(entry("old", created_at=NOW - 600), Approve(), said, policy)
    edited = change_of(entry("old", created_at=NOW - 600), Edit("Paris, now."), said, policy).entry
    assert edited is not None
    assert (edited.created_at, edited.expires_at) == (NOW, NOW + 600)
