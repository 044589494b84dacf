"""Times as logs write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.advise.times import moment, seconds, span

NOON = 1767355200.0


@pytest.mark.parametrize(
    "told",
    [
        NOON,
        int(NOON),
        NOON * 1e3,
        NOON * 1e6,
        int(NOON) * 10**9,
        "1767355200",
        "1767355200000",
        "2026-01-02T12:00:00Z",
        "2026-01-02T12:00:00",
        "2026-01-02 12:00:00.000000",
        "2026-01-02T12:00:00.000000000Z",
        "2026-01-02T13:00:00+01:00",
        "2026-01-02T13:00:00+0100",
        "2026-01-02 12:00:00 UTC",
        "2026-01-02 12:00:00 +0000 UTC",
        "Fri, 02 Jan 2026 12:00:00 GMT",
        "Fri, 02 Jan 2026 13:00:00 +0100",
        " 2026-01-02T12:00:00Z ",
    ],
    ids=repr,
)
def test_one_moment_in_many_spellings(told: object) -> None:
    assert moment(told) == pytest.approx(NOON, abs=1e-3)


@pytest.mark.parametrize(
    "told",
    [
        None,
        True,
        -1,
        0,
        5,
        math.nan,
        math.inf,
        -math.inf,
        10**400,
        "",
        "soon",
        "9" * 65,
        "99999-01-01",
        "0001-01-01T00:00:00Z",
        [],
        {},
        "2026-13-45T99:00:00Z",
        "1e400",
        b"2026",
        "2026-01-02T12:00:00+99:99",
        "\x00",
    ],
    ids=repr,
)
def test_what_is_no_time_is_none(told: object) -> None:
    assert moment(told) is None


def test_a_day_alone_is_its_beginning() -> None:
    assert moment("2026-01-02") == NOON - 12 * 3600


instants = st.datetimes(datetime(1974, 1, 1), datetime(5000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(instants, st.integers(-14 * 60, 14 * 60), st.sampled_from(["T", " "]))
def test_iso_times_of_all_zones_are_read(when: datetime, minutes: int, between: str) -> None:
    local = when.astimezone(timezone(timedelta(minutes=minutes)))
    assert moment(local.isoformat(between)) == pytest.approx(when.timestamp(), abs=1e-4)


@given(instants, st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_numbers_are_read_in_every_unit(when: datetime, unit: int) -> None:
    whole = int(when.timestamp())
    assert moment(whole * unit) == pytest.approx(whole, abs=1e-3)
    assert moment(str(whole * unit)) == pytest.approx(whole, abs=1e-3)


@given(st.one_of(st.text(), st.floats(), st.integers(), st.binary(), st.none()))
def test_no_value_breaks_it(told: object) -> None:
    found = moment(told)
    assert found is None or 1e8 <= found < 1e11


def test_spans_and_durations_are_sane_or_nothing() -> None:
    assert span(NOON, NOON + 2) == 2
    assert span(NOON, NOON - 1) is span(NOON, NOON + 1e6) is span(None, NOON) is span(NOON, None) is None
    assert (seconds(1.5), seconds(1500, 1000), seconds("2")) == (1.5, 1.5, 2.0)
    for bad in (-1, math.nan, math.inf, True, "x", None, 1e9, 10**400):
        assert seconds(bad) is None
