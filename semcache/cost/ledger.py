"""The ledger: takes records, puts them into money, counts them, and writes them down.

    request -> emit, note          (an append; nothing is worked out)
    writer thread, ten times a second:
        record -> priced -> metrics, log line, row of the ledger's files, sums (`cells`), listeners

Never blocks a request: records wait in a bounded deque; when it is full the record is dropped and counted (waking the thread
for each would cost more than the request). A record that cannot be priced is written all the same. No prompt text.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import structlog

from semcache.core import RequestRecord
from semcache.cost.lines import log_line
from semcache.cost.metrics import Metrics
from semcache.cost.plain import dumped
from semcache.cost.row_making import row_of, side_row_of
from semcache.cost.savings import Costed, Prices, costed, side_costed, side_sums_of, sums_of
from semcache.cost_port import CostKey, CostSums
from semcache.cost_rules import CostPolicy
from semcache.records import SideRecord

_log = structlog.get_logger()
_PAUSE = 0.1
_NOT_PRICED = Costed(None, None, None, None, None, None, is_priced=False, version="")

Heard = Callable[[RequestRecord, Costed], None]
"""Hears of a request and its money, in the writer's thread; must not raise."""


@dataclass(frozen=True, slots=True)
class Pricing:
    """What turns records into money.

    Args:
        book: the prices.
        policy_of: gives what a tenant's file says about money.
    """

    book: Prices
    policy_of: Callable[[str], CostPolicy]


class Rows(Protocol):
    """Where rows go (`rows.RowFiles`); never raises."""

    def write(self, lines: Sequence[bytes]) -> None:
        """Take whole lines."""
        ...

    def close(self) -> None:
        """Finish the file. Idempotent."""
        ...


class Sums(Protocol):
    """Where sums go (`cells.Cells`); never raises."""

    def add(self, key: CostKey, sums: CostSums) -> None:
        """Add what one record came to."""
        ...


class Ledger:
    """A `RecordSink` and `SideSink`.

    Args:
        metrics: counts every record, some time after it was emitted; see `flush`.
        out: where log lines go, or None to write none.
        size: records waiting at most.
        pricing: puts records into money; None: it is not known what anything costs.
        rows: keeps raw rows, or None.
        sums: adds up, or None.
        heard: hear of every request.
    """

    def __init__(
        self,
        metrics: Metrics,
        out: BinaryIO | None,
        size: int = 10_000,
        *,
        pricing: Pricing | None = None,
        rows: Rows | None = None,
        sums: Sums | None = None,
        heard: Sequence[Heard] = (),
    ) -> None:
        self._metrics = metrics
        self._out = out
        self._size = size
        self._pricing = pricing
        self._rows = rows
        self._sums = sums
        self._heard = tuple(heard)
        self._waiting: deque[RequestRecord | SideRecord] = deque()
        self._draining = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._complained = False

    def start(self) -> None:
        """Start the writer."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="semcache-ledger", daemon=True)
            self._thread.start()

    def emit(self, record: RequestRecord) -> None:
        """Take one record."""
        if len(self._waiting) < self._size:
            self._waiting.append(record)
        else:
            self._metrics.count_dropped()

    def note(self, side: SideRecord) -> None:
        """Take a record of work beside requests."""
        if len(self._waiting) < self._size:
            self._waiting.append(side)
        else:
            self._metrics.count_dropped()

    def flush(self) -> None:
        """Count and write what waits, now. Prices, and writes to disk: not for the event loop while requests are served."""
        with self._draining:
            lines: list[bytes] = []
            rows: list[bytes] = []
            for _ in range(len(self._waiting)):
                record = self._waiting.popleft()
                try:
                    self._take(record, lines, rows)
                except Exception as error:  # noqa: BLE001 - whatever one record holds, the others are written
                    self._failed(error)
            if lines:
                self._print(b"".join(lines))
            # Also without any: what could not be written before is tried again.
            if self._rows is not None:
                self._rows.write(rows)

    def stop(self) -> None:
        """Write what waits and end the writer. Idempotent."""
        if self._thread is not None:
            self._stopped.set()
            self._thread.join(timeout=5)
            self._thread = None
        self.flush()
        if self._rows is not None:
            self._rows.close()

    def _write(self) -> None:
        while not self._stopped.wait(_PAUSE):
            self.flush()

    def _take(self, record: RequestRecord | SideRecord, lines: list[bytes], rows: list[bytes]) -> None:
        match record:
            case RequestRecord():
                self._metrics.observe(record)
                money = self._priced(record)
                if self._out is not None:
                    lines.append(log_line(record, money))
                if self._rows is not None:
                    rows.append(dumped(row_of(record, money)))
                if self._pricing is not None:
                    self._count(*sums_of(record, money or _NOT_PRICED))
                for heard in self._heard:
                    heard(record, money or _NOT_PRICED)
            case SideRecord():
                cost = self._side_priced(record)
                if self._rows is not None:
                    version = "" if self._pricing is None else self._pricing.book.version
                    rows.append(dumped(side_row_of(record, cost, version)))
                if self._pricing is not None:
                    self._count(*side_sums_of(record, cost))

    def _priced(self, record: RequestRecord) -> Costed | None:
        if self._pricing is None:
            return None
        try:
            return costed(record, self._pricing.book, self._pricing.policy_of(record.tenant))
        except Exception as error:  # noqa: BLE001 - prices come from a foreign table; the record is written without
            self._failed(error)
            return None

    def _side_priced(self, record: SideRecord) -> int | None:
        if self._pricing is None:
            return None
        try:
            return side_costed(record, self._pricing.book)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
            return None

    def _count(self, key: CostKey, sums: CostSums) -> None:
        self._metrics.costs.counted(key, sums)
        if self._sums is not None:
            self._sums.add(key, sums)

    def _failed(self, error: Exception) -> None:
        self._metrics.costs.failed_to_price()
        if not self._complained:
            self._complained = True
            # Its words might hold what a client sent.
            _log.error(
                "a record could not be put into money; further ones are only counted",
                error=type(error).__name__,
            )

    def _print(self, lines: bytes) -> None:
        if self._out is None:
            return
        try:
            self._out.write(lines)
            self._out.flush()
        except (OSError, ValueError):
            # The reader of our log is gone; requests matter more than their lines.
            self._out = None
