"""Good messages with one thing in them that has no business there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

ODD = (None, True, 0, -1, 2**70, 1e300, "", "x", [], {}, [None], [[]], [{}], {"a": 1}, {"": []}, "\ud800")
odd = st.sampled_from(ODD)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give every place inside a JSON value."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def spoiled(value: Any, at: int, by: Any) -> Any:
    """Give a copy in which one value, however deep, is another."""
    copy = json.loads(json.dumps(value))
    found = list(places(copy))
    path = found[at % len(found)]
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = by
    return copy


def deep(levels: int) -> Any:
    """Give an object in an object in an object."""
    value: Any = 1
    for _ in range(levels):
        value = {"items": value}
    return value
