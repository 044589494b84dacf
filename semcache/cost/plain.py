"""Mappings as lines of JSON, whatever clients named something: text that is no Unicode and huge numbers are mended. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import orjson

_LARGEST = (1 << 63) - 1


def dumped(line: Mapping[str, Any]) -> bytes:
    """Give a mapping as one line of JSON, its end included. NaN and infinities become null."""
    try:
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return orjson.dumps(_mended(line), option=orjson.OPT_APPEND_NEWLINE)


def _mended(value: Any) -> Any:
    """Give the same without what JSON cannot say."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case bool() | None | float():
            return value
        case int():
            return max(-_LARGEST, min(_LARGEST, value))
        case Mapping():
            return {str(_mended(name)): _mended(item) for name, item in value.items()}
        case tuple() | list():
            return [_mended(item) for item in value]
        case _ if is_dataclass(value):
            return {field.name: _mended(getattr(value, field.name)) for field in fields(value)}
        case _:
            return type(value).__name__
