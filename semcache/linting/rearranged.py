"""The same things in another order: lists of pieces, keys of JSON objects, and windows over a growing list. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

_ITEM = re.compile(r"[^\n,;|，；、]+")
_LEAD = re.compile(r"^[\s\-*•>#]*(?:\[?\d+[.):\]]\s*)?")
_OPEN = re.compile(r"[{\[]")
_TITLE = re.compile(r"^[^:：,;|]{1,40}[:：]\s+(?=\S)")
_SAME_SET = 0.95
_LEAST_SAME = 16
_TRIES = 3
_LEAST_MOVED = 2
_DECODER = json.JSONDecoder()


def other_order(before: str, after: str) -> tuple[int, int] | None:
    """Tell whether two stretches of text begin with the same items (lines, or parts of lists) in another order.

    Returns:
        Where those items end in each, or None.
    """
    title = _TITLE.match(after)
    found = _moved(_items(before, 0), _items(after, 0))
    if found is None and title is not None and before.startswith(title[0]):
        return _moved(_items(before, title.end()), _items(after, title.end()))
    return found


def _moved(one: list[tuple[str, int]], other: list[tuple[str, int]]) -> tuple[int, int] | None:
    mine, yours = _shared_run(one, other), _shared_run(other, one)
    names, others = [name for name, _ in mine], [name for name, _ in yours]
    if names == others or len(others) < _LEAST_MOVED or not names:
        return None
    same = sum(len(name) * count for name, count in (Counter(names) & Counter(others)).items())
    if same < _LEAST_SAME or same < _SAME_SET * max(sum(map(len, names)), sum(map(len, others))):
        return None
    return mine[-1][1], yours[-1][1]


def has_slid(before: Sequence[str], after: Sequence[str]) -> bool:
    """Tell whether a list lost its first pieces and got new ones at its end."""
    if len(after) < 3 or after[0] not in before:
        return False
    place = list(before).index(after[0])
    kept = before[place:]
    return place > 0 and len(kept) >= 3 and list(after[: len(kept)]) == list(kept)


def is_same_json(one: str, other: str, at: int) -> bool:
    """Tell whether the place where two texts part lies in a JSON value that both have, written with keys in another order.

    Args:
        one: a text.
        other: another that is equal to it before `at`.
        at: where they part.
    """
    opens = [match.start() for match in _OPEN.finditer(other, 0, at)]
    for place in dict.fromkeys((*opens[:_TRIES], *opens[-_TRIES:])):
        mine, yours = _value(one, place), _value(other, place)
        if mine is None or yours is None or min(mine[1], yours[1]) <= at:
            continue
        if mine[0] == yours[0]:
            return True
    return False


def _value(text: str, at: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _items(text: str, start: int) -> list[tuple[str, int]]:
    """Give the items of a text from `start` on, each without its number or bullet, and where it ends."""
    found = ((_LEAD.sub("", match[0]).strip(), match.end()) for match in _ITEM.finditer(text, start))
    return [(item, end) for item, end in found if item]


def _shared_run(items: list[tuple[str, int]], others: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Give the items up to the first that the others lack."""
    known = {name for name, _ in others}
    return list(takewhile(lambda item: item[0] in known, items))
