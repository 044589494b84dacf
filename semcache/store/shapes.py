"""Replies checked for their shape before they are taken apart (pure).

What answers at the other end may be no Redis at all, or one whose scripts somebody replaced: a
reply of another shape is a fault of the store like any other.
"""

from __future__ import annotations

from typing import Any

from semcache.errors import StoreError


def a_list(reply: Any, least: int = 0, most: int | None = None) -> list[Any]:
    """Give the reply as a list of `least` to `most` items.

    Raises:
        StoreError: `error`: it is none.
    """
    if not isinstance(reply, list) or len(reply) < least or (most is not None and len(reply) > most):
        raise _odd()
    return reply


def a_number(item: Any) -> int:
    """Give an integer, also one that came as digits; nil is 0.

    Raises:
        StoreError: `error`: it is none.
    """
    if item is None:
        return 0
    if isinstance(item, int):
        return item
    digits = some_bytes(item)
    if not digits.isdigit() or len(digits) > 20:
        raise _odd()
    return int(digits)


def some_bytes(item: Any) -> bytes:
    """Give bytes.

    Raises:
        StoreError: `error`: it is none.
    """
    if not isinstance(item, bytes):
        raise _odd()
    return item


def bytes_or_nil(item: Any) -> bytes | None:
    """Give bytes, or None for nil.

    Raises:
        StoreError: `error`: it is neither.
    """
    return None if item is None else some_bytes(item)


def is_yes(item: Any, yes: bytes, no: tuple[bytes, ...]) -> bool:
    """Tell a word that means yes from those that mean no.

    Raises:
        StoreError: `error`: it is neither.
    """
    if item != yes and item not in no:
        raise _odd()
    return bool(item == yes)


def pairs(items: list[Any]) -> list[tuple[bytes, bytes]]:
    """Give a flat list of names and values as pairs.

    Raises:
        StoreError: `error`: it is none.
    """
    if len(items) % 2:
        raise _odd()
    return [(some_bytes(items[at]), some_bytes(items[at + 1])) for at in range(0, len(items), 2)]


def triples(items: list[Any]) -> list[tuple[bytes, bytes, Any]]:
    """Give a flat list of names, values and one thing more each as triples.

    Raises:
        StoreError: `error`: it is none.
    """
    if len(items) % 3:
        raise _odd()
    return [
        (some_bytes(items[at]), some_bytes(items[at + 1]), items[at + 2]) for at in range(0, len(items), 3)
    ]


def beside(items: list[Any], count: int) -> list[tuple[Any, Any]]:
    """Give `count` items, each with what follows behind them all as `place, thing`; None where nothing does.

    Raises:
        StoreError: `error`: fewer items, or a place that is none.
    """
    things: dict[int, Any] = {}
    if len(items) < count or (len(items) - count) % 2:
        raise _odd()
    for at in range(count, len(items), 2):
        things[a_number(items[at])] = items[at + 1]
    if things and not max(things) < count:
        raise _odd()
    return [(item, things.get(place)) for place, item in enumerate(items[:count])]


def _odd() -> StoreError:
    return StoreError("entry store: reply of another shape than asked for", kind="error")
