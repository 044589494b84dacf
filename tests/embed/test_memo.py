"""Bounds and order of the memo."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import EncoderId
from semcache.embed.memo import VectorMemo, text_key

A, B = EncoderId("a@1"), EncoderId("b@1")


def vector(dim: int = 4) -> np.ndarray:
    return np.ones(dim, dtype=np.float32)


def test_the_key_holds_the_generation() -> None:
    assert text_key(A, "text") != text_key(B, "text")


def test_the_key_takes_any_string() -> None:
    assert text_key(A, "\ud800\x00") != text_key(A, "\ud801\x00")


def test_the_least_recent_goes_first() -> None:
    memo = VectorMemo(2, 1 << 20)
    for name in ("one", "two"):
        memo.put(text_key(A, name), vector())
    assert memo.get(text_key(A, "one")) is not None
    memo.put(text_key(A, "three"), vector())
    assert memo.get(text_key(A, "two")) is None
    assert memo.get(text_key(A, "one")) is not None


def test_zero_entries_switch_it_off() -> None:
    memo = VectorMemo(0, 1 << 20)
    memo.put(text_key(A, "one"), vector())
    assert memo.get(text_key(A, "one")) is None


def test_clear_gives_everything_back() -> None:
    memo = VectorMemo(5, 1 << 20)
    memo.put(text_key(A, "one"), vector())
    memo.clear()
    assert (len(memo), memo.size) == (0, 0)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 2000))),
    st.integers(0, 6),
    st.integers(0, 20_000),
)
def test_never_exceeds_its_bounds(puts: list[tuple[int, int]], entries: int, size: int) -> None:
    memo = VectorMemo(entries, size)
    kept: dict[int, int] = {}
    for number, dim in puts:
        memo.put(text_key(A, str(number)), vector(dim))
        kept[number] = dim
        assert len(memo) <= entries
        assert memo.size <= size
    found = {n: memo.get(text_key(A, str(n))) for n in kept}
    assert memo.size == sum(row.nbytes + 400 for row in found.values() if row is not None)
    assert all(row is None or row.size == kept[n] for n, row in found.items())
