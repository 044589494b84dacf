"""The ledger of a worker, put together: its writer, its files of rows, and its way to the book of costs. Builders only.

At the end everything goes in order: the last records are written and added up, then the sums are booked, then the files are left alone.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, BinaryIO

from semcache.core import TenantId
from semcache.cost.booking import Booking
from semcache.cost.cells import Cells
from semcache.cost.keeping import Keeper, KeepRules
from semcache.cost.ledger import Heard, Ledger, Pricing
from semcache.cost.metrics import Metrics
from semcache.cost.rows import RowFiles
from semcache.cost.savings import Prices
from semcache.cost_rules import CostPolicy
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock
from semcache.settings import Settings
from semcache.store.cost_book import CostRules, RedisCostBook
from semcache.store.link import LinkRules

Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
_LINK = LinkRules(deadline=5.0, connections=2)
"""Nobody waits for sums."""
_NOTHING = CostPolicy()


class LedgerParts:
    """One worker's ledger.

    Args:
        settings: the configuration.
        url: of the store.
        metrics: counts every record.
        prices: what calls cost.
        policies: gives the policies in force.
        clock: time.
        out: where log lines go, or None.
        heard: hear of every request and its money, in the writer's thread.

    Attributes:
        ledger: a `RecordSink` and `SideSink`.
        booking: sums on their way to the store.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(
        self,
        settings: Settings,
        url: str,
        metrics: Metrics,
        prices: Prices,
        policies: Callable[[], PolicySnapshot],
        clock: Clock,
        out: BinaryIO | None,
        heard: Sequence[Heard] = (),
    ) -> None:
        told, kept = metrics.costs, settings.ledger
        # Files and batches of every start of every worker are told apart by it.
        writer = f"{os.getpid()}_{secrets.token_hex(4)}"
        folder = settings.data / "ledger"
        self._keeper: Keeper | None = None
        rows = None
        if kept.rows != "off":
            rules = KeepRules(kept.rows, kept.keep_days, kept.keep_bytes)
            self._keeper = Keeper(folder, rules, clock, told)
            rows = RowFiles(folder, writer, kept.rotate_bytes, clock, told, self._keeper.wake)
        cells = Cells(told.folded)
        self._book = RedisCostBook(url, _LINK, rules=CostRules(keep=kept.book_days))
        self.booking = Booking(cells, self._book, writer, told.batch)

        def policy_of(tenant: str) -> CostPolicy:
            found = policies().by_tenant.get(TenantId(tenant))
            return _NOTHING if found is None else found.costs

        self.ledger = Ledger(
            metrics, out, pricing=Pricing(prices, policy_of), rows=rows, sums=cells, heard=heard
        )

    def start(self, spawn: Spawn) -> None:
        """Begin to write, to keep files in order, and to book."""
        self.ledger.start()
        if self._keeper is not None:
            self._keeper.start()
        spawn(self.booking.run())

    async def aclose(self) -> None:
        """Write and book what is left, and end. The task of `start` must have ended before. Idempotent."""
        await asyncio.to_thread(self.ledger.stop)
        await self.booking.end()
        if self._keeper is not None:
            await asyncio.to_thread(self._keeper.stop)
        await self._book.aclose()
