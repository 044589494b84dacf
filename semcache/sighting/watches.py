"""Several watches as one. Knows nothing of what they look for."""

from __future__ import annotations

from semcache.core import Completion, Draft, Hit
from semcache.journey import Keep, Step, Watch


class Watches:
    """A `journey.Watch` that tells all of `watches`, in their order.

    Args:
        watches: who hears; the last one's `watching` is the outermost.
    """

    def __init__(self, *watches: Watch) -> None:
        self._watches = watches

    def on_decided(self, step: Step) -> None:
        """Tell all of a decision."""
        for watch in self._watches:
            watch.on_decided(step)

    def on_served(self, step: Step, hit: Hit, request_id: str) -> None:
        """Tell all of a hit that was served."""
        for watch in self._watches:
            watch.on_served(step, hit, request_id)

    def on_revised(self, step: Step, draft: Draft, revised: Completion, request_id: str) -> None:
        """Tell all of an answer that was revised."""
        for watch in self._watches:
            watch.on_revised(step, draft, revised, request_id)

    def watching(self, step: Step, hit: Hit, request_id: str, keep: Keep) -> Keep:
        """Let each of them put what it does around `keep`."""
        for watch in self._watches:
            keep = watch.watching(step, hit, request_id, keep)
        return keep
