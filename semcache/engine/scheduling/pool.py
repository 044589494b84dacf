"""The slots of sequences: found in the tree, taken from the allocator, handed to the tree, given back.

Every slot is free, the tree's, or private to a sequence (`running`), at any time. Knows nothing
of when a sequence runs.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Row

from semcache.engine.forward import Network
from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.handles import Handle
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.runs import Run, cut, total
from semcache.engine.scheduling.sequence import Sequence
from semcache.engine.scheduling.tail import Lease
from semcache.errors import EngineError

AHEAD = 512
"""Slots of a prompt that are taken at once, so that they become one run."""


class Pool:
    """Moves slots between the allocator, the tree and sequences. `step` is how far answers grow ahead."""

    def __init__(
        self,
        network: Network,
        allocator: RunAllocator,
        tree: PrefixTree,
        clock: Callable[[], float],
        *,
        step: int,
    ) -> None:
        self._network = network
        self._allocator = allocator
        self._tree = tree
        self._clock = clock
        self._step = step
        self._grid = network.exactness.grid
        self._shares_generated = network.exactness.shares_generated

    @property
    def capacity(self) -> int:
        """Count all slots."""
        return self._allocator.capacity

    @property
    def room(self) -> int:
        """Count the slots that can be had: free ones, and those of the tree that nobody holds."""
        return self._allocator.free + self._tree.evictable

    @property
    def running(self) -> int:
        """Count the slots that sequences hold for themselves."""
        return self._allocator.used - self._tree.tokens

    def look_up(self, sequence: Sequence) -> int:
        """Find what is known of a sequence and go on behind it; gives the number of tokens gained.

        The last token is always computed, since its logits are needed. Counts no hit.
        """
        hold = self._find(sequence, len(sequence.ids) - 1, counted=False)
        if sequence.hold is not None and hold.length <= sequence.computed:
            self._unlock(hold)
            return 0
        gained = hold.length - sequence.computed
        surplus = sequence.tail.cut_first(min(hold.length - sequence.base, sequence.tail.capacity))
        self._allocator.give(surplus)
        self._put_down(sequence)
        sequence.held(hold)
        sequence.computed = hold.length
        return gained

    def count_hit(self, sequence: Sequence) -> None:
        """Tell the tree that a user's request reads the path that its sequence holds."""
        if sequence.hold is not None and sequence.hold.length:
            self._unlock(self._find(sequence, sequence.hold.length, counted=True))

    def join(self, sequence: Sequence, stem: Sequence, lease: Lease | None) -> None:
        """Give a choice all that was computed of the prompt: the stem's place in the tree, and `lease`."""
        length = 0 if stem.hold is None else stem.hold.length
        sequence.held(self._find(sequence, length, counted=False), lease)
        sequence.computed = sequence.base
        sequence.furthest = stem.furthest

    def lease(self, stem: Sequence, holders: int) -> Lease | None:
        """Turn the private part of a prompt into something that all its choices read."""
        self._allocator.give(stem.tail.cut_behind(stem.in_use))
        if not stem.tail.capacity:
            return None
        return Lease(stem.tail.cut_first(stem.tail.capacity), holders)

    def secure(self, sequence: Sequence, count: int) -> bool:
        """Make the tail long enough for `count` more tokens; False when there is no room."""
        missing = sequence.in_use + count - sequence.tail.capacity
        if missing <= 0:
            return True
        end = sequence.tail.end
        near = end if end is not None else _end(sequence)
        ahead = self._step if sequence.answer is not None else min(AHEAD, sequence.pending)
        if ahead > missing and ahead <= self.room:
            missing = ahead  # many at once, so that they lie side by side
        taken = self._take(missing, near)
        if taken is None:
            return False
        sequence.tail.grow(taken)
        return True

    def trim(self, sequences: Row[Sequence]) -> bool:
        """Take back what sequences hold ahead of the next pass; False when there was nothing."""
        before = self._allocator.free
        for sequence in sequences:
            needed = sequence.in_use + sequence.planned
            self._allocator.give(sequence.tail.cut_behind(min(needed, sequence.tail.capacity)))
        return self._allocator.free > before

    def share(self, sequence: Sequence) -> None:
        """Hand computed tokens to the tree, as far as they may be shared."""
        end = self._shareable(sequence)
        hold = sequence.hold
        if hold is None or sequence.lease is not None or end <= hold.length:
            return
        runs = sequence.tail.first(end - hold.length)
        tokens = bytes(sequence.data[: 4 * end])
        inserted = self._tree.insert(hold, tokens, sequence.layers, runs, self._clock())
        sequence.tail.cut_first(end - hold.length)
        self._allocator.give(inserted.duplicates)
        sequence.held(inserted.handle)

    def leave(self, sequence: Sequence) -> None:
        """Give back all that a sequence holds; what it computed and may share stays in the tree."""
        self.share(sequence)
        self._empty(sequence)

    def discard(self, sequence: Sequence, *, dirty: bool = False) -> None:
        """Give back all that a sequence holds; `dirty` slots are cleared, since anything may be in them."""
        if dirty and sequence.tail.runs:
            self._network.clear(sequence.tail.runs)
        self._empty(sequence)

    def wipe(self, sequence: Sequence, start: int, end: int) -> None:
        """Clear the private slots of some positions: they hold what is not finite, and nobody needs them."""
        base = sequence.base
        self._network.clear(cut(sequence.tail.runs, start - base, end - base))

    def evict_all(self) -> int:
        """Empty the tree of all that nobody holds; gives the number of tokens."""
        runs = self._tree.evict(self._tree.evictable, self._clock())
        self._allocator.give(runs)
        return total(runs)

    def check_integrity(self, sequences: Row[Sequence]) -> None:
        """Compare the books with what sequences hold.

        Raises:
            EngineError: slots are lost or counted twice, or the tree contradicts itself.
        """
        self._allocator.check_integrity()
        self._tree.check_integrity()
        leases = {id(one.lease): one.lease.length for one in sequences if one.lease is not None}
        private = sum(one.tail.capacity for one in sequences) + sum(leases.values())
        if private != self.running:
            raise EngineError("the engine's account of its slots is broken")

    def _find(self, sequence: Sequence, limit: int, *, counted: bool) -> Handle:
        match = self._tree.match(bytes(sequence.data[: 4 * limit]), sequence.layers)
        length = match.length - match.length % self._grid
        return self._tree.lock(match, length, self._clock(), counts=counted)

    def _unlock(self, hold: Handle) -> None:
        self._allocator.give(self._tree.unlock(hold))

    def _take(self, count: int, near: int | None) -> tuple[Run, ...] | None:
        missing = count - self._allocator.free
        if missing > 0:
            self._allocator.give(self._tree.evict(missing, self._clock()))
        return self._allocator.take(count, near)

    def _shareable(self, sequence: Sequence) -> int:
        """Give the position up to which the tree may have a sequence's tokens."""
        layers = sequence.layers
        generated_too = self._shares_generated and not (layers and layers[-1].owner.is_public)
        end = sequence.computed if generated_too else min(sequence.computed, sequence.prompt)
        return end - end % self._grid

    def _empty(self, sequence: Sequence) -> None:
        self._allocator.give(sequence.tail.cut_behind(0))
        self._put_down(sequence)
        sequence.computed = sequence.planned = 0

    def _put_down(self, sequence: Sequence) -> None:
        hold, lease = sequence.hold, sequence.lease
        sequence.held(None)
        if hold is not None:
            self._unlock(hold)
        if lease is not None:
            lease.holders -= 1
            if lease.holders == 0:
                self._allocator.give(lease.runs)


def _end(sequence: Sequence) -> int | None:
    """Give the slot behind the last one that is read, so that the next may follow it."""
    runs = sequence.runs_to(sequence.base)
    return runs[-1].end if runs else None
