"""A log asked again of the real pipeline, request after request in time order.

    semantic = await replay_log(settings, order, logs, prices, told)

Knows no prices and no money (see `worth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from semcache.advise.findings import Semantic
from semcache.advise.rows import LogRow, Watcher
from semcache.core import TenantId
from semcache.policy.snapshot import PolicySnapshot
from semcache.records import Usage
from semcache.settings import Settings

Rows = Callable[[], Iterator[LogRow]]
"""Gives all rows in time order, as often as one likes."""

Price = Callable[[LogRow, Usage], int | None]
"""Gives what a request cost, in micro-USD: as the log says, or by a price table; None: not known."""


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """By which policy a log is asked again, and for how long at most."""

    snapshot: PolicySnapshot
    tenant: TenantId
    minutes: float = 5.0
    seed: int = 0


async def replay_log(
    settings: Settings, order: ReplayOrder, rows: Rows, price: Price, told: Watcher
) -> Semantic:
    """Ask the log again.

    Raises:
        SemcacheError: the models are not there, or a part of the cache failed.
    """
    raise NotImplementedError
