"""How many hits are checked in a second."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semcache.asking.pace import Pace


def test_a_burst_then_the_rate() -> None:
    pace = Pace(rate=1.0, burst=3.0)
    assert [pace.take(100.0) for _ in range(4)] == [True, True, True, False]
    assert [pace.take(101.0), pace.take(101.0)] == [True, False]
    # A quiet hour brings the burst back, and no more.
    assert [pace.take(4_000.0) for _ in range(4)] == [True, True, True, False]


@given(st.lists(st.floats(0, 2), max_size=200))
def test_never_more_than_burst_and_rate(gaps: list[float]) -> None:
    pace, now, taken = Pace(rate=2.0, burst=5.0), 0.0, 0
    for gap in gaps:
        now += gap
        taken += pace.take(now)
    assert taken <= 5 + 2 * now + 1e-6
