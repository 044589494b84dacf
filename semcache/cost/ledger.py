"""The ledger: takes request records, counts them, and writes one log line each.

Never blocks a request: records wait in a bounded deque that a writer thread empties ten times a
second (waking a thread for each would cost more than the request); when it is full the record is
dropped and counted. Lines are JSON objects without prompt text.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import fields
from operator import attrgetter
from typing import BinaryIO

import orjson

from semcache.core import RequestRecord
from semcache.cost.metrics import Metrics

_PAUSE = 0.1
_FIELDS = tuple(field.name for field in fields(RequestRecord))
_values = attrgetter(*_FIELDS)


class Ledger:
    """A `RecordSink` that feeds the metrics and a log stream.

    Args:
        metrics: counts every record, some time after it was emitted; see `flush`.
        out: where lines go, or None to write none.
        size: records waiting at most.
    """

    def __init__(self, metrics: Metrics, out: BinaryIO | None, size: int = 10_000) -> None:
        self._metrics = metrics
        self._out = out
        self._size = size
        self._waiting: deque[RequestRecord] = deque()
        self._draining = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

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

    def flush(self) -> None:
        """Count and write what waits, now."""
        with self._draining:
            records = [self._waiting.popleft() for _ in range(len(self._waiting))]
            for record in records:
                self._metrics.observe(record)
            if self._out is not None and records:
                self._print(b"".join(map(log_line, records)))

    def stop(self) -> None:
        """Write what waits and end the writer. Idempotent."""
        if self._thread is not None:
            self._stopped.set()
            self._thread.join(timeout=5)
            self._thread = None
        self.flush()

    def _write(self) -> None:
        while not self._stopped.wait(_PAUSE):
            self.flush()

    def _print(self, lines: bytes) -> None:
        if self._out is None:
            return
        try:
            self._out.write(lines)
            self._out.flush()
        except (OSError, ValueError):
            # The reader of our log is gone; requests matter more than their lines.
            self._out = None


def log_line(record: RequestRecord) -> bytes:
    """Give the canonical log line of a request: a JSON object, empty fields left away."""
    line: dict[str, object] = {"event": "request"}
    line.update((name, value) for name, value in zip(_FIELDS, _values(record), strict=True) if value)
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
