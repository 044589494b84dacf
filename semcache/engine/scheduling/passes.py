"""One forward pass that survives its faults: what cannot run together is tried one by one.

Knows nothing of sampling or of what a fault means for a request.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from torch import Tensor

from semcache.engine.forward import Network
from semcache.engine.scheduling.planning import Entry
from semcache.errors import EngineError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass gave for one entry: float32 [logits, vocab], or why it failed."""

    entry: Entry
    logits: Tensor | None
    error: EngineError | None = None


class Passes:
    """Runs entries and counts the passes, from `count` on."""

    def __init__(self, network: Network, count: int = 0) -> None:
        self._network = network
        self.count = count

    def run(self, entries: list[Entry]) -> list[Outcome]:
        """Run entries together; after a fault each alone, so that only the guilty one fails."""
        self.count += 1
        try:
            rows = self._network.forward([entry.piece for entry in entries])
        except Exception as error:  # noqa: BLE001 - boundary: what a pass trips over must not end the others
            if len(entries) == 1:
                return [Outcome(entries[0], None, _named(error))]
            _log.warning("a pass of %d sequences failed: %s", len(entries), type(error).__name__)
            return [outcome for entry in entries for outcome in self.run([entry])]
        return [Outcome(entry, logits) for entry, logits in zip(entries, rows, strict=True)]


def _named(error: Exception) -> EngineError:
    """Give the error that an owner is told; others' words may hold anything."""
    if isinstance(error, EngineError):
        return error
    _log.error("a generation failed: %s", type(error).__name__)
    if isinstance(error, MemoryError):
        return EngineError("the device had no memory for the next step of the request")
    return EngineError("the generation failed inside the engine")
