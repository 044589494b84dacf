"""The slots of sequences: found in the tree, taken for what is computed, handed to the tree, given back.

Knows nothing of when a sequence runs.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Row
from dataclasses import dataclass, field

from semcache.engine.forward import Network
from semcache.engine.layers import owner_at
from semcache.engine.prefix.handles import Handle
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.shares import Shares
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.runs import cut
from semcache.engine.scheduling.sequence import Sequence
from semcache.engine.scheduling.slots import Slots
from semcache.engine.scheduling.tail import Lease
from semcache.engine.scheduling.tier import SecondTier

AHEAD = 512
"""Slots of a prompt that are taken at once, so that they become one run."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept, and for whom.

    `rules` say which prefix goes first, `shares` who may fill how much of the pool (None: no
    limits). What was computed ahead of any request is kept for `warm_seconds`, unless nothing
    else is left. `host_bytes` of host memory hold copies of what was evicted (0: none), which
    pays where the pool is on a device.
    """

    rules: EvictionRules = field(default_factory=EvictionRules)
    shares: Shares | None = None
    warm_seconds: float = 600.0
    host_bytes: int = 0


class Pool:
    """Moves slots between their source, the tree and sequences. Answers' places grow by `step` slots."""

    def __init__(
        self,
        network: Network,
        slots: Slots,
        tree: PrefixTree,
        clock: Callable[[], float],
        *,
        step: int,
        warm: Callable[[int], None],
        tier: SecondTier | None,
    ) -> None:
        self._network = network
        self._slots = slots
        self._tree = tree
        self._clock = clock
        self._step = step
        self._warm = warm
        self._tier = tier
        self._grid = network.exactness.grid
        self._shares_generated = network.exactness.shares_generated

    def look_up(self, sequence: Sequence) -> int:
        """Find what is known of a sequence and go on behind it; gives the number of tokens gained.

        The last token is always computed, since its logits are needed. Counts no hit.
        """
        limit = len(sequence.ids) - 1
        if not self._shares_generated:
            # An answer goes on from its own values: those of another cut have other bits.
            limit = min(limit, sequence.prompt)
        hold = self._find(sequence, limit, counted=False)
        if self._tier is not None and sequence.hold is None:
            hold = self._restore(sequence, hold, limit, self._tier)
        if sequence.hold is not None and hold.length <= sequence.computed:
            self._unlock(hold)
            return 0
        gained = hold.length - sequence.computed
        surplus = sequence.tail.cut_first(min(hold.length - sequence.base, sequence.tail.capacity))
        self._slots.give(surplus)
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
        self._slots.give(stem.tail.cut_behind(stem.in_use))
        if not stem.tail.capacity:
            return None
        return Lease(stem.tail.cut_first(stem.tail.capacity), holders)

    def secure(self, sequence: Sequence, count: int, *, floors: bool = True) -> bool:
        """Make the tail long enough for `count` more tokens; False when there is no room.

        Without `floors` what they keep is room, too.
        """
        missing = sequence.in_use + count - sequence.tail.capacity
        if missing <= 0:
            return True
        end = sequence.tail.end
        near = end if end is not None else _end(sequence)
        ahead = self._step if sequence.answer is not None else min(AHEAD, sequence.pending)
        most = ahead if ahead <= self._slots.room else missing  # many at once, so that they lie side by side
        tenant = sequence.generation.job.tenant
        taken = self._slots.take(missing, near, tenant, most=most, floors=floors)
        if taken is None:
            return False
        sequence.tail.grow(taken)
        return True

    def reconsider(self) -> None:
        """Look at the room anew, since a request is over."""
        self._slots.reconsider()

    def trim(self, sequences: Row[Sequence]) -> bool:
        """Take back what sequences hold ahead of the next pass; False when there was nothing."""
        before = self._slots.free
        for sequence in sequences:
            needed = sequence.in_use + sequence.planned
            self._slots.give(sequence.tail.cut_behind(min(needed, sequence.tail.capacity)))
        return self._slots.free > before

    def share(self, sequence: Sequence) -> None:
        """Hand computed tokens to the tree, as far as they may be shared."""
        end = self._shareable(sequence)
        hold = sequence.hold
        if hold is None or sequence.lease is not None or end <= hold.length:
            return
        tenant = owner_at(sequence.layers, end - 1).tenant
        if not self._slots.may_keep(end - hold.length, tenant):
            return
        runs = sequence.tail.first(end - hold.length)
        tokens = bytes(sequence.data[: 4 * end])
        inserted = self._tree.insert(hold, tokens, sequence.layers, runs, self._clock())
        sequence.tail.cut_first(end - hold.length)
        self._slots.give(inserted.duplicates)
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

    def keep_warm(self, sequence: Sequence) -> None:
        """Tell the tree that what a sequence computed is for those that will come."""
        if sequence.hold is not None and sequence.hold.length:
            self._warm(sequence.hold.node)

    def check_integrity(self, sequences: Row[Sequence]) -> None:
        """Compare the books with what sequences hold.

        Raises:
            EngineError: slots are lost or counted twice, or the tree contradicts itself.
        """
        leases = {id(one.lease): one.lease.length for one in sequences if one.lease is not None}
        self._slots.check_integrity(sum(one.tail.capacity for one in sequences) + sum(leases.values()))

    def _find(self, sequence: Sequence, limit: int, *, counted: bool) -> Handle:
        match = self._tree.match(bytes(sequence.data[: 4 * limit]), sequence.layers)
        length = match.length - match.length % self._grid
        return self._tree.lock(match, length, self._clock(), counts=counted)

    def _restore(self, sequence: Sequence, hold: Handle, limit: int, tier: SecondTier) -> Handle:
        """Bring back what follows a prefix and was evicted, as long as there is room for it."""
        tokens = bytes(sequence.data[: 4 * limit])
        while (found := tier.find(hold, tokens, sequence.layers, self._grid)) is not None:
            tenant = owner_at(sequence.layers, hold.length).tenant
            runs = None
            if self._slots.may_keep(found.tokens, tenant):
                runs = self._slots.take(found.tokens, hold.runs[-1].end if hold.runs else None, tenant)
            if runs is None:
                return hold
            if not tier.put_back(found, runs):
                self._slots.give(runs)
                return hold
            known = tokens[: 4 * (hold.length + found.tokens)]
            inserted = self._tree.insert(hold, known, sequence.layers, runs, self._clock())
            self._slots.give(inserted.duplicates)
            hold = inserted.handle
        return hold

    def _unlock(self, hold: Handle) -> None:
        self._slots.give(self._tree.unlock(hold))

    def _shareable(self, sequence: Sequence) -> int:
        """Give the position up to which the tree may have a sequence's tokens."""
        layers = sequence.layers
        generated_too = self._shares_generated and not (layers and layers[-1].owner.is_public)
        end = sequence.computed if generated_too else min(sequence.computed, sequence.prompt)
        return end - end % self._grid

    def _empty(self, sequence: Sequence) -> None:
        self._slots.give(sequence.tail.cut_behind(0))
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
                self._slots.give(lease.runs)


def _end(sequence: Sequence) -> int | None:
    """Give the slot behind the last one that is read, so that the next may follow it."""
    runs = sequence.runs_to(sequence.base)
    return runs[-1].end if runs else None
