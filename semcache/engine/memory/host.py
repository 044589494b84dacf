"""Copies of evicted runs in host memory, under a byte budget: the optional second tier.

A copy is named by the digest of all that comes before it and found by comparing token ids: those
of the run always, those before it when the owner gives them (`path`). A digest alone never finds
anything. The least recently used copies go first. Knows neither the prefix tree nor whose tokens
these are (the digest is salted with the owner), nor when to evict; belongs to one thread.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from semcache.errors import EngineError

TOKEN_BYTES = 4
"""Token ids are little-endian int32."""

COPY_OVERHEAD = 1_024
"""Bytes charged for one copy beside its values and ids: tensor, dictionary and list entries."""

Place = tuple[bytes, bytes]
"""Where a copy belongs: the digest of all tokens before it, and those tokens, or b""."""


class HostTierError(EngineError):
    """What was to be stored is no run, or the tier's accounts are broken. A defect."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The beginning of a stored run: `values` [2, layers, KV heads, tokens, head dim], only to be read."""

    tokens: int
    values: Tensor


@dataclass(frozen=True, slots=True)
class HostStats:
    """Present sizes, and counters since the start.

    `refused` copies were larger than the whole budget, or than what the machine had left; `known`
    ones were there already.
    `evicted_tokens` made room for others.
    """

    copies: int
    tokens: int
    bytes: int
    budget: int
    stored: int
    known: int
    refused: int
    hits: int
    hit_tokens: int
    misses: int
    evicted_tokens: int


@dataclass(slots=True)
class _Counters:
    stored: int = 0
    known: int = 0
    refused: int = 0
    hits: int = 0
    hit_tokens: int = 0
    misses: int = 0
    evicted_tokens: int = 0


class HostTier:
    """Holds copies of at most `budget` bytes: values, ids and bookkeeping.

    Args:
        budget: bytes; 0 stores nothing.
        pinned: keep values in page-locked memory, from which a copy to the GPU is faster. Torch
            rounds such memory up to powers of two; the budget counts what is really held.
    """

    def __init__(self, budget: int, *, pinned: bool | None = None) -> None:
        self.budget = budget
        self._pinned = torch.cuda.is_available() if pinned is None else pinned
        self._copies: OrderedDict[tuple[Place, bytes], Tensor] = OrderedDict()  # least recently used first
        # The runs stored at a place, sorted. None is the beginning of another, so the one that agrees
        # longest with any tokens stands next to where these would be inserted.
        self._places: dict[Place, list[bytes]] = {}
        self._bytes = 0
        self._tokens = 0
        self._counters = _Counters()

    def put(self, prefix_digest_before: bytes, tokens: bytes, values: Tensor, *, path: bytes = b"") -> bool:
        """Keep a run's values; the tensor belongs to the tier from now on.

        A run that begins a stored one adds nothing; one that continues a stored one replaces it.

        Args:
            prefix_digest_before: names everything before the run, and its owner.
            tokens: the run's ids, int32 little-endian.
            values: what `Network.read` gave for the run: [2, layers, KV heads, length, head dim].
            path: all ids before the run, if `find` is to compare them, too.

        Returns:
            True when the run is held now.

        Raises:
            HostTierError: ids and values do not make a run.
        """
        _check(tokens, values)
        place = (prefix_digest_before, path)
        runs = self._places.get(place, [])
        at = bisect_left(runs, tokens)
        if at < len(runs) and runs[at].startswith(tokens):
            self._copies.move_to_end((place, runs[at]))
            self._counters.known += 1
            return True
        kept = self._owned(values) if self._cost(place, tokens, values) <= self.budget else None
        if kept is None:
            self._counters.refused += 1
            return False
        if at and tokens.startswith(runs[at - 1]):
            self._drop((place, runs[at - 1]))
        self._store((place, tokens), kept)
        self._counters.stored += 1
        while self._bytes > self.budget:
            self._counters.evicted_tokens += self._drop(next(iter(self._copies)))
        return True

    def find(self, prefix_digest_before: bytes, tokens: bytes, *, path: bytes = b"") -> Restored | None:
        """Give the longest stored beginning of `tokens` after a prefix, or None.

        What a longer stored run holds beyond the agreement is cut off. A continuation that was
        stored as a run of its own is found under the digest of what precedes it.
        """
        place = (prefix_digest_before, path)
        best, agreed = self._nearest(place, tokens)
        if not agreed:
            self._counters.misses += 1
            return None
        self._copies.move_to_end((place, best))
        self._counters.hits += 1
        self._counters.hit_tokens += agreed
        return Restored(agreed, self._copies[place, best][:, :, :, :agreed])

    def holds(self, prefix_digest_before: bytes, tokens: bytes, *, path: bytes = b"") -> bool:
        """Tell whether the whole run is here, so that it need not be read from the device again."""
        runs = self._places.get((prefix_digest_before, path), [])
        at = bisect_left(runs, tokens)
        return at < len(runs) and runs[at].startswith(tokens)

    def clear(self) -> None:
        """Forget every copy (the model changed); counters go on."""
        self._copies.clear()
        self._places.clear()
        self._bytes = self._tokens = 0

    @property
    def tokens(self) -> int:
        """Count the tokens held."""
        return self._tokens

    def stats(self) -> HostStats:
        """Give present figures."""
        counted = self._counters
        return HostStats(
            copies=len(self._copies),
            tokens=self._tokens,
            bytes=self._bytes,
            budget=self.budget,
            stored=counted.stored,
            known=counted.known,
            refused=counted.refused,
            hits=counted.hits,
            hit_tokens=counted.hit_tokens,
            misses=counted.misses,
            evicted_tokens=counted.evicted_tokens,
        )

    def check_integrity(self) -> None:
        """Compare all accounts; costs a walk over the tier.

        Raises:
            HostTierError: they disagree.
        """
        listed = [(place, run) for place, runs in self._places.items() for run in runs]
        sound = (
            set(listed) == set(self._copies)
            and len(listed) == len(self._copies)
            and all(self._places.values())
            and all(_is_unnested(runs) for runs in self._places.values())
            and self._tokens == sum(len(run) // TOKEN_BYTES for _, run in listed)
            and self._bytes == sum(self._cost(*key, values) for key, values in self._copies.items())
            and self._bytes <= max(self.budget, 0)
        )
        if not sound:
            raise HostTierError("the host tier's accounts are broken")

    def _nearest(self, place: Place, tokens: bytes) -> tuple[bytes, int]:
        """Give the stored run that agrees longest with `tokens`, and for how many of them."""
        runs = self._places.get(place, [])
        at = bisect_right(runs, tokens)
        best, agreed = b"", 0
        for run in runs[max(at - 1, 0) : at + 1]:
            length = _agreement(run, tokens)
            if length > agreed:
                best, agreed = run, length
        return best, agreed

    def _store(self, key: tuple[Place, bytes], values: Tensor) -> None:
        place, tokens = key
        runs = self._places.setdefault(place, [])
        runs.insert(bisect_left(runs, tokens), tokens)
        self._copies[key] = values
        self._bytes += self._cost(place, tokens, values)
        self._tokens += len(tokens) // TOKEN_BYTES

    def _drop(self, key: tuple[Place, bytes]) -> int:
        """Forget a copy; gives its tokens."""
        place, tokens = key
        values = self._copies.pop(key)
        runs = self._places[place]
        del runs[bisect_left(runs, tokens)]
        if not runs:
            del self._places[place]
        self._bytes -= self._cost(place, tokens, values)
        self._tokens -= len(tokens) // TOKEN_BYTES
        return len(tokens) // TOKEN_BYTES

    def _cost(self, place: Place, tokens: bytes, values: Tensor) -> int:
        held = values.numel() * values.element_size()
        if self._pinned:
            held = 1 << (held - 1).bit_length()
        return held + len(tokens) + len(place[0]) + len(place[1]) + COPY_OVERHEAD

    def _owned(self, values: Tensor) -> Tensor | None:
        """Give the values in memory of their own, or None when the machine has none left.

        A view would keep alive what the budget does not count.
        """
        values = values.detach()
        size = values.numel() * values.element_size()
        is_alone = values.is_contiguous() and values.untyped_storage().nbytes() == size
        try:
            if self._pinned:
                return values.cpu().contiguous().pin_memory()
            return (
                values
                if is_alone and values.device.type == "cpu"
                else values.cpu().clone(memory_format=torch.contiguous_format)
            )
        except RuntimeError:  # torch's word for memory that cannot be had
            return None


def _check(tokens: bytes, values: Tensor) -> None:
    """Refuse ids and values that do not make a run."""
    length, rest = divmod(len(tokens), TOKEN_BYTES)
    if rest or not length or values.dim() != 5 or values.shape[0] != 2 or values.shape[3] != length:
        raise HostTierError("token ids and values of a run do not match")


def _agreement(one: bytes, other: bytes) -> int:
    """Count the tokens that two runs have in common at their beginning; comparing is by memory blocks."""
    low, high = 0, min(len(one), len(other)) // TOKEN_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        if one[low * TOKEN_BYTES : middle * TOKEN_BYTES] == other[low * TOKEN_BYTES : middle * TOKEN_BYTES]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_unnested(runs: list[bytes]) -> bool:
    """Tell whether runs are sorted and none begins with another."""
    return all(one < other and not other.startswith(one) for one, other in pairwise(runs))
