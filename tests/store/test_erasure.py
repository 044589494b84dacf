"""Somebody is erased from the store: everything of theirs goes, everything of others stays, nothing comes back."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from semcache.core import Completion, Entry, EntryId, Epochs, ExactKey, ReviewStatus, TenantId
from semcache.cost_port import Cause, CostKey, CostSums, LintFinding
from semcache.embed.fingerprint import Partition, asker_digest, subject_digest
from semcache.evidence_port import Finding, Label, ServedHit, Source
from semcache.ports import EpochBumped, Selector
from semcache.review_port import Act, Sighting
from semcache.store.cluster import open_link
from semcache.store.cost_book import RedisCostBook
from semcache.store.embedded import ValkeyChild
from semcache.store.erasure import ErasureShelf, Whom
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.keys import PUBLIC_TENANT, Keys
from semcache.store.link import LinkRules
from semcache.store.lint_shelf import RedisLintShelf
from semcache.store.queue import ReviewShelves
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.summaries import RedisSummaries
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from semcache.store.warm_shelf import WarmShelf
from tests.store.servers import ACME, WallClock, cluster, entry, valkey

__all__ = ["cluster", "valkey"]

ANN, BOB = subject_digest(ACME, "ann"), subject_digest(ACME, "bob")
ANNS = "the rash of Ann Doe"
LINK = LinkRules(deadline=5.0)


def author(user: str, principal: str = "") -> str:
    return asker_digest(Partition(ACME, "tenant", principal, "", ""), user)


WHOM = Whom(ANN, frozenset({author("ann"), author("ann", "ab12")}))


def of(name: str, user: str, text: str = "", **changes: object) -> Entry:
    fields: dict[str, object] = {
        "prompt": text or f"what is {name}?",
        "completion": Completion(f'{{"text": "{text or name}"}}'.encode(), None),
        "subject": subject_digest(ACME, user),
        "author": author(user),
    }
    return entry(name, **{**fields, **changes})


@dataclass
class Scene:
    """A store with all its shelves."""

    url: str
    prefix: str

    def __post_init__(self) -> None:
        clock, rules = WallClock(), StoreRules(link=LINK, prefix=self.prefix)
        self.store = RedisStore(self.url, clock, rules)
        self.verdicts = RedisVerdicts(self.url, clock, rules, VerdictRules())
        self.shelf = ErasureShelf(self.url, clock, rules, subject_digest)
        self.queue = ReviewShelves(self.url, LINK, self.prefix)
        self.evidence = EvidenceShelves(self.url, LINK, self.prefix)
        self.summaries = RedisSummaries(self.url, LINK, self.prefix)
        self.warm = WarmShelf(self.url, LINK, self.prefix)
        self.costs = RedisCostBook(self.url, LINK, self.prefix)
        self.lint = RedisLintShelf(self.url, LINK, self.prefix)

    async def aclose(self) -> None:
        for part in (
            self.store, self.verdicts, self.shelf, self.queue, self.evidence,
            self.summaries, self.warm, self.costs, self.lint,
        ):  # fmt: skip
            await part.aclose()

    async def everything(self, tenant: TenantId = ACME) -> bytes:
        """Give all that the store holds of a tenant, entries unpacked."""
        link, base, held = open_link(self.url, LINK), Keys(self.prefix).base(tenant), []
        try:
            async for name in self.shelf._named(tenant, "*"):
                kind = await link.call("TYPE", name)
                words = {
                    b"string": ("GET", name), b"hash": ("HGETALL", name), b"set": ("SMEMBERS", name),
                    b"list": ("LRANGE", name, 0, -1), b"zset": ("ZRANGE", name, 0, -1),
                }[kind]  # fmt: skip
                held += [name.removeprefix(base), repr(await link.call(*words)).encode()]
        finally:
            await link.aclose()
        async for found in self.shelf._all(tenant):
            held.append(repr(found).encode())
        return b"\n".join(held)


@pytest.fixture(params=["valkey", "cluster"])
async def scene(request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str) -> AsyncIterator[Scene]:
    made = Scene(valkey.url if request.param == "valkey" else cluster, uuid.uuid4().hex)
    yield made
    await made.aclose()


async def lived_in(scene: Scene) -> None:
    """Ann and Bob have asked; a reviewer, costs, lint and prewarming have left what they leave."""
    store, now, day = scene.store, time.time(), int(time.time() // 86_400)
    assert await store.put(of("mine", "ann", ANNS))
    assert await store.put(of("edited", "ann", ANNS + " twice"))
    assert await store.put(of("old", "ann", ANNS + " before", subject="", author=author("ann", "ab12")))
    assert await store.put(of("made", "bob", ANNS + " revised", origin="draft:mine"))
    assert await store.put(of("bobs", "bob", "Bob asks"))
    copy = of("common", "ann", ANNS, tenant=PUBLIC_TENANT, origin="public:old", subject="", author="")
    assert await store.put(copy)
    seen = await store.show(ACME, EntryId("edited"))
    assert seen is not None
    better = replace(
        seen, completion=Completion(b'{"text": "by a human"}', None), status=ReviewStatus.EDITED, version=2
    )
    assert await scene.verdicts.apply(seen, better, Act("eve", now, "edit", seen.id)) is not None
    assert await store.confirm(of("bobs", "bob", "Bob asks"), author("ann"))
    assert await store.confirm(of("bobs", "bob", "Bob asks"), author("eve"))
    sights = [
        Sighting(EntryId("bobs"), "aa", ANNS + " asked", now, "chat", "semantic", 1.0, subject=ANN),
        Sighting(EntryId("bobs"), "bb", "asked by Bob", now, "chat", "semantic", 1.0, subject=BOB),
    ]
    await scene.queue.queue.sight(ACME, sights)
    label = Label("l1", ACME, "chat", Source.FEEDBACK, Finding.WRONG, 3, int(now // 86_400), now)
    await scene.evidence.labels.add(
        replace(label, entry=EntryId("bobs"), request="r1", note=ANNS + " wrong", subject=ANN)
    )
    await scene.evidence.labels.add(
        replace(label, id="l2", entry=EntryId("bobs"), request="r2", note="said Bob", subject=BOB)
    )
    hit = ServedHit("r1", EntryId("bobs"), "chat", "ab12", exact=True, bin=None, at=now, subject=ANN)
    await scene.evidence.hits.note(ACME, [hit, replace(hit, request="r2", principal="", subject=BOB)])
    assert await scene.summaries.put(ACME, f"{ANN}.x", ANNS + " in short")
    assert await scene.summaries.put(ACME, f"{BOB}.x", "Bob in short")
    assert await scene.warm.write(ACME, 0, (ANNS + " as a head").encode())
    sums = {
        CostKey(ACME, day, "m", "b", "miss", "key", name, "", "", "", is_local=False): CostSums(
            requests=count
        )
        for name, count in (("ann", 3), ("~other", 4), ("bob", 5))
    }
    await scene.costs.add("w.1", sums)
    finding = LintFinding(
        ACME, day, "g", Cause.TIME, "system", 1, 1, "xx", 1, 1, 1, 1, "fix", "m", (("customer", "ann"),)
    )
    await scene.lint.put("w", [finding])


async def test_all_of_somebody_goes_and_nothing_of_anybody_else(scene: Scene) -> None:
    await lived_in(scene)
    counted = await scene.shelf.count(ACME, WHOM)
    assert await scene.shelf.count(ACME, WHOM) == counted, "counting changes nothing"
    gone = await scene.shelf.erase(ACME, WHOM, time.time())
    assert gone == counted
    assert (gone.entries, gone.derived, gone.public, gone.versions) == (3, 1, 1, 1)
    assert (gone.questions, gone.notes, gone.hits) == (1, 1, 1)
    assert gone.confirmations == 1
    assert (gone.summaries, gone.heads, gone.sums, gone.findings) == (1, 1, 1, 1)
    left = await scene.everything() + await scene.everything(PUBLIC_TENANT)
    assert b"rash" not in left
    assert b"by a human" not in left
    assert b'"ann"' not in left
    assert b"\x1fann\x1f" not in left
    assert (await scene.shelf.count(ACME, WHOM)).total == 0
    assert (await scene.shelf.erase(ACME, WHOM, time.time())).total == 0

    assert [one.id for one in (await scene.store.list_entries(Selector(ACME))).entries] == ["bobs"]
    kept = await scene.store.show(ACME, EntryId("bobs"))
    assert kept is not None
    assert kept.confirmed == {author("eve")}
    assert [q.text for q in await scene.queue.queue.questions(ACME, EntryId("bobs"))] == ["asked by Bob"]
    assert [one.note for one in await scene.evidence.labels.recent(ACME, 10)] == ["said Bob"]
    assert await scene.evidence.hits.by_request(ACME, "r1") is None
    bobs = await scene.evidence.hits.by_request(ACME, "r2")
    assert bobs is not None
    assert bobs.subject == BOB
    assert await scene.evidence.hits.by_entry(ACME, EntryId("bobs"), "") == bobs
    assert await scene.summaries.get(ACME, f"{BOB}.x") == "Bob in short"
    day = int(time.time() // 86_400)
    sums = await scene.costs.read(ACME, day - 1, day)
    assert {key.project: one.requests for key, one in sums.items()} == {"~other": 7, "bob": 5}
    assert [one.labels for one in await scene.lint.findings(ACME, 0, day)] == [()]


async def test_nothing_that_was_under_way_comes_back(scene: Scene) -> None:
    begun, now = of("late", "ann", ANNS), time.time()
    assert await scene.store.put(of("bobs", "bob", "Bob asks"))
    await scene.shelf.erase(ACME, WHOM, now)
    assert not await scene.store.put(begun)
    late = Sighting(EntryId("bobs"), "aa", ANNS, now - 1, "chat", "semantic", 1.0, subject=ANN)
    await scene.queue.queue.sight(ACME, [late])
    assert await scene.summaries.put(ACME, f"{ANN}.x", ANNS) == ANNS
    assert b"rash" not in await scene.everything()
    erased = await scene.shelf.erased(ACME)
    assert erased == {ANN: (now, WHOM.authors)}


async def test_who_asks_again_after_that_is_served_as_anybody(scene: Scene) -> None:
    await scene.shelf.erase(ACME, WHOM, time.time() - 2)
    epochs = await scene.store.epochs(ACME, ["", f"subject:{ANN}", "ns:" + "aa" * 32, "model:small"])
    fresh = of("fresh", "ann", "something else", epochs=epochs)
    assert await scene.store.put(fresh)
    assert await scene.store.get_exact(ACME, fresh.key) is not None
    later = Sighting(EntryId("fresh"), "aa", "asked later", time.time(), "chat", "exact", 1.0, subject=ANN)
    await scene.queue.queue.sight(ACME, [later])
    assert [q.text for q in await scene.queue.queue.questions(ACME, EntryId("fresh"))] == ["asked later"]


async def test_everybody_who_keeps_copies_hears_of_it(scene: Scene) -> None:
    assert await scene.store.put(of("mine", "ann", ANNS))
    follower = scene.store.changes()
    await anext(follower)
    await scene.shelf.erase(ACME, WHOM, time.time())
    bumped = set()
    while "erasure" not in bumped:
        change = await anext(follower)
        if isinstance(change, EpochBumped) and change.tenant == ACME:
            bumped.add(change.key)
    await follower.aclose()  # type: ignore[attr-defined] # it is a generator
    assert bumped == {f"subject:{ANN}", "erasure"}


async def test_principals_are_those_of_recent_hits(scene: Scene) -> None:
    hit = ServedHit("r1", EntryId("e"), "chat", "ab12", exact=True, bin=None, at=time.time())
    await scene.evidence.hits.note(ACME, [hit])
    assert await scene.shelf.principals(ACME) == {"", "ab12"}
    assert await scene.shelf.principals(TenantId("nobody")) == {""}


async def test_a_deleted_answer_stays_buried_for_as_long_as_it_would_have_lived(scene: Scene) -> None:
    link, base = open_link(scene.url, LINK), Keys(scene.prefix).base(ACME)
    long = entry("long", expires_at=time.time() + 9 * 3600)
    assert await scene.store.put(long)
    assert await scene.store.put(
        replace(long, id=EntryId("no"), key=ExactKey("no"), status=ReviewStatus.REJECTED)
    )
    await scene.store.delete(Selector(ACME, ids=(EntryId("long"),)))
    epochs = await scene.store.epochs(ACME, ["key:no"])
    assert await scene.store.put(replace(long, id=EntryId("new"), key=ExactKey("no"), epochs=epochs))
    for name in ("long", "no"):
        assert 8 * 3_600_000 < await link.call("PTTL", base + b"d:" + name.encode()) <= 9 * 3_600_000
    await link.aclose()
    assert not await scene.store.put(replace(long, epochs=Epochs((("key:key-of-long", 1),))))


async def test_of_thousands_of_hits_those_of_somebody_go(scene: Scene) -> None:
    one = ServedHit("", EntryId("e"), "chat", "", exact=True, bin=None, at=time.time())
    hits = [
        replace(one, request=f"r{n}", entry=EntryId(f"e{n}"), subject=ANN if n % 2 else BOB)
        for n in range(3000)
    ]
    await scene.evidence.hits.note(ACME, hits)
    assert (await scene.shelf.erase(ACME, WHOM, time.time())).hits == 1500
    for n in range(0, 3000, 250):
        assert await scene.evidence.hits.by_request(ACME, f"r{n + 1}") is None
        assert await scene.evidence.hits.by_entry(ACME, EntryId(f"e{n + 1}"), "") is None
        assert await scene.evidence.hits.by_entry(ACME, EntryId(f"e{n}"), "") == hits[n]
    assert (await scene.shelf.count(ACME, WHOM)).total == 0
