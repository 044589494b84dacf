"""Cache sizes by distances of reuse: the same as caches of every size that forget what was used longest ago."""

from __future__ import annotations

import hashlib
import random
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.advise.distances import Distances

Uses = list[tuple[int, float]]
"""Names, and what each takes."""


def served(uses: Uses, room: float) -> float:
    """Ask a cache of this size; gives the gain (what each use takes) of its hits."""
    held: OrderedDict[int, float] = OrderedDict()
    gain = 0.0
    for name, size in uses:
        if held.pop(name, None) is not None:
            gain += size
        held[name] = size
        # Oldest first; a thing that is larger than the cache pushes all out, and itself.
        while sum(held.values()) > room:
            held.popitem(last=False)
    return gain


def distances(uses: Uses, most: int = 1 << 15) -> Distances:
    found, met = Distances(most), set[int]()
    for name, size in uses:
        found.use(name, size, size if name in met else 0.0)
        met.add(name)
    return found


@given(st.lists(st.integers(0, 8), max_size=80), st.sampled_from([2, 5, 1 << 15]))
def test_gain_of_every_size_is_that_of_a_cache(names: list[int], most: int) -> None:
    uses = [(name, 1.0) for name in names]
    # Where not all are followed, and names are no digests, only what is near is sure.
    if len(set(names)) > most:
        return
    curve = distances(uses, most).curve()
    assert curve.total == served(uses, 10**9)
    for room in range(10):
        wanted = served(uses, room) / curve.total if curve.total else 0.0
        assert curve.share_at(room * 1.016) == pytest.approx(wanted)


@given(st.lists(st.integers(0, 8), max_size=60))
def test_things_of_different_sizes(names: list[int]) -> None:
    uses = [(name, 1.0 + name % 3) for name in names]
    curve = distances(uses).curve()
    for room in range(1, 20):
        # Sizes are told apart to 1.5 %.
        assert curve.share_at(room * 1.016) * curve.total >= served(uses, room) - 1e-6
        assert curve.share_at(room - 0.01) * curve.total <= served(uses, room) + 1e-6


def zipf(count: int, things: int, seed: int = 1) -> Uses:
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(things)]
    names = rng.choices(range(things), weights, k=count)
    digests = [
        int.from_bytes(hashlib.blake2b(str(n).encode(), digest_size=8).digest()) for n in range(things)
    ]
    return [(digests[name], 1.0) for name in names]


def test_following_a_part_of_them_comes_near() -> None:
    uses = zipf(60_000, 20_000)
    whole, part = distances(uses).curve(), distances(uses, most=2000).curve()
    assert (whole.rate, part.rate) < (1.1, 0.2)
    assert part.total == pytest.approx(whole.total, rel=0.05)
    assert part.distinct == pytest.approx(whole.distinct, rel=0.1)
    for size in (10, 100, 900):
        assert part.share_at(size) == pytest.approx(whole.share_at(size), abs=0.002), "near ones are exact"
    for size in (2000, 5000, 10_000):
        assert part.share_at(size) == pytest.approx(whole.share_at(size), abs=0.05)


def test_sizes_for_shares_rise_and_suffice() -> None:
    uses = zipf(5000, 500)
    curve = distances(uses).curve()
    sizes = [curve.size_for(share) for share in (0.5, 0.8, 0.95, 1.0)]
    assert sizes == sorted(sizes)
    for share, size in zip((0.5, 0.8, 0.95, 1.0), sizes, strict=True):
        assert served(uses, size + 0.5) >= share * curve.total
        assert served(uses, size * 0.95 - 1) < share * curve.total


def test_nothing_used_twice_is_no_curve() -> None:
    curve = distances([(number, 1.0) for number in range(10)]).curve()
    assert (curve.total, curve.points, curve.size_for(0.95), curve.share_at(5)) == (0, (), 0, 0)


def test_a_use_too_late_to_gain_still_counts_as_use() -> None:
    found = Distances()
    for name, gain in ((1, 0.0), (2, 0.0), (1, 0.0), (1, 1.0)):
        found.use(name, 1.0, gain)
    curve = found.curve()
    assert curve.size_for(1.0) == pytest.approx(1.0)
