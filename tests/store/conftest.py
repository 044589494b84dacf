"""Fixtures of the store's tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.redis_store import RedisStore, StoreRules
from tests.store.servers import WallClock, cluster, valkey

__all__ = ["cluster", "valkey"]


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[ValkeyChild]:
    """A server of one's own, to be ill-treated."""
    child = ValkeyChild(tmp_path, ChildRules())
    asyncio.run(child.start())
    try:
        yield child
    finally:
        asyncio.run(child.stop())


@pytest.fixture
async def store(lone: ValkeyChild, clock: WallClock) -> AsyncIterator[RedisStore]:
    made = RedisStore(lone.url, clock, StoreRules())
    yield made
    await made.aclose()
