"""Between the pool and the host tier: copies of what is evicted, and their way back into the tree.

Copies are kept apart by owner, as nodes of the tree are. Knows neither sequences nor when to evict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from semcache.engine.forward import Network
from semcache.engine.layers import Layers, Owner, next_boundary, owner_at
from semcache.engine.memory.host import HostTier, Restored
from semcache.engine.prefix.handles import Handle, Leaving
from semcache.engine.runs import Run

TOKEN_BYTES = 4


class SecondTier:
    """Keeps copies of evicted runs in `host`."""

    def __init__(self, host: HostTier, network: Network) -> None:
        self._host = host
        self._network = network

    @property
    def tokens(self) -> int:
        """Count the tokens that have copies."""
        return self._host.tokens

    def keep(self, leaving: Leaving) -> None:
        """Copy what is being evicted; its slots still hold it. Without memory for a copy there is none."""
        place = _place(leaving.before, leaving.owner)
        if not self._host.holds(place, leaving.tokens):
            with contextlib.suppress(MemoryError):
                self._host.put(place, leaving.tokens, self._network.read(leaving.run))

    def find(self, hold: Handle, tokens: bytes, layers: Layers, grid: int) -> Restored | None:
        """Give the copy that continues a prefix, in whole pieces of the grid."""
        end = next_boundary(layers, hold.length)
        wanted = tokens[hold.length * TOKEN_BYTES : None if end is None else end * TOKEN_BYTES]
        if not wanted:
            return None
        found = self._host.find(_place(hold.digest, owner_at(layers, hold.length)), wanted)
        if found is None:
            return None
        whole = found.tokens - (hold.length + found.tokens) % grid
        return Restored(whole, found.values[:, :, :, :whole]) if whole > 0 else None

    def put_back(self, found: Restored, runs: Sequence[Run]) -> bool:
        """Write a copy into slots, as many as it has tokens; False when the device had no memory for it."""
        at = 0
        try:
            for run in runs:
                self._network.write(run, found.values[:, :, :, at : at + run.length])
                at += run.length
        except MemoryError:
            self._network.clear(runs)
            return False
        return True


def _place(before: bytes, owner: Owner) -> bytes:
    """Name where a run belongs: after which prefix, and whose it is itself; every part with its length."""
    parts = (before, owner.tenant.encode(), owner.salt)
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)
