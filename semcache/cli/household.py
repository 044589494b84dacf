"""The servers that belong to a proxy: an embedded Valkey, the local engine and the review pages, kept alive.

All are ordinary servers behind ordinary addresses; in production each may be run by somebody else.
"""

from __future__ import annotations

import asyncio

from semcache.cli.admin_child import AdminChild
from semcache.cli.screen import Screen
from semcache.engine.child import EngineChild, EngineSpec
from semcache.models.catalogue import resolve
from semcache.parts import policies_of
from semcache.prefix_parts import engine_limits
from semcache.settings import Settings
from semcache.store.embedded import ChildRules, ValkeyChild
from semcache.store.memory import bound_of


class Household:
    """The children of one `semcache serve`.

    Use as an async context manager: it is entered once all take requests, so that a proxy that
    listens can also answer.

    Raises:
        PolicyError: the review pages would be open to the network without a token, or their address is taken.
    """

    def __init__(self, settings: Settings, screen: Screen) -> None:
        self._settings = settings
        self._screen = screen
        self._valkey: ValkeyChild | None = None
        self._engine: EngineChild | None = None
        self._tasks: list[asyncio.Task[None]] = []
        # First, since it may be refused: nothing is started before.
        self._admin = AdminChild(settings, screen.note) if settings.admin.enabled else None
        if settings.store.url is None:
            rules = ChildRules(maxmemory=bound_of(settings.store.max_bytes))
            self._valkey = ValkeyChild(settings.data, rules, screen.note)
        if settings.runs_engine:
            spec = EngineSpec(
                model=resolve(settings.engine.model, settings.data),
                data=settings.data,
                name=settings.engine.name,
                aliases=settings.engine.aliases,
                threads=settings.engine.threads,
                max_context=settings.engine.max_context,
                max_queue=settings.engine.max_queue,
                max_active=settings.engine.max_active,
                temperature=settings.engine.temperature,
                precision=settings.engine.precision,
                mode=settings.engine.mode,
                kv_bytes=settings.engine.kv_bytes,
                host_bytes=settings.engine.host_bytes,
                limits=engine_limits(settings, policies_of(settings)),
            )
            self._engine = EngineChild(spec)

    @property
    def store_url(self) -> str:
        """Where the workers find the store."""
        return self._valkey.url if self._valkey is not None else self._settings.store.url or ""

    @property
    def engine_socket(self) -> str:
        """Where the workers find the engine; empty without one."""
        return str(self._engine.socket) if self._engine is not None else ""

    async def __aenter__(self) -> Household:
        """Start the store and the engine at once, then the review pages.

        Raises:
            StoreError: the data directory is in use, or Valkey cannot start.
            EngineError: the engine cannot start.
        """
        try:
            async with asyncio.TaskGroup() as group:
                if self._valkey is not None:
                    group.create_task(self._valkey.start())
                if self._engine is not None:
                    with self._screen.waiting("loading the local model"):
                        await self._engine.start()
            if self._admin is not None:
                await self._admin.start(self.store_url)
        except BaseExceptionGroup as error:
            await self._stop()
            raise error.exceptions[0] from None
        except BaseException:
            await self._stop()
            raise
        for child in (self._valkey, self._engine, self._admin):
            if child is not None:
                self._tasks.append(asyncio.ensure_future(child.supervise()))
        return self

    async def __aexit__(self, *error: object) -> None:
        """Stop all; the store last, so that what workers wrote is kept."""
        await self._stop()

    def announce(self) -> None:
        """Say on the screen where the review pages are."""
        if self._admin is not None:
            self._admin.announce()

    async def _stop(self) -> None:
        if self._admin is not None:
            await self._admin.stop()
        if self._engine is not None:
            await self._engine.stop()
        if self._valkey is not None:
            await self._valkey.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
