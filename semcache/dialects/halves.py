r"""JSON of a stream in which a character may be cut in two: half a surrogate pair here, the other in the next event. Pure."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import orjson


def parsed(data: bytes) -> tuple[Any, bool]:
    """Parse one event's JSON; give it, and whether halves may be in it.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return orjson.loads(data), False
    except orjson.JSONDecodeError:
        if b"\\u" not in data:
            raise
    try:
        return json.loads(data, parse_constant=_refuse), True
    except RecursionError:
        raise ValueError("nested too deeply") from None


def mended(value: Any) -> Any:
    """Join pairs that were cut in two, everywhere in a value.

    Raises:
        ValueError: a half has no partner.
    """
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16")
        case list():
            return [mended(item) for item in value]
        case dict():
            return {mended(key): mended(item) for key, item in value.items()}
        case _:
            return value


def dumped(value: Any) -> bytes:
    """Give the JSON of a value; halves are written as escapes, as they came."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
