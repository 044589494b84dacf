"""The index of a worker with what keeps it: follower and snapshots, put together from the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from semcache.embed.router import RoutedEncoder
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.follower import Follower
from semcache.lookup.keeping import Keeper, KeepingTuning
from semcache.lookup.mirror import gpu_factory
from semcache.ports import Change, EntryStore
from semcache.process import Tasks
from semcache.settings import Settings


@dataclass(frozen=True, slots=True)
class Indexing:
    """An index, who follows the store for it, and who writes it down; `keeper` is None where nobody does."""

    index: FaissIndex
    follower: Follower
    keeper: Keeper | None

    def gauges(self) -> Iterable[tuple[str, str, float]]:
        """Give name, help text and value of each gauge."""
        state = self.follower.state
        yield (
            "semcache_index_refused",
            "Vectors that the index did not take: it is full, or they are no good.",
            state.refused,
        )
        yield "semcache_index_ghosts", "Vectors found without their entry, and removed.", state.ghosts
        yield "semcache_index_comparisons", "Times the index was compared with the store.", state.comparisons
        if self.keeper is not None:
            told = self.keeper.counts
            yield "semcache_index_snapshots_written", "Index snapshots written by this worker.", told.written
            yield (
                "semcache_index_snapshots_failed",
                "Index snapshots that could not be written or deleted.",
                told.failed,
            )
            yield (
                "semcache_index_snapshots_refused",
                "Index snapshots that were not used at a start.",
                told.refused,
            )
            yield (
                "semcache_index_snapshot_bytes",
                "Size of the last index snapshot written or read.",
                told.bytes,
            )
            yield (
                "semcache_index_snapshot_vectors",
                "Vectors that came from a snapshot at the start.",
                told.loaded,
            )


@asynccontextmanager
async def indexing(
    settings: Settings,
    store: EntryStore,
    encoder: RoutedEncoder | None,
    on_change: Callable[[Change], None],
) -> AsyncIterator[Indexing]:
    """Give the index of a worker, followed and kept until the end.

    Args:
        settings: the configuration.
        store: the owner of the truth.
        encoder: whose generations are in service; None keeps the index empty.
        on_change: told of every change in the store.
    """
    told = settings.index
    index = FaissIndex(max_vectors=told.max_vectors, new_gpu_index=gpu_factory())
    keeper = None
    if told.snapshots and encoder is not None:
        tuning = KeepingTuning(every=told.snapshot_every)
        keeper = Keeper(settings.data / "index", index, encoder.generations, tuning=tuning)

    def hear(change: Change) -> None:
        if keeper is not None:
            keeper.on_change(change)
        on_change(change)

    follower = Follower(store, index, encoder, on_change=hear, kept=keeper)
    try:
        async with Tasks() as tasks:
            tasks.spawn(follower.run())
            if keeper is not None:
                tasks.spawn(keeper.run(follower))
            yield Indexing(index, follower, keeper)
    finally:
        if keeper is not None:
            await keeper.aclose()
        await index.aclose()
