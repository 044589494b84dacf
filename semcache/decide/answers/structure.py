"""Answers that are data: JSON values compared by what they hold, not by how they are written.

Knows nothing of prose beyond whether two strings are the same but for case and blanks.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_FENCED = re.compile(r"\s*(?:```[\w+-]{0,20}\s*)?([\[{].*[\]}])\s*(?:```)?\s*", re.DOTALL)
_DEEPEST = 40
_LONG = 40
"""Strings longer than this are prose: other words may mean the same."""
_UNTIMELY = frozenset(
    ("confidence", "score", "probability", "id", "timestamp", "created", "reasoning", "explanation")
)
"""Fields that vary from call to call and are not the answer."""


def value_of(text: str) -> Any:
    """Give the JSON object or array that an answer consists of, None when it is none."""
    match = _FENCED.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return orjson.loads(match.group(1))
    except orjson.JSONDecodeError:
        return None


def same_value(one: Any, other: Any, depth: int = 0) -> bool | None:
    """Compare two values: True same, False another fact, None when it cannot be told."""
    if depth > _DEEPEST:
        return None
    match one, other:
        case (dict(), dict()):
            return _same_objects(one, other, depth)
        case (list(), list()):
            return _same_lists(one, other, depth)
        case (str(), str()):
            return _same_strings(one, other)
        case (bool(), bool()) | (None, None):
            return bool(one == other)
        case (int() | float(), int() | float()) if not isinstance(one, bool) and not isinstance(other, bool):
            return bool(one == other)
        case _:
            return _same_strings(str(one), str(other)) or None


def _same_objects(one: dict[str, Any], other: dict[str, Any], depth: int) -> bool | None:
    both = one.keys() & other.keys()
    verdicts = [
        same_value(one[key], other[key], depth + 1) for key in sorted(both) if key.lower() not in _UNTIMELY
    ]
    if False in verdicts:
        return False
    told = (one.keys() ^ other.keys()) - _UNTIMELY
    return None if told or not verdicts or None in verdicts else True


def _same_lists(one: list[Any], other: list[Any], depth: int) -> bool | None:
    if len(one) != len(other):
        return None
    plain = [item for item in (*one, *other) if isinstance(item, str | int | float | bool)]
    if len(plain) == len(one) + len(other):
        # The order of a list is rarely the answer.
        same = sorted(map(_plain, one)) == sorted(map(_plain, other))
        return True if same else None if any(len(_plain(item)) > _LONG for item in plain) else False
    verdicts = [same_value(a, b, depth + 1) for a, b in zip(one, other, strict=True)]
    return False if False in verdicts else None if None in verdicts else True


def _same_strings(one: str, other: str) -> bool | None:
    if _plain(one) == _plain(other):
        return True
    return None if max(len(one), len(other)) > _LONG else False


def _plain(item: Any) -> str:
    return "".join(filter(str.isalnum, str(item).lower()))
