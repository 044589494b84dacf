"""A change of encoder over a real store: what lies ready is given, the rest is made, nothing of anybody is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from semcache.core import Embedding, EncoderId, Entry, EntryId
from semcache.errors import EncoderError
from semcache.renewing import Renewal, Renewing
from semcache.renewing_parts import vector_shelf
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.vector_shelf import VectorShelf
from tests.fakes.encoder import FakeEncoder
from tests.store.servers import ACME, WallClock, entry, unit

OLD = EncoderId("minilm")
COUNT = 150


class Alone(FakeEncoder):
    """One encoder for everything."""

    @property
    def roles(self) -> str:
        return f"- {self.generation}"

    def reader(self, text: str) -> EncoderId | None:
        return self.generation


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ValkeyChild]:
    child = ValkeyChild(tmp_path, ChildRules())
    await child.start()
    yield child
    await child.stop()


@pytest.fixture
async def store(server: ValkeyChild) -> AsyncIterator[RedisStore]:
    made = RedisStore(server.url, WallClock(), StoreRules())
    for number in range(COUNT):
        await made.put(entry(f"e{number:03}", prompt=f"what is number {number}?"))
    yield made
    await made.aclose()


@pytest.fixture
async def shelf(server: ValkeyChild) -> AsyncIterator[VectorShelf]:
    made = vector_shelf(server.url)
    yield made
    await made.aclose()


async def generations(store: RedisStore) -> dict[str, int]:
    found: dict[str, int] = {}
    async for one in store.scan(ACME):
        name = one.embedding.encoder if one.embedding else ""
        found[name] = found.get(name, 0) + 1
    return found


def never() -> bool:
    return False


async def test_built_beside_then_given_in_one_go(store: RedisStore, shelf: VectorShelf) -> None:
    encoder = Alone()
    build = Renewal(store, shelf, encoder)
    await build.build()
    assert (build.progress.made, build.progress.ready) == (COUNT, 0)
    # The service went on as before, and a second build has nothing left to do.
    assert await generations(store) == {OLD: COUNT}
    again = Renewal(store, shelf, encoder)
    await again.build()
    assert (again.progress.made, again.progress.ready, len(encoder.calls)) == (0, COUNT, COUNT)
    renewal = Renewal(store, shelf, encoder)
    await renewal.renew(never)
    assert (renewal.progress.ready, renewal.progress.made, len(encoder.calls)) == (COUNT, 0, COUNT)
    assert await generations(store) == {encoder.generation: COUNT}


async def test_the_way_back_needs_no_encoder(store: RedisStore, shelf: VectorShelf) -> None:
    await Renewal(store, shelf, Alone()).renew(never)
    old = Alone(generation=OLD)
    back = Renewal(store, shelf, old)
    await back.renew(never)
    assert (back.progress.ready, old.calls) == (COUNT, [])
    assert await generations(store) == {OLD: COUNT}


async def test_each_vector_is_that_of_its_own_question(store: RedisStore, shelf: VectorShelf) -> None:
    encoder = Alone()
    await Renewal(store, shelf, encoder).renew(never)
    async for one in store.scan(ACME):
        wanted = await encoder.encode(one.prompt)
        assert one.embedding is not None
        assert float(one.embedding.vector @ wanted.vector) > 0.999


async def test_what_cannot_be_renewed_is_told_apart(store: RedisStore, shelf: VectorShelf) -> None:
    chat = entry("chat", context=b'{"said": []}')
    await store.put(chat)
    await store.put(entry("blind", embedding=None))
    await store.put(entry("empty", prompt="  "))
    await store.put(entry("new", embedding=Embedding(unit(3, 64), Alone().generation)))
    renewal = Renewal(store, shelf, Alone())
    await renewal.renew(never)
    told = renewal.progress
    assert (told.bound, told.unmatched, told.refused, told.current) == (1, 1, 1, 1)
    assert told.seen == COUNT + 4
    # Nothing is lost: they are there for equal requests.
    assert all(await store.get_many(ACME, [EntryId(name) for name in ("chat", "blind", "empty", "new")]))


async def test_a_busy_encoder_is_waited_for_and_a_closed_one_is_not(
    store: RedisStore, shelf: VectorShelf
) -> None:
    class Busy(Alone):
        times = 3

        async def encode(self, text: str) -> Embedding:
            self.times -= 1
            if self.times > 0:
                raise EncoderError("busy", kind="busy")
            return await super().encode(text)

    await Renewal(store, shelf, Busy()).renew(never)
    assert await generations(store) == {Alone().generation: COUNT}
    closed = Alone(fault=EncoderError("closed", kind="closed"), generation=EncoderId("x@1"))
    with pytest.raises(EncoderError):
        await Renewal(store, shelf, closed).renew(never)


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not check():  # noqa: ASYNC110 - what is waited for is in a store
            await asyncio.sleep(0.01)


def worker(store: RedisStore, shelf: VectorShelf, name: str, generation: str) -> Renewing:
    encoder = Alone(generation=EncoderId(generation))
    return Renewing(store, shelf, encoder, name, lambda: 0, every=0.02, rest=0.0)


async def test_one_worker_renews_and_only_for_the_configuration_started_last(
    store: RedisStore, shelf: VectorShelf
) -> None:
    first = worker(store, shelf, "first", "one@1")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(first.run())
        await until(lambda: first.progress.made == COUNT)
        # A replica of the next configuration comes: the older one must not turn its entries back.
        second = worker(store, shelf, "second", "two@1")
        later = group.create_task(second.run())
        await until(lambda: second.progress.made == COUNT)
        await asyncio.sleep(0.2)
        assert await generations(store) == {"two@1": COUNT}
        assert await shelf.target() == ("- two@1", "- two@1")
        running.cancel()
        later.cancel()


async def test_a_new_answer_meanwhile_is_not_overwritten(store: RedisStore, shelf: VectorShelf) -> None:
    class Slow(Alone):
        async def encode(self, text: str) -> Embedding:
            found = await super().encode(text)
            if "number 7?" in text:
                await store.put(changed)
            return found

    changed: Entry = entry("e007", prompt="what is number 7?", version=2, tags=("edited",))
    renewal = Renewal(store, shelf, Slow())
    await renewal.renew(never)
    assert renewal.progress.changed == 1
    (kept,) = await store.get_many(ACME, [EntryId("e007")])
    assert kept is not None
    assert kept.tags == ("edited",)


async def test_who_cannot_be_read_by_the_one_to_read_it_keeps_what_it_has(
    store: RedisStore, shelf: VectorShelf
) -> None:
    class Second(Alone):
        """Asked first, but leaves one text to the encoder that had it before."""

        def generations(self) -> frozenset[EncoderId]:
            return frozenset({self.generation, OLD})

        async def encode(self, text: str) -> Embedding:
            found = await super().encode(text)
            return Embedding(found.vector, OLD) if "number 9?" in text else found

    renewal = Renewal(store, shelf, Second())
    await renewal.renew(never)
    assert (renewal.progress.made, renewal.progress.current) == (COUNT - 1, 1)
    assert await generations(store) == {Alone().generation: COUNT - 1, OLD: 1}


async def test_what_is_renewed_is_not_gone_through_again(store: RedisStore, shelf: VectorShelf) -> None:
    first = worker(store, shelf, "first", "one@1")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(first.run())
        await until(lambda: first.progress.made == COUNT)
        running.cancel()
    second = worker(store, shelf, "second", "one@1")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(second.run())
        await asyncio.sleep(0.3)
        running.cancel()
    assert second.progress.seen == 0
