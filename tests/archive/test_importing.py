"""Entries leave a real store and come back to it, or to another; what happened since stands in their way."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from semcache.archive.errors import ArchiveError
from semcache.archive.exporting import Wanted, export_lines
from semcache.archive.importing import Doors, Report, Terms, import_entries
from semcache.archive.journal import Erasure
from semcache.archive.reading import checked
from semcache.core import Completion, EncoderId, EntryId, ReviewStatus, TenantId
from semcache.dialects.embeddings.answer import kept
from semcache.ports import Selector
from semcache.review_rules import WHOLE
from semcache.store.embedded import ValkeyChild
from semcache.store.keys import epoch_keys
from semcache.store.link import LinkRules
from semcache.store.redis_store import Quota, RedisStore, StoreRules
from semcache.store.standing import StandingShelf
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.archive.scene import ACME, MINI, approved, entry_of, export, file_of, made, sealed
from tests.store.servers import WallClock, same, valkey

__all__ = ["valkey"]
LINK = LinkRules(deadline=5.0)


def ignore(_: object, __: object = None) -> None:
    """Hear of progress and say nothing."""


@dataclass
class Scene:
    """One deployment's store."""

    url: str
    quota: Quota = field(default_factory=Quota)
    erasures: tuple[Erasure, ...] = ()
    prefix: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.clock = WallClock()
        rules = StoreRules(link=LINK, prefix=self.prefix, quota_of=lambda _: self.quota)
        self.store = RedisStore(self.url, self.clock, rules)
        self.verdicts = RedisVerdicts(self.url, self.clock, rules, VerdictRules())
        self.standings = StandingShelf(self.url, LINK, self.prefix)

    async def export(self, **wanted: object) -> bytes:
        asked = Wanted(
            Selector(ACME, **{k: v for k, v in wanted.items() if k != "verified"}),
            bool(wanted.get("verified")),
        )  # type: ignore[arg-type]  # a table of any fields
        lines = export_lines(self.store, asked, self.clock.now(), [MINI], ignore)  # type: ignore[arg-type]  # a table of any fields
        return b"".join([line async for line in lines])

    async def take(self, text: bytes, **terms: object) -> Report:
        doors = Doors(self.store, self.standings, self.verdicts, self.clock, self.erasures)
        told = Terms(**{"tenant": ACME, **terms})  # type: ignore[arg-type]  # a table of any fields
        return await import_entries(checked(file_of(text)), doors, told, ignore)

    async def words(self) -> list[str]:
        return [line.act.what for line in (await self.verdicts.log(ACME)).lines]

    async def ids(self) -> set[str]:
        return {one.id for one in (await self.store.list_entries(Selector(ACME), "", 500)).entries}

    async def aclose(self) -> None:
        for part in (self.store, self.verdicts, self.standings):
            await part.aclose()


@pytest.fixture
async def here(valkey: ValkeyChild) -> AsyncIterator[Scene]:
    made = Scene(valkey.url)
    yield made
    await made.aclose()


@pytest.fixture
async def there(valkey: ValkeyChild) -> AsyncIterator[Scene]:
    made = Scene(valkey.url)
    yield made
    await made.aclose()


async def test_what_left_one_store_comes_to_another_and_doing_it_again_changes_nothing(
    here: Scene, there: Scene
) -> None:
    entries = [made(f"e{n}") for n in range(7)]
    for one in entries:
        assert await here.store.put(one)
    text = await here.export()
    dry = await there.take(text, dry_run=True)
    assert (dry.imported, dry.skipped.total(), await there.ids(), await there.words()) == (7, 0, set(), [])
    report = await there.take(text)
    assert (report.imported, report.skipped.total()) == (7, 0)
    for one in entries:
        assert same(await there.store.get_exact(ACME, one.key), one)
    again = await there.take(text)
    assert (again.imported, dict(again.skipped)) == (0, {"present": 7})
    assert await there.words() == ["import", "import"]
    assert len((await here.export()).splitlines()) == 9


async def test_only_what_is_wanted_leaves(here: Scene) -> None:
    await here.store.put(made("tagged", tags=("x",)))
    await here.store.put(made("other", model="large"))
    await here.store.put(approved("good"))
    await here.store.put(made("gone", expires_at=time.time() + 0.2))
    here.clock.ahead = 1.0

    async def names(**wanted: object) -> set[str]:
        found = checked(file_of(await here.export(**wanted)))
        return {
            one
            for one in ("tagged", "other", "good", "gone")
            if f'"id":"{one}"'.encode() in b"".join(found.bodies())
        }

    assert await names() == {"tagged", "other", "good"}
    assert await names(tag="x") == {"tagged"}
    assert await names(model="large") == {"other"}
    assert await names(verified=True) == {"good"}


@pytest.mark.event(42)
async def test_another_tenants_export_is_refused_before_anything_is_done(here: Scene) -> None:
    with pytest.raises(ArchiveError, match="another tenant"):
        await here.take(export([made("one")], tenant="other"))
    with pytest.raises(ArchiveError, match="another tenant"):
        await here.take(export([made("one")]), tenant=TenantId("other"))
    assert await here.words() == []


@pytest.mark.event(42)
async def test_a_hostile_line_costs_itself_only(here: Scene) -> None:
    lines = export([made("one"), made("two")]).splitlines(keepends=True)
    bad = [entry_of(b'{"id":"../x"}'), entry_of(b"[" * 3000 + b"]" * 3000), entry_of(b"null")]
    report = await here.take(sealed([*lines[:2], *bad, lines[2]]))
    assert (report.imported, dict(report.skipped)) == (2, {"malformed": 3})


async def test_verdicts_come_along_only_where_an_operator_believes_them(here: Scene, there: Scene) -> None:
    good = approved("good")
    await here.store.put(good)
    await here.store.put(made("bad", status=ReviewStatus.REJECTED, version=2))
    text = await here.export()
    plain = await there.take(text)
    assert (plain.imported, plain.verified, dict(plain.skipped)) == (1, 0, {"rejected": 1})
    found = await there.store.show(ACME, EntryId("good"))
    assert found is not None
    assert (found.status, found.review.by) == (ReviewStatus.UNREVIEWED, "")
    assert (found.review.only, found.review.least) == (good.review.only, good.review.least), (
        "what takes away stays"
    )
    await there.store.delete(Selector(ACME))
    fresh = Scene(here.url)
    try:
        kept = await fresh.take(text, keep_review=True)
        assert (kept.imported, kept.verified) == (2, 1)
        found = await fresh.store.show(ACME, EntryId("good"))
        assert found is not None
        assert (found.status, found.review) == (ReviewStatus.APPROVED, good.review)
        bad = await fresh.store.show(ACME, EntryId("bad"))
        assert bad is not None
        assert bad.status is ReviewStatus.REJECTED
        lines = (await fresh.verdicts.log(ACME)).lines
        assert lines[-1].act.after["keep_review"] is True
        assert await fresh.verdicts.broken(ACME) is None
    finally:
        await fresh.aclose()


async def test_barred_questions_come_along_before_their_entry(here: Scene) -> None:
    one = replace(made("one"), barred=frozenset(("ab" * 12, WHOLE)))
    assert (await here.take(export([one]))).imported == 1
    found = await here.store.show(ACME, EntryId("one"))
    assert found is not None
    assert found.barred == one.barred
    assert await here.words() == ["bar", "bar", "import"]


@pytest.mark.event(41)
async def test_what_happened_since_the_export_stands_in_its_way(here: Scene) -> None:
    hour = time.time() - 3600
    names = ("deleted", "rejected", "flushed", "erased", "kept", "edited")
    entries = {name: made(name, created_at=hour, tags=(name,), subject="") for name in names}
    entries["erased"] = replace(entries["erased"], subject="ee" * 12)
    for one in entries.values():
        assert await here.store.put(one)
    text = await here.export()
    await here.store.delete(Selector(ACME, ids=(EntryId("deleted"),)))
    await here.store.delete(Selector(ACME, tag="flushed"))
    await here.store.delete(Selector(ACME, subject="ee" * 12))
    for name, status in (("rejected", ReviewStatus.REJECTED), ("edited", ReviewStatus.EDITED)):
        assert await here.store.put(replace(entries[name], status=status, version=2))
    report = await here.take(text, keep_review=True)
    assert report.imported == 0
    assert dict(report.skipped) == {"deleted": 1, "invalidated": 2, "present": 3}
    assert (await here.store.show(ACME, EntryId("edited"))).version == 2  # type: ignore[union-attr]
    # Also long after the tombstones of writes under way are gone, and when the rejected one was pushed out.
    here.clock.ahead = 1800.0
    assert (await here.take(text)).imported == 0


async def test_what_was_made_after_an_invalidation_comes_back(here: Scene, there: Scene) -> None:
    await here.store.delete(Selector(ACME, tag="a"))
    await there.store.delete(Selector(ACME))
    late = made("late", created_at=time.time() + 30)
    epochs = await here.store.epochs(ACME, list(epoch_keys(late)))
    assert await here.store.put(replace(late, epochs=epochs))
    assert (await there.take(await here.export())).imported == 1
    assert await there.store.get_exact(ACME, late.key) is not None


@pytest.mark.event(41)
async def test_the_journal_of_this_machine_counts_where_the_store_knows_nothing(here: Scene) -> None:
    mine, old = made("mine"), made("old", subject="", author="12" * 12)
    here.erasures = (
        Erasure(time.time(), ACME, mine.subject, ("12" * 12,), "er_1"),
        Erasure(time.time(), "other", "34" * 12, (), "er_2"),
    )
    other = made("other", subject="34" * 12)
    report = await here.take(export([mine, old, other]))
    assert (report.imported, dict(report.skipped)) == (1, {"erased": 2})


async def test_a_newer_answer_stays_and_an_older_one_goes(here: Scene) -> None:
    now = time.time()
    newer, older = made("newer", now), made("older", now - 500)
    same_key = [replace(one, key=made("x").key) for one in (newer, older)]
    await here.store.put(same_key[0])
    report = await here.take(export([same_key[1]]))
    assert dict(report.skipped) == {"newer": 1}
    await here.store.delete(Selector(ACME, ids=(EntryId("newer"),)))
    decided = replace(same_key[1], id=EntryId("judged"), status=ReviewStatus.APPROVED, version=2)
    epochs = await here.store.epochs(ACME, [f"key:{decided.key}"])
    assert await here.store.put(replace(decided, epochs=epochs))
    third = replace(same_key[0], id=EntryId("third"))
    assert dict((await here.take(export([third]))).skipped) == {"decided": 1}
    assert await here.ids() == {"judged"}


async def test_expired_ones_and_what_has_no_room_are_passed_over(here: Scene) -> None:
    here.quota = Quota(entries=10, bytes=3000)
    now = time.time()
    big = made("big", prompt="".join(uuid.uuid4().hex for _ in range(300)))
    gone = made("gone", now, created_at=now - 100, expires_at=now - 1)
    report = await here.take(export([gone, big, made("small")]))
    assert (report.imported, dict(report.skipped)) == (1, {"expired": 1, "quota": 1})


async def test_vectors_of_other_encoders_are_left_away(here: Scene) -> None:
    other = EncoderId("mini@ffffffffffff")
    one, two = made("one"), made("two")
    assert two.embedding is not None
    foreign = replace(two, embedding=replace(two.embedding, encoder=other))
    report = await here.take(export([one, foreign]), encoders={MINI: 8})
    assert (report.imported, report.without_vector) == (2, 1)
    found = await here.store.get_many(ACME, [EntryId("one"), EntryId("two")])
    assert [entry is not None and entry.embedding is not None for entry in found] == [True, False]
    wrong = await here.take(export([made("three")]), encoders={MINI: 384})
    assert (wrong.imported, wrong.without_vector) == (1, 1)
    unknown = await here.take(export([replace(foreign, id=EntryId("four"), key=made("four").key)]))
    assert (unknown.imported, unknown.without_vector) == (1, 0)


@pytest.mark.event(41)
async def test_who_is_erased_while_an_export_runs_is_not_taken_back(here: Scene) -> None:
    for n in range(450):
        assert await here.store.put(made(f"e{n:03}", subject="ee" * 12, embedding=None))
    lines: list[bytes] = []
    wanted = Wanted(Selector(ACME))
    async for line in export_lines(here.store, wanted, time.time(), [], ignore):  # type: ignore[arg-type]  # a table of any fields
        lines.append(line)
        if len(lines) == 100:
            await here.store.delete(Selector(ACME, subject="ee" * 12))
    text = b"".join(lines)
    assert len(lines) < 300, "pages read after it hold nothing of them"
    report = await here.take(text)
    assert report.imported == 0
    assert set(report.skipped) == {"invalidated"}


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"choices":null}', b'{"choices":[1]}', b'{"choices":[{"index":0,"message":{"content":5}}]}'],
)
async def test_an_answer_that_would_fail_the_requests_it_is_served_to_stays_away(
    here: Scene, body: bytes
) -> None:
    odd, good = made("odd"), made("good")
    odd = replace(odd, completion=replace(odd.completion, body=body, native=None))
    report = await here.take(export([odd, good]))
    assert (report.imported, dict(report.skipped)) == (1, {"malformed": 1})
    assert await here.ids() == {"good"}


async def test_embeddings_come_back(here: Scene) -> None:
    found = kept({"object": "list", "data": [{"index": 0, "embedding": [0.5]}], "model": "m"})
    assert isinstance(found, Completion)
    assert (await here.take(export([made("vectors", completion=found)]))).imported == 1
