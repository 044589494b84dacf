"""What commands that export, import, back up and erase are built from. Builders only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from semcache.archive.erasing import Eraser, Site
from semcache.cli.admin_parts import store_url
from semcache.embed.fingerprint import subject_digest
from semcache.errors import SemcacheError, StoreError
from semcache.process import SystemClock
from semcache.settings import Settings
from semcache.store.erasure import ErasureShelf
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore, StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules

DEADLINE = 30.0
"""Seconds that one call of the store may take for a command that looks through all of it."""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Opened:
    """The store with its audit log, and what erases."""

    store: RedisStore
    verdicts: RedisVerdicts
    eraser: Eraser


def site_of(settings: Settings, url: str) -> Site:
    """Say where things are."""
    return Site(settings.data, url, settings.store.url is None)


@asynccontextmanager
async def opened(settings: Settings, url: str) -> AsyncIterator[Opened]:
    """Open the store at a URL, and close it.

    Raises:
        StoreError: the URL is not usable.
    """
    async with AsyncExitStack() as stack:
        clock, rules = SystemClock(), StoreRules(link=LinkRules(deadline=DEADLINE))
        store = RedisStore(url, clock, rules)
        verdicts = RedisVerdicts(url, clock, rules, VerdictRules())
        shelf = ErasureShelf(url, clock, rules, subject_digest)
        for part in (store, verdicts, shelf):
            stack.push_async_callback(part.aclose)
        yield Opened(store, verdicts, Eraser(site_of(settings, url), shelf, verdicts, clock))


def run(settings: Settings, work: Callable[[Opened], Awaitable[Result]]) -> Result:
    """Do something with the store that a proxy uses.

    Raises:
        SemcacheError: no store answers; a file cannot be read or written.
    """

    async def with_it() -> Result:
        async with opened(settings, store_url(settings)) as parts:
            return await work(parts)

    try:
        return asyncio.run(with_it())
    except OSError as error:
        raise SemcacheError(f"{error.filename or settings.data}: {error.strerror or error}") from None
    except StoreError as error:
        if error.kind != "down":
            raise
        where = settings.store.url or f"the data directory {settings.data}"
        raise SemcacheError(
            f"no store answers at {where}: this is done where a proxy runs. "
            "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
        ) from None
