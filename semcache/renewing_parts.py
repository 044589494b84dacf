"""What keeps a store in order beside requests: quotas and lifetimes applied, vectors renewed after a change of encoder.

Put together for `app` and the commands.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from semcache.errors import StoreError
from semcache.lookup.follower import Follower
from semcache.renewing import Reader, Renewing
from semcache.store.cluster import open_link
from semcache.store.keys import Keys
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore
from semcache.store.vector_shelf import VectorShelf

_log = structlog.get_logger()
_TIDY_EVERY = 60.0
_DEADLINE = 5.0
"""Seconds for an operation of the shelf: no request waits for it."""


def upkeep(
    spawn: Callable[[Coroutine[Any, Any, None]], object],
    store_url: str,
    store: RedisStore,
    encoder: Reader | None,
    follower: Follower,
) -> None:
    """Begin what a worker does for its store."""
    spawn(tidying(store))
    if encoder is not None:
        spawn(renewing(store_url, store, encoder, follower))


async def renewing(store_url: str, store: RedisStore, encoder: Reader, follower: Follower) -> None:
    """Renew vectors whenever the index has met those of other encoders."""
    shelf = vector_shelf(store_url)
    try:
        await Renewing(store, shelf, encoder, secrets.token_hex(8), lambda: follower.state.foreign).run()
    finally:
        await shelf.aclose()


def vector_shelf(store_url: str) -> VectorShelf:
    """Open the shelf on the server of a URL.

    Raises:
        StoreError: `config`: the URL is not usable.
    """
    return VectorShelf(open_link(store_url, LinkRules(deadline=_DEADLINE)), Keys())


async def tidying(store: RedisStore) -> None:
    """Apply expiry and lowered quotas now and then; a store that is away is tried again."""
    known = ""
    while True:
        with contextlib.suppress(StoreError):
            known = await _told_of_evicting(store, known)
        await asyncio.sleep(random.uniform(0.5, 1.5) * _TIDY_EVERY)  # noqa: S311 - only spreads workers out
        with contextlib.suppress(StoreError):
            await store.tidy()


async def _told_of_evicting(store: RedisStore, known: str) -> str:
    evicts = await store.evicts()
    if evicts and evicts != known:
        _log.error(
            "the store drops keys when it is full: what reviewers and callers barred may be forgotten; "
            "set maxmemory-policy noeviction, quotas keep its size",
            maxmemory_policy=evicts,
        )
    return evicts
