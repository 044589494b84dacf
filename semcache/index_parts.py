"""The index of a worker with what keeps it: follower, snapshots or leadership, put together from the settings."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from semcache.core import EncoderId
from semcache.embed.router import RoutedEncoder
from semcache.lookup.faiss_index import FaissIndex
from semcache.lookup.follower import Follower
from semcache.lookup.keeping import Keeper, KeepingTuning
from semcache.lookup.leading import Leading
from semcache.lookup.milvus_index import MilvusIndex
from semcache.lookup.milvus_link import MilvusLink, MilvusRules
from semcache.lookup.mirror import gpu_factory
from semcache.lookup.placing import FollowedIndex
from semcache.lookup.snapshot_shelf import Shelf
from semcache.ports import Change, EntryPut
from semcache.process import Tasks
from semcache.settings import Settings, resolve_secret
from semcache.store.redis_store import RedisStore

_log = structlog.get_logger()
_FOLDER = "index"


@dataclass(frozen=True, slots=True)
class Indexing:
    """An index, who follows the store for it, and who writes it down; `keeper` is None where nobody does."""

    index: FollowedIndex
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
    store: RedisStore,
    encoder: RoutedEncoder | None,
    on_change: Callable[[Change], None],
) -> AsyncIterator[Indexing]:
    """Give the index of a worker, followed and kept until the end.

    Args:
        settings: the configuration.
        store: the owner of the truth.
        encoder: whose generations are in service; None keeps the index empty.
        on_change: told of every change in the store.

    Raises:
        PolicyError: the Milvus' token is not there.
    """

    def generations() -> frozenset[EncoderId]:
        return encoder.generations() if encoder is not None else frozenset()

    async with AsyncExitStack() as stack, Tasks() as tasks:
        if settings.index.backend == "milvus" or not settings.index.snapshots:
            _forgotten(settings.data / _FOLDER)
        if settings.index.backend == "milvus":
            yield _shared(settings, store, encoder, on_change, generations, stack, tasks)
        else:
            yield _own(settings, store, encoder, on_change, generations, stack, tasks)


def _forgotten(folder: Path) -> None:
    """Delete what was written before snapshots were switched off: what is erased from now on would stay in it."""
    shelf = Shelf(folder)
    try:
        shelf.purge()
    except OSError as error:
        _log.error(
            "index snapshots that nobody uses cannot be deleted: delete them by hand", problem=str(error)
        )
    finally:
        shelf.close()


_Generations = Callable[[], frozenset[EncoderId]]


def _own(
    settings: Settings,
    store: RedisStore,
    encoder: RoutedEncoder | None,
    on_change: Callable[[Change], None],
    generations: _Generations,
    stack: AsyncExitStack,
    tasks: Tasks,
) -> Indexing:
    told = settings.index
    index = FaissIndex(max_vectors=told.max_vectors, new_gpu_index=gpu_factory())
    stack.push_async_callback(index.aclose)
    if not told.snapshots or encoder is None:
        follower = Follower(store, index, encoder, on_change=on_change)
        tasks.spawn(follower.run())
        return Indexing(index, follower, None)
    keeper = Keeper(
        settings.data / _FOLDER, index, generations, tuning=KeepingTuning(every=told.snapshot_every)
    )
    stack.push_async_callback(keeper.aclose)

    def hear(change: Change) -> None:
        keeper.on_change(change)
        on_change(change)

    follower = Follower(store, index, encoder, on_change=hear, kept=keeper)
    tasks.spawn(follower.run())
    tasks.spawn(keeper.run(follower))
    return Indexing(index, follower, keeper)


def _shared(
    settings: Settings,
    store: RedisStore,
    encoder: RoutedEncoder | None,
    on_change: Callable[[Change], None],
    generations: _Generations,
    stack: AsyncExitStack,
    tasks: Tasks,
) -> Indexing:
    told = settings.index
    token = resolve_secret(told.token) if told.token else ""
    link = MilvusLink(MilvusRules(told.url or "", token, told.deadline))
    index = MilvusIndex(link, told.collection, generations, max_vectors=told.max_vectors)
    stack.push_async_callback(index.aclose)
    leading = Leading(store.lease(f"index-lead:{told.collection}").take, secrets.token_hex(8))

    def hear(change: Change) -> None:
        if isinstance(change, EntryPut):
            index.doubt()
        on_change(change)

    follower = Follower(store, index, encoder, on_change=hear, leads=leading.is_leader)
    tasks.spawn(leading.run())
    tasks.spawn(follower.run())
    return Indexing(index, follower, None)
