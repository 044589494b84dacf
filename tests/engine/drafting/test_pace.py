"""The block that pays best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.drafting.pace import Pace, Stakes


def paced(agreed: int, disagreed: int, stakes: Stakes | None = None) -> Pace:
    pace = Pace(stakes or Stakes())
    for _ in range(disagreed):
        pace.note(False)
    for _ in range(agreed):
        pace.note(True)
    return pace


@given(
    st.lists(st.booleans(), max_size=60),
    st.floats(0.01, 2.0),
    st.integers(0, 80),
)
def test_no_other_block_brings_more_for_its_cost(seen: list[bool], row_cost: float, limit: int) -> None:
    pace = Pace(Stakes(row_cost=row_cost))
    for is_agreed in seen:
        pace.note(is_agreed)

    def worth(k: int) -> float:
        return sum(pace.chance**power for power in range(k + 1)) / (1 + row_cost * k)

    assert worth(pace.length(limit)) == pytest.approx(max(worth(k) for k in range(limit + 1)))


def test_it_grows_with_agreement_and_stops_without() -> None:
    lengths = [paced(agreed, 0).length(64) for agreed in (0, 8, 40, 200)]
    assert lengths == sorted(lengths)
    assert 4 <= lengths[0] <= 8
    assert lengths[-1] == 64
    assert paced(0, 60).length(64) == 0
    assert 0 < paced(0, 3).length(64) < lengths[0]


def test_dear_rows_make_short_blocks() -> None:
    lengths = [paced(20, 2, Stakes(row_cost=cost)).length(64) for cost in (0.01, 0.1, 0.5, 1.0)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 10
    assert lengths[-1] == 0


def test_what_is_long_past_counts_no_longer() -> None:
    assert paced(80, 200).chance > 0.9


def test_the_limit_holds() -> None:
    assert paced(200, 0).length(3) == 3
    assert paced(200, 0).length(0) == 0
    assert paced(200, 0).length(-1) == 0
