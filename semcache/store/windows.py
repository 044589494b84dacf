"""The windows of budgets: hours, days, weeks and months of UTC. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def window_at(window: str, now: float) -> tuple[float, float]:
    """Give beginning and end (Unix seconds) of the window that holds a moment.

    Args:
        window: `hour`, `day`, `week` (from Monday on) or `month`.
        now: Unix seconds.
    """
    at = datetime.fromtimestamp(now, UTC).replace(minute=0, second=0, microsecond=0)
    match window:
        case "hour":
            return _bounds(at, at + timedelta(hours=1))
        case "day":
            begins = at.replace(hour=0)
            return _bounds(begins, begins + timedelta(days=1))
        case "week":
            begins = at.replace(hour=0) - timedelta(days=at.weekday())
            return _bounds(begins, begins + timedelta(days=7))
        case _:
            begins = at.replace(hour=0, day=1)
            return _bounds(begins, (begins + timedelta(days=32)).replace(day=1))


def _bounds(begins: datetime, ends: datetime) -> tuple[float, float]:
    return begins.timestamp(), ends.timestamp()
