"""The host tier: bit-equal values, ids compared, bounded bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from torch import Tensor

from semcache.engine.memory.host import COPY_OVERHEAD, HostTier, HostTierError

LAYERS, HEADS, DIM = 2, 1, 4


def ids(*tokens: int) -> bytes:
    return struct.pack(f"<{len(tokens)}i", *tokens)


def values_of(history: Sequence[int], length: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Values that depend on every token before, as a model's do: equal history, equal bits."""
    columns = []
    for end in range(len(history) - length + 1, len(history) + 1):
        generator = torch.Generator().manual_seed(hash(tuple(history[:end])) % (1 << 62))
        columns.append(torch.randn(2, LAYERS, HEADS, 1, DIM, generator=generator))
    return torch.cat(columns, dim=3).to(dtype)


def same_bits(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(
        one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_what_is_found_has_the_very_bits(dtype: torch.dtype) -> None:
    tier = HostTier(1 << 20)
    values = values_of((1, 2, 3), 3, dtype)
    values[0, 0, 0, 0, 0] = float("nan")
    values[0, 0, 0, 1, 0] = -0.0
    expected = values.clone()
    assert tier.put(b"d", ids(1, 2, 3), values)
    found = tier.find(b"d", ids(1, 2, 3, 9))
    assert found is not None
    assert found.tokens == 3
    assert same_bits(found.values, expected)


def test_the_longest_agreement_is_found_and_the_rest_cut_off() -> None:
    tier = HostTier(1 << 20)
    for run in [(1, 2, 3, 4), (1, 2, 5), (1, 7), (2, 2)]:
        tier.put(b"d", ids(*run), values_of(run, len(run)))
    found = tier.find(b"d", ids(1, 2, 3, 8, 8))
    assert found is not None
    assert found.tokens == 3
    assert same_bits(found.values, values_of((1, 2, 3), 3))
    assert tier.find(b"d", ids(3)) is None
    assert tier.find(b"other", ids(1, 2, 3, 4)) is None
    assert tier.find(b"d", b"") is None


def test_a_digest_that_collides_finds_nothing_by_itself() -> None:
    """Two histories under one digest: ids of the run, and of the path where given, tell them apart."""
    tier = HostTier(1 << 20)
    tier.put(b"same", ids(5, 6), values_of((1, 5, 6), 2), path=ids(1))
    tier.put(b"same", ids(5, 6), values_of((2, 5, 6), 2), path=ids(2))
    for first in (1, 2):
        found = tier.find(b"same", ids(5, 6), path=ids(first))
        assert found is not None
        assert same_bits(found.values, values_of((first, 5, 6), 2))
    assert tier.find(b"same", ids(5, 6), path=ids(3)) is None
    assert tier.find(b"same", ids(5, 6)) is None
    assert tier.find(b"same", ids(7, 6), path=ids(1)) is None


def test_half_a_token_in_common_is_nothing_in_common() -> None:
    tier = HostTier(1 << 20)
    tier.put(b"d", ids(0x01020304), values_of((1,), 1))
    assert tier.find(b"d", ids(0x7F020304)) is None


def test_a_longer_run_replaces_its_beginning_and_a_shorter_one_adds_nothing() -> None:
    tier = HostTier(1 << 20)
    assert tier.put(b"d", ids(1, 2), values_of((1, 2), 2))
    assert tier.put(b"d", ids(1, 2, 3), values_of((1, 2, 3), 3))
    assert tier.stats().copies == 1
    assert tier.put(b"d", ids(1), values_of((1,), 1))
    assert (tier.stats().copies, tier.stats().known, tier.tokens) == (1, 1, 3)
    assert tier.holds(b"d", ids(1, 2))
    assert not tier.holds(b"d", ids(1, 2, 3, 4))
    assert not tier.holds(b"e", ids(1, 2))


def cost(tokens: int) -> int:
    return tokens * (2 * LAYERS * HEADS * DIM * 4 + 4) + 1 + COPY_OVERHEAD


def test_the_least_recently_used_goes_first() -> None:
    tier = HostTier(3 * cost(2))
    for run in [(1, 1), (2, 2), (3, 3)]:
        tier.put(b"d", ids(*run), values_of(run, 2))
    tier.find(b"d", ids(1))
    tier.put(b"d", ids(4, 4), values_of((4, 4), 2))
    assert tier.find(b"d", ids(2, 2)) is None
    assert all(tier.find(b"d", ids(*run)) for run in [(1, 1), (3, 3), (4, 4)])
    assert tier.stats().evicted_tokens == 2
    tier.check_integrity()


def test_what_exceeds_the_whole_budget_is_refused_and_pushes_nobody_out() -> None:
    tier = HostTier(cost(3))
    tier.put(b"d", ids(1, 2), values_of((1, 2), 2))
    assert not tier.put(b"d", ids(1, 2, 3, 4), values_of((1, 2, 3, 4), 4))
    assert tier.find(b"d", ids(1, 2)) is not None
    assert tier.stats().refused == 1
    assert not HostTier(0).put(b"d", ids(1), values_of((1,), 1))


def test_a_view_does_not_keep_alive_what_it_was_cut_from() -> None:
    tier = HostTier(1 << 20)
    large = torch.zeros(2, LAYERS, HEADS, 1000, DIM)
    tier.put(b"d", ids(1, 2), large[:, :, :, :2])
    found = tier.find(b"d", ids(1, 2))
    assert found is not None
    assert found.values.untyped_storage().nbytes() == 2 * 2 * LAYERS * HEADS * DIM * 4


def test_a_machine_without_memory_refuses_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    tier = HostTier(1 << 20, pinned=True)

    def pin(values: Tensor) -> Tensor:
        if values.shape[3] > 2:
            raise RuntimeError("CUDA error: out of memory")
        return values

    monkeypatch.setattr(Tensor, "pin_memory", pin)
    assert tier.put(b"d", ids(1, 2), values_of((1, 2), 2))
    assert not tier.put(b"d", ids(1, 2, 3), values_of((1, 2, 3), 3))
    assert tier.stats().refused == 1
    assert tier.find(b"d", ids(1, 2)) is not None
    tier.check_integrity()


def test_pinned_memory_is_charged_as_torch_rounds_it() -> None:
    tier = HostTier(1 << 20, pinned=True)
    assert tier._cost((b"d", b""), ids(1, 2, 3), torch.zeros(2, 1, 1, 3, 1)) == 32 + 12 + 1 + COPY_OVERHEAD


@pytest.mark.parametrize(
    ("tokens", "shape"),
    [
        (b"", (2, LAYERS, HEADS, 0, DIM)),
        (b"\0" * 5, (2, LAYERS, HEADS, 1, DIM)),
        (ids(1, 2), (2, LAYERS, HEADS, 1, DIM)),
        (ids(1), (1, LAYERS, HEADS, 1, DIM)),
        (ids(1), (2, HEADS, 1, DIM)),
    ],
)
def test_what_is_no_run_is_refused(tokens: bytes, shape: tuple[int, ...]) -> None:
    tier = HostTier(1 << 20)
    with pytest.raises(HostTierError):
        tier.put(b"d", tokens, torch.zeros(shape))
    tier.check_integrity()
    assert tier.stats().copies == 0


def test_clear_forgets_all_but_the_counters() -> None:
    tier = HostTier(1 << 20)
    tier.put(b"d", ids(1, 2), values_of((1, 2), 2))
    tier.find(b"d", ids(1))
    tier.clear()
    assert tier.find(b"d", ids(1)) is None
    found = tier.stats()
    assert (found.copies, found.tokens, found.bytes, found.hits, found.hit_tokens) == (0, 0, 0, 1, 1)
    assert (found.stored, found.misses) == (1, 1)
    tier.check_integrity()


def test_a_broken_account_is_noticed() -> None:
    tier = HostTier(1 << 20)
    tier.put(b"d", ids(1, 2), values_of((1, 2), 2))
    tier._bytes += 1
    with pytest.raises(HostTierError):
        tier.check_integrity()


def test_many_continuations_of_one_prefix_are_searched_by_bisection() -> None:
    tier = HostTier(1 << 30)
    values = torch.zeros(2, 1, 1, 3, 1)
    for number in range(3_000):
        tier.put(b"d", ids(number % 7, number, 1), values.clone())
    touched = []
    place = (b"d", b"")

    class Watched(bytes):
        def __getitem__(self, at: slice) -> bytes:  # type: ignore[override]  # only sliced here
            touched.append(at)
            return bytes(self)[at]

    tier._places[place] = [Watched(run) for run in tier._places[place]]
    found = tier.find(b"d", ids(3, 3 + 7 * 100, 9))
    assert found is not None
    assert found.tokens == 2
    assert len(touched) < 20


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), max_size=12), st.lists(st.integers(0, 2))
)
def test_the_agreement_is_the_best_of_all_stored(runs: list[list[int]], asked: list[int]) -> None:
    tier = HostTier(1 << 30)
    for run in runs:
        tier.put(b"d", ids(*run), values_of(run, len(run)))
    tier.check_integrity()
    best = max((_common(run, asked) for run in runs), default=0)
    found = tier.find(b"d", ids(*asked))
    assert (found.tokens if found else 0) == best
    if found:
        assert same_bits(found.values, values_of(asked[:best], best))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


class UnderPressure(RuleBasedStateMachine):
    """Puts, finds and clears in any order: whatever is found is right, and the budget holds."""

    runs = st.lists(st.integers(0, 2), min_size=1, max_size=5)
    paths = st.lists(st.integers(0, 1), max_size=2)

    def __init__(self) -> None:
        super().__init__()
        self.tier = HostTier(6 * cost(3))

    @rule(path=paths, run=runs)
    def put(self, path: list[int], run: list[int]) -> None:
        # One digest for all: every find is a collision that the ids must resolve.
        kept = self.tier.put(b"d", ids(*run), values_of([*path, *run], len(run)), path=ids(*path))
        assert kept
        assert self.tier.holds(b"d", ids(*run), path=ids(*path))

    @rule(path=paths, run=runs)
    def find(self, path: list[int], run: list[int]) -> None:
        found = self.tier.find(b"d", ids(*run), path=ids(*path))
        if found:
            assert same_bits(found.values, values_of([*path, *run[: found.tokens]], found.tokens))

    @rule()
    def clear(self) -> None:
        self.tier.clear()

    @invariant()
    def is_sound(self) -> None:
        self.tier.check_integrity()
        assert self.tier.stats().bytes <= self.tier.budget


TestUnderPressure = UnderPressure.TestCase
TestUnderPressure.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


@pytest.mark.gpu
def test_with_a_gpu_values_lie_in_pinned_memory() -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    tier = HostTier(1 << 20)
    tier.put(b"d", ids(1, 2), values_of((1, 2), 2))
    found = tier.find(b"d", ids(1, 2))
    assert found is not None
    assert found.values.is_pinned()
    assert same_bits(found.values, values_of((1, 2), 2))
    tier.check_integrity()
