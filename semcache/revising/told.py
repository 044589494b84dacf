"""Who hears of drafts: the metrics, or nobody. Knows no counters."""

from __future__ import annotations

from typing import Protocol

from semcache.core import DraftRecord


class Told(Protocol):
    """Hears of drafts, for the metrics."""

    def drafted(self, tenant: str, domain: str, record: DraftRecord) -> None:
        """A draft came to its end: it made an answer, failed, or was not tried."""
