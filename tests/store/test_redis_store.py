"""The store against a real server that is full, read-only, damaged, flushed or tampered with."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Awaitable

import pytest

from semcache.core import Completion, Entry, EntryId, ExactKey, ReviewStatus, TenantId
from semcache.errors import StoreError
from semcache.ports import Selector
from semcache.store import codec
from semcache.store.embedded import ValkeyChild
from semcache.store.keys import Keys, digest, epoch_field, epoch_keys
from semcache.store.redis_store import Quota, RedisStore, StoreRules
from tests.fakes.entry_store import FakeEntryStore
from tests.store.servers import ACME, WallClock, command, entry, same

BASE = Keys().base(ACME)


async def fault(call: Awaitable[object]) -> str:
    with pytest.raises(StoreError) as failed:
        await call
    return failed.value.kind


async def keys_of(url: str) -> dict[bytes, int]:
    """All keys with their time to live in milliseconds, -1 for ever."""
    names = await command(url, "KEYS", "*")
    return {name: int(await command(url, "PTTL", name)) for name in names}


async def test_every_key_expires_but_the_counters(store: RedisStore, lone: ValkeyChild) -> None:
    for n in range(5):
        assert await store.put(entry(f"e{n}", tags=("a", "b")))
    assert await store.put(entry("r", status=ReviewStatus.REJECTED))
    assert await store.put(entry("e5", key=ExactKey("key-of-e0")))
    await store.delete(Selector(ACME, ids=(EntryId("e1"),)))
    await store.delete(Selector(ACME, tag="a"))
    await store.put(await born(store, entry("e6", tags=("a",))))
    await store.ping()
    follower = store.changes()
    await anext(follower)
    await follower.aclose()  # type: ignore[attr-defined] # it is a generator
    lives = await keys_of(lone.url)
    lasting = {name for name, life in lives.items() if life < 0}
    shared = {Keys().shared(name) for name in ("changes", "seq", "identity")}
    assert lasting == shared | {BASE + b"ep", BASE + b"et"}
    assert all(life <= 3_660_000 for life in lives.values())


async def test_nothing_is_left_when_all_has_expired(
    store: RedisStore, lone: ValkeyChild, clock: WallClock
) -> None:
    for n in range(40):
        assert await store.put(entry(f"e{n}", expires_at=clock.now() + 0.2, tags=(f"t{n}",)))
    await asyncio.sleep(0.25)
    assert await store.put(entry("last"))
    assert await store.tidy() >= 8
    left = {name.removeprefix(BASE) for name in await keys_of(lone.url) if name.startswith(BASE)}
    mine = entry("last")
    expected = {b"e:last", b"k:" + digest(mine.key), b"age", b"exp", b"meta", b"val"}
    expected |= {b"s:" + epoch_field(key) for key in (f"ns:{mine.namespace}", "model:small")}
    assert {name for name in left if not name.startswith(b"s:")} == {n for n in expected if n[:2] != b"s:"}
    assert {name for name in left if name.startswith(b"s:")} >= {n for n in expected if n[:2] == b"s:"}
    for name in left:
        if name.startswith(b"s:") or name in (b"age", b"exp"):
            members = await command(lone.url, "ZRANGE", BASE + name, 0, -1)
            assert members == [b"last"] or name not in expected
    assert await command(lone.url, "HLEN", BASE + b"meta") == 4


@pytest.mark.event(23)
async def test_a_read_only_server_serves_and_refuses(store: RedisStore, lone: ValkeyChild) -> None:
    made = entry()
    assert await store.put(made)
    await command(lone.url, "REPLICAOF", "127.0.0.1", 1)
    for _ in range(8):
        assert await fault(store.put(entry("e2"))) == "readonly"
    assert await fault(store.delete(Selector(ACME))) == "readonly"
    assert await fault(store.ping()) == "readonly"
    assert same(await store.get_exact(ACME, made.key), made)
    assert [e.id async for e in store.scan()] == [made.id]
    assert not store.is_open
    await command(lone.url, "CONFIG", "SET", "replica-serve-stale-data", "no")
    assert await fault(store.get_exact(ACME, made.key)) == "loading"
    await command(lone.url, "REPLICAOF", "NO", "ONE")
    assert same(await store.get_exact(ACME, made.key), made)
    assert await store.put(entry("e2"))


@pytest.mark.event(23)
async def test_a_full_server_serves_and_forgets(store: RedisStore, lone: ValkeyChild) -> None:
    made = entry(tags=("x",))
    assert await store.put(made)
    await command(lone.url, "CONFIG", "SET", "maxmemory", 1)
    before = await keys_of(lone.url)
    assert await fault(store.put(entry("e2", key=made.key))) == "full"
    assert await fault(store.ping()) == "full"
    assert (await keys_of(lone.url)).keys() == before.keys()
    assert same(await store.get_exact(ACME, made.key), made)
    assert await store.delete(Selector(ACME, tag="x")) == 1
    assert await store.delete(Selector(ACME, ids=(made.id,))) == 0
    assert await store.get_exact(ACME, made.key) is None
    await command(lone.url, "CONFIG", "SET", "maxmemory", 0)
    assert await store.put(entry("e2"))


@pytest.mark.event(23)
async def test_a_server_that_wants_a_password_is_named(lone: ValkeyChild, clock: WallClock) -> None:
    await command(lone.url, "CONFIG", "SET", "requirepass", "secret")
    store = RedisStore(lone.url, clock, StoreRules())
    assert await fault(store.get_exact(ACME, ExactKey("k"))) == "auth"
    wrong = RedisStore(f"{lone.url}?password=wrong", clock, StoreRules())
    assert await fault(wrong.ping()) == "auth"
    right = RedisStore(f"{lone.url}?password=secret", clock, StoreRules())
    await right.ping()
    await command(f"{lone.url}?password=secret", "CONFIG", "SET", "requirepass", "")
    for one in (store, wrong, right):
        await one.aclose()


@pytest.mark.event(23)
@pytest.mark.parametrize(
    "part", ["e:e1", "k", "s", "age", "exp", "meta", "ep", "x", "changes", "seq", "tenants"]
)
async def test_a_key_of_a_wrong_type_is_a_named_fault(
    store: RedisStore, lone: ValkeyChild, part: str
) -> None:
    made = entry()
    suffixes = {
        "k": b"k:" + digest(made.key),
        "x": b"x:" + digest(made.key),
        "s": b"s:" + epoch_field("model:small"),
    }
    shared = part in ("changes", "seq", "tenants")
    key = Keys().shared(part) if shared else BASE + suffixes.get(part, part.encode())
    other = (
        ("SET", key, "x")
        if part in ("age", "exp", "meta", "s", "ep", "changes", "tenants")
        else ("SADD", key, "x")
    )
    await command(lone.url, *other)
    before = set(await keys_of(lone.url))
    assert await fault(store.put(made)) == "wrongtype"
    assert set(await keys_of(lone.url)) == before, "all or none"
    for call in (
        lambda: store.get_exact(ACME, made.key),
        lambda: store.get_many(ACME, [made.id]),
        lambda: store.epochs(ACME, ["", f"key:{made.key}"]),
        lambda: store.delete(Selector(ACME, model="small")),
        lambda: store.delete(Selector(ACME, ids=(made.id,))),
        lambda: store.counts(ACME),
        lambda: store.list_entries(Selector(ACME)),
        lambda: store.show(ACME, made.id),
        lambda: store.tidy(ACME),
        lambda: anext(store.changes()),
    ):
        try:
            await call()
        except StoreError as error:
            assert error.kind == "wrongtype"  # noqa: PT017 - some of them do not touch the key
    await command(lone.url, "DEL", key)
    assert await store.put(await born(store, entry("e9")))


async def test_damaged_values_are_dropped(store: RedisStore, lone: ValkeyChild) -> None:
    sound = entry("sound")
    assert await store.put(sound)
    value = codec.encode(entry())
    others = codec.encode(entry(tenant=TenantId("other")))
    for bad in (
        b"",
        b"x",
        b"?" * 40,
        value[:-1],
        value[:30],
        value[:25] + b"\xff" + value[26:],
        others,
        codec.encode(sound),
    ):
        made = entry("e1", tags=("t",))
        assert await store.put(made)
        await command(lone.url, "SET", BASE + b"e:e1", bad)
        assert await store.get_many(ACME, [sound.id, made.id]) != [None, None]
        assert await command(lone.url, "EXISTS", BASE + b"e:e1") == 0
        assert await store.put(made)
        await command(lone.url, "SET", BASE + b"e:e1", bad)
        assert await fault(store.get_exact(ACME, made.key)) == "corrupt"
        assert await store.get_exact(ACME, made.key) is None
        assert [e.id async for e in store.scan()] == [sound.id]
        assert (await store.counts(ACME)).entries == 1
    assert store.corrupt >= 13
    assert same(await store.get_exact(ACME, sound.key), sound)


async def test_a_value_of_another_key_is_not_served(store: RedisStore, lone: ValkeyChild) -> None:
    one, two = entry("e1"), entry("e2")
    assert await store.put(one)
    assert await store.put(two)
    await command(lone.url, "SET", BASE + b"k:" + digest(one.key), "e2")
    assert await fault(store.get_exact(ACME, one.key)) == "corrupt"


@pytest.mark.event(25)
async def test_a_flush_under_load_is_only_misses(store: RedisStore, lone: ValkeyChild) -> None:
    async def work(turn: int) -> int:
        kept = 0
        for n in range(40):
            made = entry(f"e{turn}-{n}", tags=("x",))
            assert await store.put(made)
            found = await store.get_exact(ACME, made.key)
            assert found is None or found.id == made.id
            kept += found is not None
        return kept

    async def flush() -> int:
        for _ in range(8):
            await asyncio.sleep(0.01)
            await command(lone.url, "FLUSHALL")
            await command(lone.url, "SCRIPT", "FLUSH")
        return 1

    kept = await asyncio.gather(*(work(turn) for turn in range(4)), flush())
    assert sum(kept) > 100
    last = entry("last")
    assert await store.put(last)
    assert same(await store.get_exact(ACME, last.key), last)


async def test_lists_no_tenant_that_holds_nothing(store: RedisStore) -> None:
    for name in ("a", "b", "c"):
        assert await store.put(entry(tenant=TenantId(name)))
    await store.delete(Selector(TenantId("a")))
    await store.delete(Selector(TenantId("b"), ids=(EntryId("e1"),)))
    assert await store.tenants() == ["c"]


async def test_large_answers_pass(store: RedisStore) -> None:
    body = random.Random(1).randbytes(900_000)
    made = dataclasses.replace(entry(), completion=Completion(body, None, chunks=body[:200_000]))
    assert await store.put(made)
    assert same(await store.get_exact(ACME, made.key), made)


async def test_many_deletions_leave_newcomers_alone(store: RedisStore) -> None:
    for n in range(300):
        assert await store.put(entry(f"e{n}", tags=("x",)))

    async def newcomers() -> list[Entry]:
        kept = []
        for n in range(60):
            made = await born(store, entry(f"n{n}", tags=("x",)))
            if await store.put(made) and made.epochs.values:
                kept.append(made)
        return kept

    count, kept = await asyncio.gather(store.delete(Selector(ACME, tag="x")), newcomers())
    assert count >= 300
    found = await store.get_many(ACME, [made.id for made in kept])
    assert len(kept) > 10
    assert all(found)
    assert sorted([e.id async for e in store.scan()]) == sorted(made.id for made in kept)


async def born(store: RedisStore | FakeEntryStore, made: Entry) -> Entry:
    keys = ["", f"ns:{made.namespace}", f"model:{made.model}", f"key:{made.key}"]
    keys += [f"tag:{tag}" for tag in made.tags]
    return dataclasses.replace(made, epochs=await store.epochs(made.tenant, keys))


@pytest.mark.parametrize("seed", range(3))
async def test_real_and_fake_agree(valkey: ValkeyChild, clock: WallClock, seed: int) -> None:
    """Random operations of two tenants on both; again and again, all answers are equal."""
    chance = random.Random(seed)
    quota = [Quota(entries=12), Quota(12, 12_500, 0.4), Quota(12, 1 << 30, 0.3)][seed]
    rules = StoreRules(prefix=f"agree{seed}", quota_of=lambda _: quota)
    real, fake = RedisStore(valkey.url, clock, rules), FakeEntryStore(clock, rules.quota_of)
    waiting: list[tuple[Entry, Entry]] = []
    for turn in range(250):
        tenant = chance.choice([ACME, TenantId("other")])
        name, tag = f"e{chance.randrange(20)}", chance.choice("xyz")
        match chance.randrange(12):
            case 10 | 11:
                uses = {EntryId(f"e{chance.randrange(20)}"): chance.uniform(1, 9000) for _ in range(3)}
                await real.use(tenant, uses)
                await fake.use(tenant, uses)
            case 0:
                only = chance.choice(
                    [
                        {"tag": tag},
                        {"namespace": "n1"},
                        {"model": "m1"},
                        {"ids": (name,)},
                        {"tag": tag, "model": "m1"},
                    ]
                )
                selector = Selector(tenant, **only)
                assert await real.delete(selector) == await fake.delete(selector)
            case 1:
                assert await real.delete(Selector(tenant, ids=(EntryId(name),))) == await fake.delete(
                    Selector(tenant, ids=(EntryId(name),))
                )
            case 2 | 3 if waiting:  # a slow refresh arrives
                one, two = waiting.pop(chance.randrange(len(waiting)))
                assert await real.put(one) == await fake.put(two)
            case _:
                made = entry(
                    name,
                    tenant=tenant,
                    key=ExactKey(f"k{chance.randrange(15)}"),
                    namespace=f"n{chance.randrange(3)}",
                    model=f"m{chance.randrange(2)}",
                    tags=(tag,),
                    status=chance.choice([*ReviewStatus, ReviewStatus.UNREVIEWED]),
                    version=chance.randrange(1, 4),
                    prompt=f"turn {turn}",
                    worth=chance.uniform(1, 5000),
                    holder=chance.choice(["", "ab", "cd", "ef"]),
                    subject=chance.choice(["", "", "01", "02"]),
                )
                both = (await born(real, made), await born(fake, made))
                if chance.random() < 0.2:
                    waiting.append(both)
                else:
                    assert await real.put(both[0]) == await fake.put(both[1])
        if turn % 3 == 0:
            await agree(real, fake, tenant)
    await whole(real, valkey.url, rules.prefix)
    await real.aclose()


async def agree(real: RedisStore, fake: FakeEntryStore, tenant: TenantId) -> None:
    names = [EntryId(f"e{n}") for n in range(20)]
    one, two = await real.get_many(tenant, names), await fake.get_many(tenant, names)
    assert [e and (e.id, e.prompt) for e in one] == [e and (e.id, e.prompt) for e in two]
    for n in range(15):
        key = ExactKey(f"k{n}")
        found = [await store.get_exact(tenant, key) for store in (real, fake)]
        assert (found[0] and found[0].id) == (found[1] and found[1].id)
    pages = [await store.list_entries(Selector(tenant), limit=100) for store in (real, fake)]
    assert [e.prompt for e in pages[0].entries] == [e.prompt for e in pages[1].entries]


async def whole(real: RedisStore, url: str, prefix: str) -> None:
    """Every trace on the server leads to an entry, and every entry has all its traces."""
    for tenant in await real.tenants():
        base = Keys(prefix).base(tenant)
        page = await real.list_entries(Selector(tenant), limit=500)
        ids = {e.id.encode() for e in page.entries}
        for name in (b"age", b"exp"):
            assert set(await command(url, "ZRANGE", base + name, 0, -1)) == ids
        meta = await command(url, "HGETALL", base + b"meta")
        held = {name: int(float(size)) for name, size in zip(meta[::2], meta[1::2], strict=True)}
        assert {name for name in held if not name.startswith(b"#")} == ids
        assert held[b"#b"] == sum(size for name, size in held.items() if not name.startswith(b"#"))
        assert set(await command(url, "ZRANGE", base + b"val", 0, -1)) == ids
        await shares_are_whole(url, base, held)
        sets: dict[bytes, set[bytes]] = {}
        for e in page.entries:
            assert await command(url, "GET", base + b"k:" + digest(e.key)) == e.id.encode()
            for key in [*epoch_keys(e)][1:]:
                sets.setdefault(base + b"s:" + epoch_field(key), set()).add(e.id.encode())
        for name in await command(url, "KEYS", base.decode().replace("{", "[{]") + "s:*"):
            assert set(await command(url, "ZRANGE", name, 0, -1)) == sets.pop(name)
        assert not sets


async def shares_are_whole(url: str, base: bytes, held: dict[bytes, int]) -> None:
    """Whose share an entry takes stands at three places, and all say the same."""
    told = await command(url, "HGETALL", base + b"own")
    sets: dict[bytes, set[bytes]] = {}
    for name, who in zip(told[::2], told[1::2], strict=True):
        for start in range(0, len(who), 9):
            sets.setdefault(who[start : start + 9], set()).add(name)
    for who, names in sets.items():
        assert set(await command(url, "ZRANGE", base + b"h:" + who, 0, -1)) == names
    for letter in (b"k", b"u"):
        ours = {who: names for who, names in sets.items() if who.startswith(letter)}
        for kind, weight in ((b"hn", lambda _: 1), (b"hb", held.__getitem__)):
            rows = await command(url, "ZRANGE", base + kind + letter, 0, -1, "WITHSCORES")
            said = {who: float(count) for who, count in zip(rows[::2], rows[1::2], strict=True)}
            assert said == {who: sum(map(weight, names)) for who, names in ours.items()}
