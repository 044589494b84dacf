"""The ledger: takes request records, counts them, and writes one log line each.

Never blocks a request: records wait in a bounded deque that a writer thread empties ten times a
second (waking a thread for each would cost more than the request); when it is full the line is
dropped and counted. Lines are JSON objects without prompt text.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import fields
from typing import BinaryIO

import orjson

from semcache.core import RequestRecord
from semcache.cost.metrics import Metrics

_PAUSE = 0.1
_FIELDS = tuple(field.name for field in fields(RequestRecord))


class Ledger:
    """A `RecordSink` that feeds the metrics and a log stream.

    Args:
        metrics: counts every record.
        out: where lines go, or None to write none.
        size: records waiting at most.
    """

    def __init__(self, metrics: Metrics, out: BinaryIO | None, size: int = 10_000) -> None:
        self._metrics = metrics
        self._out = out
        self._size = size
        self._waiting: deque[RequestRecord] = deque()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the writer, if there is something to write to."""
        if self._out is not None and self._thread is None:
            self._thread = threading.Thread(target=self._write, name="semcache-ledger", daemon=True)
            self._thread.start()

    def emit(self, record: RequestRecord) -> None:
        """Take one record."""
        self._metrics.observe(record)
        if self._thread is None:
            return
        if len(self._waiting) < self._size:
            self._waiting.append(record)
        else:
            self._metrics.count_dropped()

    def stop(self) -> None:
        """Write what waits and end the writer. Idempotent."""
        if self._thread is not None:
            self._stopped.set()
            self._thread.join(timeout=5)
            self._thread = None

    def _write(self) -> None:
        ended = False
        while not ended:
            ended = self._stopped.wait(_PAUSE)
            self._drain()

    def _drain(self) -> None:
        lines = b"".join(log_line(self._waiting.popleft()) for _ in range(len(self._waiting)))
        if self._out is None or not lines:
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
    for name in _FIELDS:
        value = getattr(record, name)
        if value is None or value in ("", (), False):
            continue
        line[name] = round(value, 6) if isinstance(value, float) else value
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
