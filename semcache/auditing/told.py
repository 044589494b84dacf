"""Who hears of audits: the metrics, or nobody. Knows no counters."""

from __future__ import annotations

from typing import Protocol


class Told(Protocol):
    """Hears of audits, for the metrics."""

    def audited(self, tenant: str, domain: str, verdict: str) -> None:
        """An audit ended: `right`, `wrong`, `undecided`, `failed`."""

    def labelled(self, source: str, verdict: str) -> None:
        """A label was counted."""

    def dropped(self, reason: str) -> None:
        """An audit was due and not made."""

    def spent(self, tenant: str, micro_usd: int) -> None:
        """Money was spent."""

    def estimated(self, tenant: str, domain: str, share: float) -> None:
        """So many of the labelled hits of a domain are wrong."""
