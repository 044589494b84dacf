"""A value against its limits, as places on a line of 100: for small bars. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit: key of its name in the texts, its value, and where it lies."""

    key: str
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class Meter:
    """A value, how long its bar is, and its limits; `key` names it in the texts."""

    key: str
    value: float
    at: float
    limits: tuple[Limit, ...]


def meter(key: str, value: float, limits: Iterable[tuple[str, float]], low: float) -> Meter:
    """Lay a value and its limits out from `low` to 1."""
    placed = tuple(Limit(name, limit, _place(limit, low)) for name, limit in limits)
    return Meter(key, value, _place(value, low), placed)


def _place(value: float, low: float) -> float:
    return round(100 * min(max((value - low) / (1 - low), 0.0), 1.0), 2)
