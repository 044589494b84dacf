"""A second copy of a big partition's rows in GPU memory, float16, that proposes candidates.

It only proposes: every candidate is scored again from the float32 row in main memory. So scores
are those of the CPU path to 1e-6, and a stale label costs a place in the list, never a wrong
answer. FAISS's GPU index cannot remove or overwrite, so a row that changes is appended once more
and the old label goes stale; when too many are stale the copy is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import faiss
import numpy as np
import structlog
from numpy.typing import NDArray

from semcache.core import Vector
from semcache.lookup.arena import Part
from semcache.lookup.scan import Ranked, Slots

_log = structlog.get_logger()
MAX_GPU_K = 2048
"""The longest list a GPU search gives (FAISS's own limit)."""

MAX_WIDTH = 1024
"""The most candidates to ask a mirror for."""

MAX_STALE = MAX_GPU_K - MAX_WIDTH
"""Stale labels borne before the copy is made anew; asked for on top, so that none hides a live row."""

NewIndex = Callable[[int], Any]
"""Makes an empty inner-product index (FAISS's interface) of a dimension."""


def gpu_factory() -> NewIndex | None:
    """Give a maker of float16 inner-product indexes on GPU 0; None without GPU or GPU build, or where it cannot be used."""
    if not hasattr(faiss, "StandardGpuResources"):
        return None
    try:
        if faiss.get_num_gpus() == 0:
            return None
        resources = faiss.StandardGpuResources()
        resources.setTempMemory(64 << 20)
        config = faiss.GpuIndexFlatConfig()
    except RuntimeError as error:
        # Its memory is taken, or its driver does not fit: a start that failed of it would fail again and again.
        _log.error("the GPU cannot be used for the index; the CPU does it", problem=str(error)[:200])
        return None
    config.device = 0
    config.useFloat16 = True
    return lambda dimension: faiss.GpuIndexFlatIP(resources, dimension, config)


class Mirror:
    """The copy of one partition. `touch` and `drop` come from the event loop, the rest from a scan."""

    __slots__ = ("_dimension", "_dirty", "_index", "_label_of", "_new_index", "_slot_of", "_taken")

    def __init__(self, new_index: NewIndex, dimension: int, rows: int) -> None:
        self._new_index = new_index
        self._dimension = dimension
        self._index: Any = None
        self._dirty: set[int] = set(range(rows))
        self._taken: Snapshot | None = None
        self._slot_of: NDArray[np.int64] = np.empty(0, np.int64)
        self._label_of: NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def is_empty(self) -> bool:
        """True before the first copy."""
        return self._index is None

    def touch(self, slot: int) -> None:
        """Note that the row in `slot` is new."""
        self._dirty.add(slot)

    def drop(self, slot: int) -> None:
        """Note that `slot` is no longer there."""
        self._dirty.discard(slot)
        if slot < len(self._label_of):
            self._label_of[slot] = -1

    def snapshot(self, rows: int) -> Snapshot:
        """Take over what is to be copied before a search over `rows` slots."""
        if self._taken is not None and not self._taken.copied:
            # A search that never ran; what it was to copy is still to be copied.
            self._dirty.update(slot for slot in self._taken.dirty.tolist() if slot < rows)
        dirty, self._dirty = self._dirty, set()
        self._taken = Snapshot(self, np.array(sorted(dirty), np.int64), rows)
        return self._taken

    def copy(self, parts: Sequence[Part], slots: Slots, rows: int) -> None:
        """Append the rows in `slots` to the GPU, or all `rows` anew when too much would be stale."""
        if self._index is None or len(self._slot_of) + len(slots) - rows > MAX_STALE:
            self._index = self._new_index(self._dimension)
            self._slot_of = np.empty(0, np.int64)
            slots = np.arange(rows, dtype=np.int64)
        if len(self._label_of) < rows:
            self._label_of = np.concatenate(
                [self._label_of, np.full(rows - len(self._label_of), -1, np.int64)]
            )
        self._label_of[slots] = len(self._slot_of) + np.arange(len(slots))
        self._slot_of = np.concatenate([self._slot_of, slots])
        for part in parts:
            inside = slots[(slots >= part.offset) & (slots < part.offset + len(part.rows))]
            if len(inside):
                self._index.add(np.ascontiguousarray(part.rows[inside - part.offset]))

    def search(self, query: Vector, width: int, rows: int) -> Slots:
        """Give up to `width` slots below `rows`, without stale ones."""
        stale = len(self._slot_of) - rows
        count = min(width + stale, MAX_GPU_K, len(self._slot_of))
        _, labels = self._index.search(query[None], count)
        found = labels[0][labels[0] >= 0]
        slots = self._slot_of[found]
        alive = (slots < rows) & (self._label_of[np.minimum(slots, rows - 1)] == found)
        kept: Slots = slots[alive][:width]
        return kept


class Snapshot:
    """What one search needs of a mirror; the mirror must not change while `candidates` runs."""

    __slots__ = ("_mirror", "_rows", "copied", "dirty")

    def __init__(self, mirror: Mirror, dirty: Slots, rows: int) -> None:
        self._mirror = mirror
        self._rows = rows
        self.dirty = dirty
        self.copied = False

    def candidates(self, parts: Sequence[Part], query: Vector, width: int) -> Ranked:
        """Bring the copy up to date and give up to `width` candidates."""
        if not self.copied and (len(self.dirty) or self._mirror.is_empty):
            self._mirror.copy(parts, self.dirty, self._rows)
        self.copied = True
        return Ranked(self._mirror.search(query, width, self._rows))
