"""Durations and sizes: the notations that are allowed, and every near miss."""

from __future__ import annotations

import math

import pytest

from semcache.policy.values import MAX_DURATION, parse_duration, parse_size


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("24h", 86_400),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("1.5h", 5400),
        (30, 30),
        (0.5, 0.5),
        (" 5 m ", 300),
    ],
)
def test_durations(value: object, seconds: float) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "h",
        "24",
        "24H",
        "-5m",
        "1h30m",
        "5 minutes",
        "1e3s",
        "٣h",
        0,
        -1,
        True,
        None,
        [],
        math.inf,
        math.nan,
        "367d",
        MAX_DURATION + 1,
        10**400,
        "0s",
        "9999999999s",
    ],
)
def test_no_durations(value: object) -> None:
    with pytest.raises(ValueError, match="should be"):
        parse_duration(value)


@pytest.mark.parametrize(
    ("value", "size"), [(1, 1), ("512KiB", 524_288), ("1 MiB", 1 << 20), ("2GiB", 2 << 30), ("7B", 7)]
)
def test_sizes(value: object, size: int) -> None:
    assert parse_size(value) == size


@pytest.mark.parametrize("value", [0, -1, True, None, 1.5, "1MB", "MiB", "-1MiB", "1.5MiB", "0B", ""])
def test_no_sizes(value: object) -> None:
    with pytest.raises(ValueError, match="should be"):
        parse_size(value)
