"""Starts from snapshots, and when they are written: the index, the shelf and the follower together."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from semcache.core import Embedding, EncoderId, EntryId
from semcache.errors import StoreError
from semcache.lookup import snapshot_shelf
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.follower import Follower, FollowerTuning
from semcache.lookup.keeping import Keeper, KeepingTuning
from semcache.lookup.snapshot_shelf import Shelf
from semcache.ports import EntriesDeleted, EntryPut, EpochBumped, StoreReset
from tests.lookup.scripted_store import ACME, E5, ScriptedStore, entry, space, unit
from tests.lookup.snapshots import block, loaded, saved
from tests.lookup.test_follower import Generations
from tests.lookup.test_follower import until as soon

OTHER = EncoderId("other")
OFTEN = KeepingTuning(every=0.02, first=0.0)
QUICK = FollowerTuning(stall=60.0, first_retry=0.005, last_retry=0.02, tick=0.01)
SELDOM = KeepingTuning(every=3600.0, first=3600.0)


async def until(true: Callable[[], bool]) -> None:
    await soon(true, 10.0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def vectors(folder: Path) -> Path:
    (path,) = folder.glob("*.vectors")
    return path


class Kept:
    def __init__(
        self, folder: Path, store: ScriptedStore, tuning: KeepingTuning, served: tuple[EncoderId, ...]
    ):
        self.folder, self.store = folder, store
        self.index = FaissIndex()
        self.encoder = Generations(*served)
        self.keeper = Keeper(folder, self.index, self.encoder.generations, tuning=tuning)
        self.follower = Follower(
            store, self.index, self.encoder, tuning=QUICK, kept=self.keeper, on_change=self.keeper.on_change
        )

    def held(self) -> list[str]:
        return sorted(self.index.entry_ids())

    def on_disk(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            found = loaded(self.folder)
            return sorted(name for one in found[1] for name in one.ids) if found else []
        return []

    async def synced(self) -> None:
        await until(lambda: self.follower.is_synced)
        self.index.check_integrity()


@contextlib.asynccontextmanager
async def kept(
    folder: Path,
    store: ScriptedStore,
    *,
    tuning: KeepingTuning = SELDOM,
    served: tuple[EncoderId, ...] = (E5,),
    first: object = StoreReset(),
) -> AsyncIterator[Kept]:
    made = Kept(folder, store, tuning, served)
    store.say(first)  # type: ignore[arg-type] # a change, or None for a stream that goes on
    tasks = [asyncio.create_task(made.follower.run()), asyncio.create_task(made.keeper.run(made.follower))]
    try:
        yield made
    finally:
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await made.keeper.aclose()
        await made.index.aclose()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


async def written(folder: Path, *names: str) -> ScriptedStore:
    """A store with these entries, whose index was written at an orderly end."""
    store = ScriptedStore(*(entry(name, ord(name[0])) for name in names))
    async with kept(folder, store) as it:
        await it.synced()
    return store


async def test_an_orderly_end_writes_and_a_start_reads_nothing_but_what_came_since(folder: Path) -> None:
    store = await written(folder, "a", "b", "c")
    store.scans = 0
    store.reads.clear()
    store.held[EntryId("d")] = entry("d", ord("d"))
    async with kept(folder, store, first=EntryPut(ACME, EntryId("d"))) as it:
        await it.synced()
        await until(lambda: it.held() == ["a", "b", "c", "d"])
        assert (store.scans, store.reads) == (0, [(ACME, ("d",))])
        assert it.keeper.counts.loaded == 3
        (near,) = await it.index.search(space(store.held[EntryId("b")]), Embedding(unit(ord("b")), E5), 1)
        assert (near.entry_id, near.cosine) == ("b", pytest.approx(1.0, abs=1e-4))
    assert store.cursors[-1].identity == "one"


async def test_where_the_stream_has_moved_on_only_what_differs_is_read(folder: Path) -> None:
    store = await written(folder, "a", "b", "c")
    store.reads.clear()
    del store.held[EntryId("a")]
    store.held[EntryId("b")] = entry("b", 999)
    store.held[EntryId("d")] = entry("d", ord("d"))
    async with kept(folder, store) as it:
        await it.synced()
        assert it.held() == ["b", "c", "d"]
        assert sorted(name for _, names in store.reads for name in names) == ["a", "b", "d"]
        (near,) = await it.index.search(space(store.held[EntryId("b")]), Embedding(unit(999), E5), 1)
        assert (near.entry_id, near.cosine) == ("b", pytest.approx(1.0, abs=1e-4))


async def test_what_went_while_nobody_was_there_goes_from_the_disk_at_once(folder: Path) -> None:
    store = await written(folder, "a", "b")
    del store.held[EntryId("a")]
    async with kept(folder, store, first=EntriesDeleted(ACME, (EntryId("a"),))) as it:
        await until(lambda: it.on_disk() == ["b"])


@pytest.mark.event(26)
@pytest.mark.parametrize("what", ["flipped", "cut", "emptied", "another version", "unreadable"])
async def test_a_damaged_snapshot_is_set_aside_and_the_index_filled_from_the_store(
    folder: Path, what: str
) -> None:
    store = await written(folder, "a", "b", "c")
    path = vectors(folder)
    raw = path.read_bytes()
    path.unlink()
    match what:
        case "flipped":
            path.write_bytes(raw[:-150] + bytes([raw[-150] ^ 4]) + raw[-149:])
        case "cut":
            path.write_bytes(raw[:-1])
        case "emptied":
            path.write_bytes(b"")
        case "another version":
            path.write_bytes(raw[:9] + b"\x07" + raw[10:])
        case "unreadable":
            path.mkdir()
    async with kept(folder, store) as it:
        await it.synced()
        assert it.held() == ["a", "b", "c"]
        assert (it.keeper.counts.refused, it.keeper.counts.loaded) in ((1, 0), (1, 3))
        assert (folder / "manifest.bad").exists()
    assert loaded(folder) is not None, "the end of that run wrote a sound one"


@pytest.mark.event(26)
async def test_a_stream_that_goes_on_does_not_hide_that_a_snapshot_was_refused(folder: Path) -> None:
    store = await written(folder, "a", "b")
    path = vectors(folder)
    raw = path.read_bytes()
    # Sound at its beginning: the place in the stream is believed until the fault is met.
    path.write_bytes(raw[:-150] + bytes([raw[-150] ^ 4]) + raw[-149:])
    store.scans = 0
    async with kept(folder, store, first=None) as it:
        await it.synced()
        assert (it.held(), store.scans) == (["a", "b"], 1)


@pytest.mark.event(25)
async def test_a_snapshot_of_another_store_is_not_used(folder: Path) -> None:
    await written(folder, "a", "b")
    store = ScriptedStore(entry("x", 1))
    store.identity = "two"
    async with kept(folder, store) as it:
        await it.synced()
        assert it.held() == ["x"]
        assert (it.keeper.counts.refused, it.keeper.counts.loaded) == (1, 0)


@pytest.mark.event(31)
async def test_vectors_of_an_encoder_that_is_gone_are_not_loaded(folder: Path) -> None:
    store = await written(folder, "a", "b")
    store.held = {EntryId("x"): entry("x", 1, encoder=OTHER)}
    async with kept(folder, store, served=(OTHER,), first=None) as it:
        await it.synced()
        assert it.held() == ["x"]
        assert (it.keeper.counts.refused, it.keeper.counts.loaded) == (1, 0)


@pytest.mark.event(31)
async def test_after_an_encoder_more_the_store_is_compared_whatever_the_stream_says(folder: Path) -> None:
    store = await written(folder, "a")
    store.held[EntryId("x")] = entry("x", 1, encoder=OTHER)
    async with kept(folder, store, served=(E5, OTHER), first=None) as it:
        await until(lambda: it.held() == ["a", "x"])
        assert it.keeper.counts.loaded == 1


async def test_only_vectors_of_encoders_in_service_come_from_a_snapshot(folder: Path) -> None:
    store = ScriptedStore(entry("a", 1), entry("b", 2, encoder=OTHER))
    async with kept(folder, store, served=(E5, OTHER)) as it:
        await it.synced()
    del store.held[EntryId("b")]
    async with kept(folder, store, served=(E5,), first=None) as it:
        await it.synced()
        assert it.held() == ["a"]


async def test_what_was_not_taken_from_a_snapshot_goes_from_it(folder: Path) -> None:
    store = ScriptedStore(entry("a", 1), entry("b", 2, encoder=OTHER))
    async with kept(folder, store, served=(E5, OTHER)) as it:
        await it.synced()
    async with kept(folder, store, served=(E5, EncoderId("third"))) as it:
        await until(lambda: it.on_disk() == ["a"])


async def test_no_memory_for_a_snapshot_is_no_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def starved(*_: object) -> None:
        raise MemoryError

    store = await written(folder, "a", "b")
    monkeypatch.setattr(FaissIndex, "take", starved)
    monkeypatch.setattr(FaissIndex, "pieces", starved)
    async with kept(folder, store, tuning=OFTEN, first=None) as it:
        await it.synced()
        assert it.held() == ["a", "b"]
        await until(lambda: it.keeper.counts.failed > 0)


async def test_it_is_written_again_when_enough_has_changed(folder: Path) -> None:
    store = ScriptedStore(*(entry(f"e{n}", n) for n in range(100)))
    async with kept(folder, store, tuning=OFTEN) as it:
        await until(lambda: len(it.on_disk()) == 100)
        for number in range(8):
            await it.index.add(space(entry("x")), EntryId(f"x{number}"), Embedding(unit(900 + number), E5))
        await until(lambda: len(it.on_disk()) == 108)


async def test_it_is_not_written_for_little(folder: Path) -> None:
    store = await written(folder, *(f"e{n}" for n in range(100)))
    async with kept(folder, store, tuning=KeepingTuning(every=2.0, first=0.0), first=None) as it:
        await it.synced()
        await asyncio.sleep(0.6)
        for number in range(4):
            await it.index.add(space(entry("x")), EntryId(f"x{number}"), Embedding(unit(900 + number), E5))
        await asyncio.sleep(1.2)
        assert (len(it.on_disk()), it.keeper.counts.written) == (100, 0)
    assert len(it.on_disk()) == 104, "but at the end"


@pytest.mark.event(41)
@pytest.mark.parametrize("key", ["", "erasure"])
async def test_what_is_erased_goes_from_the_disk_at_once_and_the_rest_is_written_anew(
    folder: Path, key: str
) -> None:
    store = await written(folder, "a", "b")
    shelf = Shelf(folder)
    shelf.set_aside()
    shelf.close()
    saved(folder, block(2))
    async with kept(folder, store) as it:
        await it.synced()
        store.read_fault = StoreError("away")
        del store.held[EntryId("a")]
        store.say(EpochBumped(ACME, key, 1))
        await until(lambda: names(folder) == ["lock"])
        # Not before the index itself is rid of it.
        await asyncio.sleep(0.7)
        assert it.on_disk() == []
        store.read_fault = None
        await until(lambda: it.on_disk() == ["b"])


@pytest.mark.event(41)
async def test_other_invalidations_leave_the_snapshot_where_it_is(folder: Path) -> None:
    store = await written(folder, "a", "b")
    async with kept(folder, store, first=None) as it:
        await it.synced()
        store.say(EpochBumped(ACME, "tag:x", 1))
        await asyncio.sleep(0.05)
        assert it.on_disk() == ["a", "b"]


@pytest.mark.event(28)
async def test_a_disk_that_takes_nothing_is_counted_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    store = ScriptedStore(entry("a", 1))
    monkeypatch.setattr(snapshot_shelf, "_create", refuse)
    async with kept(folder, store, tuning=OFTEN) as it:
        await it.synced()
        await until(lambda: it.keeper.counts.failed > 0)
        (near,) = await it.index.search(space(entry("a")), Embedding(unit(1), E5), 1)
        assert near.entry_id == "a"
        assert names(folder) == ["lock"]
        monkeypatch.undo()
        await until(lambda: it.on_disk() == ["a"])


@pytest.mark.event(28)
async def test_a_folder_that_cannot_be_made_is_no_reason_not_to_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = ScriptedStore(entry("a", 1))
    async with kept(tmp_path / "file" / "index", store, tuning=OFTEN) as it:
        await it.synced()
        assert it.held() == ["a"]
        await until(lambda: it.keeper.counts.failed > 0)


async def test_of_two_workers_one_writes_and_both_read(folder: Path) -> None:
    store = await written(folder, "a", "b")
    again = ScriptedStore(*store.held.values())
    async with (
        kept(folder, store, tuning=OFTEN, first=None) as one,
        kept(folder, again, tuning=OFTEN, first=None) as two,
    ):
        await one.synced()
        await two.synced()
        for it in (one, two):
            assert it.keeper.counts.loaded == 2
            await it.index.add(space(entry("c")), EntryId("c"), Embedding(unit(3), E5))
        await until(lambda: one.on_disk() == ["a", "b", "c"])
        await until(lambda: one.keeper.counts.written + two.keeper.counts.written == 1)
        assert one.keeper.counts.failed == two.keeper.counts.failed == 0


async def test_more_than_the_bound_is_not_loaded(folder: Path) -> None:
    await written(folder, "a", "b", "c")
    index = FaissIndex(max_vectors=2)
    keeper = Keeper(folder, index, lambda: frozenset({E5}), tuning=SELDOM)
    assert (await keeper.open()).identity == "one"
    await keeper.load("one")
    assert index.sizes() == (2, 1)
    index.check_integrity()
    await keeper.aclose()
