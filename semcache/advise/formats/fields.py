"""Fields of hostile JSON: each getter gives a value of the right kind, or what stands for nothing. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson

from semcache.cost_rules import LABEL_WORDS, LABELS
from semcache.records import Labels

Fields = Mapping[str, Any]
_NONE: Fields = {}
_MOST_LABEL = 64
_MOST_NAME = 200
_MOST_COUNT = 2**53
_MICRO = 1_000_000
_MOST_MONEY = 1e9


def first(fields: Fields, *names: str) -> Any:
    """Give the first of these fields that is there and not null."""
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    return None


def name_in(fields: Fields, *names: str) -> str:
    """Give the first of these fields that is a short text or a whole number, as text; "" for none."""
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)[:_MOST_NAME] if abs(value) < _MOST_COUNT else ""
        if isinstance(value, str) and value.strip():
            return value.strip()[:_MOST_NAME]
    return ""


def object_in(fields: Fields, *names: str) -> Fields:
    """Give the first of these fields that is an object, or a text that holds one; an empty one for none."""
    for name in names:
        value = fields.get(name)
        if value is not None and isinstance(value := unpacked(value), dict) and value:
            return value
    return _NONE


def unpacked(value: Any) -> Any:
    """Give what a text of JSON holds; any other value as it is. Exports keep objects as texts in their columns."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def count(value: Any) -> int | None:
    """Read a number of tokens; None for negative ones, fractions, nonsense."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) <= 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_COUNT:
        return None
    return value


def number(value: Any) -> float | None:
    """Read a finite number, also from a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def micro_usd(value: Any) -> int | None:
    """Read US dollars as micro-USD; None for what is no amount, negative, or beyond all reason."""
    found = number(value)
    return None if found is None or not 0 <= found <= _MOST_MONEY else round(found * _MICRO)


def labels_in(*sources: Fields) -> Labels:
    """Give the labels that reports tell apart, from objects that may hold them; the first one to say a label has it."""
    found: dict[str, str] = {}
    for fields in sources:
        for key, value in fields.items():
            name = LABEL_WORDS.get(key, key) if isinstance(key, str) else ""
            if name in LABELS and isinstance(value, str) and value.strip() and name not in found:
                found[name] = "".join(filter(str.isprintable, value.strip()))[:_MOST_LABEL]
    return tuple((name, found[name]) for name in LABELS if found.get(name))
