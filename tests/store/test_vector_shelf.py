"""Vectors beside entries on a real server: swapped in one step, gone with their entry, never another's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest

from semcache.core import Embedding, EncoderId, EntryId, TenantId
from semcache.ports import Selector
from semcache.renewing_parts import vector_shelf
from semcache.store.embedded import ValkeyChild
from semcache.store.keys import Keys, digest
from semcache.store.redis_store import RedisStore
from semcache.store.vector_shelf import VectorShelf
from tests.store.servers import ACME, command, entry, unit

NEXT = EncoderId("next@2")
PLACE = Keys().base(ACME) + b"g:" + digest(NEXT)


@pytest.fixture
async def shelf(lone: ValkeyChild) -> AsyncIterator[VectorShelf]:
    made = vector_shelf(lone.url)
    yield made
    await made.aclose()


async def read(store: RedisStore, name: str) -> object:
    return (await store.get_many(ACME, [EntryId(name)]))[0]


async def test_vectors_lie_beside_what_is_there(store: RedisStore, shelf: VectorShelf) -> None:
    await store.put(entry("e1"))
    vectors = {EntryId("e1"): unit(1), EntryId("never"): unit(2)}
    assert await shelf.keep(ACME, NEXT, vectors) == 1
    first, second = await shelf.kept(ACME, NEXT, [EntryId("e1"), EntryId("never")])
    assert first is not None
    assert float(first @ unit(1)) > 0.999
    assert second is None
    assert await shelf.kept(ACME, EncoderId("other@1"), [EntryId("e1")]) == [None]
    assert await shelf.kept(TenantId("else"), NEXT, [EntryId("e1")]) == [None]
    assert await shelf.counts(ACME) == {NEXT: 1}


async def test_an_entry_is_given_another_vector(store: RedisStore, shelf: VectorShelf) -> None:
    one = entry("e1", tags=("kb",))
    await store.put(one)
    stored = await read(store, "e1")
    before = await store.counts(ACME)
    assert await shelf.swap(stored, Embedding(unit(7, 512), NEXT))  # type: ignore[arg-type]  # it is an entry
    after = await read(store, "e1")
    assert after.embedding.encoder == NEXT  # type: ignore[attr-defined]
    assert after.embedding.vector.shape == (512,)  # type: ignore[attr-defined]
    assert replace(after, embedding=None) == replace(stored, embedding=None)  # type: ignore[type-var]
    # What it had lies beside, for the way back; the bytes are counted anew; it goes by its tag as before.
    (old,) = await shelf.kept(ACME, one.embedding.encoder, [one.id])  # type: ignore[union-attr]
    assert old is not None
    assert (await store.counts(ACME)).bytes - before.bytes == 2 * (512 - 384) + len(NEXT) - len("minilm")
    assert await store.delete(Selector(ACME, tag="kb")) == 1
    assert await read(store, "e1") is None


async def test_who_was_changed_meanwhile_is_left_alone(store: RedisStore, shelf: VectorShelf) -> None:
    await store.put(entry("e1"))
    stale = await read(store, "e1")
    await store.put(entry("e1", prompt="another text", version=2))
    assert not await shelf.swap(stale, Embedding(unit(7), NEXT))  # type: ignore[arg-type]
    await store.delete(Selector(ACME, (EntryId("e1"),)))
    assert not await shelf.swap(stale, Embedding(unit(7), NEXT))  # type: ignore[arg-type]
    assert await read(store, "e1") is None


async def test_vectors_go_with_their_entry(store: RedisStore, shelf: VectorShelf, lone: ValkeyChild) -> None:
    for name in ("e1", "e2"):
        await store.put(entry(name))
        await shelf.keep(ACME, NEXT, {EntryId(name): unit(3)})
    await store.delete(Selector(ACME, (EntryId("e1"),)))
    assert await command(lone.url, "HKEYS", PLACE) == [b"e2"]
    await store.delete(Selector(ACME))
    assert await command(lone.url, "EXISTS", PLACE) == 0


async def test_everything_beside_has_an_end(store: RedisStore, shelf: VectorShelf, lone: ValkeyChild) -> None:
    await store.put(entry("e1"))
    await shelf.keep(ACME, NEXT, {EntryId("e1"): unit(3)})
    for key in (PLACE, Keys().base(ACME) + b"gs"):
        assert 0 < int(await command(lone.url, "PTTL", key)) <= 700_000


async def test_a_damaged_vector_is_none(store: RedisStore, shelf: VectorShelf, lone: ValkeyChild) -> None:
    await store.put(entry("e1"))
    await shelf.keep(ACME, NEXT, {EntryId("e1"): unit(3)})
    good = bytes(await command(lone.url, "HGET", PLACE, "e1"))
    for bad in (b"", good[:-1], bytes([good[0] ^ 1]) + good[1:], b"x" * 100, np.zeros(384, "<f2").tobytes()):
        await command(lone.url, "HSET", PLACE, "e1", bad)
        assert await shelf.kept(ACME, NEXT, [EntryId("e1")]) == [None]


async def test_what_was_made_for_nothing_is_dropped(store: RedisStore, shelf: VectorShelf) -> None:
    await store.put(entry("e1"))
    await shelf.keep(ACME, NEXT, {EntryId("e1"): unit(3)})
    for _ in range(2):
        await shelf.drop(ACME, NEXT)
        assert await shelf.counts(ACME) == {}
        assert await shelf.kept(ACME, NEXT, [EntryId("e1")]) == [None]


async def test_the_last_to_say_so_says_what_entries_are_to_have(shelf: VectorShelf) -> None:
    assert await shelf.target() == ("", "")
    await shelf.aim("a@1 b@1")
    await shelf.settle("a@1 b@1")
    await shelf.aim("a@2 b@1")
    assert await shelf.target() == ("a@2 b@1", "a@1 b@1")
    assert await shelf.lease("one", 30)
    assert not await shelf.lease("two", 30)
    await shelf.lease("one", 0)
    assert await shelf.lease("two", 30)
