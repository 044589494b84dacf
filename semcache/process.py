"""What every process stands on, light to import: the machine's clocks, background tasks, what tenants may hold.

Knows neither encoder nor index nor upstreams, so that a process without them stays small.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from semcache.core import TenantId
from semcache.policy.watch import LivePolicies
from semcache.store.redis_store import Quota

_log = structlog.get_logger()


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Give Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Give seconds that never go back."""
        return time.monotonic()


class Tasks:
    """Background tasks of a worker, all cancelled and awaited at its end, before any adapter closes.

    Not a TaskGroup: one request's defect must not end everybody's.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Tasks:
        return self

    async def __aexit__(self, *error: object) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that lives no longer than the worker."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a background task failed", error=type(error).__name__, exc_info=error)


def quotas(policies: LivePolicies) -> Callable[[TenantId], Quota]:
    """Give what each tenant may hold, by the policies in force."""

    def quota_of(tenant: TenantId) -> Quota:
        default = Quota()
        if tenant not in policies.current.tenants:
            return default
        told = policies.current.quota(tenant)
        return Quota(told.max_entries or default.entries, told.max_bytes or default.bytes, told.max_share)

    return quota_of
