"""Times as logs write them: ISO 8601, mail dates, and numbers of seconds, milli-, micro- or nanoseconds. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_UNITS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6), (1e17, 1e20, 1e9))
"""From, to, and how many of it make a second: each range is 1973 to 5138, so that no two meet."""
_LONGEST = 64
_ZONE = re.compile(r"\s*(?:([+-]\d\d):?(\d\d))?\s*(?:UTC|GMT|Z)?$", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DAY = 86_400.0


def moment(value: Any) -> float | None:
    """Give Unix seconds, or None for what is no time between 1973 and 5138. Times without a zone are UTC."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _from_number(value)
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST:
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return _from_number(float(text))
    return _from_text(text)


def span(start: float | None, end: float | None) -> float | None:
    """Give the seconds from one time to another; None where one is not known, they are turned round, or a day apart."""
    if start is None or end is None or not 0 <= end - start <= _DAY:
        return None
    return end - start


def seconds(value: Any, per_second: float = 1.0) -> float | None:
    """Read a duration given in parts of a second; None for what cannot be one."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value) / per_second
    except OverflowError:
        return None
    return found if 0 <= found <= _DAY else None


def _from_number(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    return next((number / unit for low, high, unit in _UNITS if low <= number < high), None)


def _from_text(text: str) -> float | None:
    found = _ZONE.search(text)
    bare, zone = text, ""
    # "2026-01-02" ends in what looks like a zone: only times have one.
    if found is not None and ":" in text[: found.start()]:
        bare = text[: found.start()]
        zone = f"{found[1]}:{found[2]}" if found[1] else ""
    iso: Callable[[str], datetime] = datetime.fromisoformat
    for read, words in ((iso, bare + zone), (parsedate_to_datetime, text)):
        try:
            when = read(words)
            if when.tzinfo is None:
                when = when.replace(tzinfo=UTC)
            return _from_number(when.timestamp())
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return None
