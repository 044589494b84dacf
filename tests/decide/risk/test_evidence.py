"""Counts: merging, ageing out, damaged counters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.risk.evidence import Cell, Evidence, Source
from semcache.decide.risk.grid import BINS

CELLS = st.lists(
    st.builds(
        lambda bin_, bucket, source, n, wrong: Cell(bin_, bucket, source, n, min(n, wrong)),
        st.integers(0, BINS - 1),
        st.integers(0, 40),
        st.sampled_from(Source),
        st.integers(0, 1000),
        st.integers(0, 1000),
    ),
    max_size=30,
)


@given(CELLS, CELLS, CELLS)
def test_merging_does_not_care_who_comes_first(a: list[Cell], b: list[Cell], c: list[Cell]) -> None:
    one, two, three = map(Evidence.of, (a, b, c))
    assert one + two == two + one == Evidence.of(a + b)
    assert (one + two) + three == one + (two + three)
    assert one + Evidence.of() == one
    assert hash(one + two) == hash(two + one)


@given(CELLS, st.randoms())
def test_the_order_of_counters_is_irrelevant(cells: list[Cell], random: object) -> None:
    mixed = list(cells)
    random.shuffle(mixed)  # type: ignore[attr-defined]  # Hypothesis gives a random.Random, typed as object
    assert Evidence.of(mixed) == Evidence.of(cells)


@given(CELLS)
def test_nothing_is_lost(cells: list[Cell]) -> None:
    evidence = Evidence.of(cells)
    assert sum(cell.n for cell in evidence) == sum(cell.n for cell in cells)
    assert Evidence.of(evidence) == evidence
    keys = [(cell.bucket, cell.bin, cell.source) for cell in evidence]
    assert keys == sorted(set(keys))


@given(CELLS, st.integers(0, 45))
def test_what_is_older_is_left_out(cells: list[Cell], bucket: int) -> None:
    kept = [cell for cell in cells if cell.bucket >= bucket]
    assert Evidence.of(cells).since(bucket) == Evidence.of(kept)


@pytest.mark.parametrize(
    ("n", "wrong", "kept"),
    [(5, 2, (5, 2)), (-5, 0, (0, 0)), (5, -2, (5, 0)), (3, 7, (7, 7)), (-1, 4, (4, 4))],
)
def test_torn_counters_are_read_against_us(n: int, wrong: int, kept: tuple[int, int]) -> None:
    (cell,) = Evidence.of([Cell(3, 7, Source.AUDIT, n, wrong)])
    assert (cell.n, cell.wrong) == kept


@pytest.mark.parametrize(
    ("bin_", "bucket", "source"), [(BINS, 1, 0), (-1, 1, 0), (1, -1, 0), (1, 1, 5), (1, 1 << 50, 0)]
)
def test_cells_off_the_grid_are_left_out(bin_: int, bucket: int, source: int) -> None:
    assert list(Evidence.of_columns([bin_], [bucket], [source], [1], [0])) == []


def test_columns_cannot_be_changed() -> None:
    evidence = Evidence.of([Cell(1, 1, Source.AUDIT, 1, 0)])
    with pytest.raises(ValueError, match="read-only"):
        evidence.n[0] = 5


def test_a_window_keeps_sources_apart_and_reads_the_future_as_now() -> None:
    evidence = Evidence.of(
        [
            Cell(1, 9, Source.AUDIT, 10, 1),
            Cell(1, 9, Source.SHADOW, 20, 2),
            Cell(2, 10, Source.VERDICT, 5, 3),
            Cell(2, 99, Source.FEEDBACK, 7, 7),
            Cell(3, 10, Source.SEEN, 500, 0),
            Cell(3, 7, Source.AUDIT, 1000, 0),
        ]
    )
    sampled, wrong, verdicts, complaints, seen = evidence.window(10, 3)
    assert sampled.shape == (3, BINS)
    assert (sampled[1, 1], wrong[1, 1]) == (30, 3)
    assert (verdicts[2, 2], complaints[2, 2], seen[2, 3]) == (3, 7, 500)
    assert np.sum([sampled, wrong, verdicts, complaints, seen]) == 30 + 3 + 3 + 7 + 500
