"""Who hears of sightings and of the judge: the metrics, or nobody. Knows no counters."""

from __future__ import annotations

from typing import Protocol


class Told(Protocol):
    """Hears of sightings and of the judge, for the metrics. Words are closed, tenants and domains those of policies."""

    def sighted(self, outcome: str, weighty: bool) -> None:
        """A sighting went to the queue: `exact`, `semantic`, `draft` or `shadow`; `weighty`: somebody should look."""

    def dropped(self, what: str, count: int) -> None:
        """Something was let go: `full`, `store`, or of the judge `queue`, `pace`, `pause`, `cap`, `store`."""

    def judged(self, tenant: str, domain: str, word: str) -> None:
        """The judge was asked: `fits`, `doubts`, `unfit`, `unclear` or `failed`."""

    def spent(self, tenant: str, micro_usd: int) -> None:
        """The judge cost money."""

    def promoted(self, tenant: str, domain: str) -> None:
        """An answer was approved on the judge's word."""
