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


class Joiner:
    """Joins characters that were cut in two between one chunk of a chat stream and a later one."""

    def __init__(self) -> None:
        self._halves: dict[tuple[Any, ...], str] = {}

    @property
    def waits(self) -> bool:
        """True while a half has no partner yet."""
        return bool(self._halves)

    def joined(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """Give a chunk without halves: a first half waits for the same text's next piece.

        Raises:
            ValueError: a half has no partner.
        """
        return {key: self._whole(value, (key,)) for key, value in chunk.items()}

    def _whole(self, value: Any, path: tuple[Any, ...]) -> Any:
        match value:
            case str():
                return self._text(value, path)
            case list():
                return [self._whole(item, (*path, _place(item, at))) for at, item in enumerate(value)]
            case dict():
                return {mended(key): self._whole(item, (*path, key)) for key, item in value.items()}
            case _:
                return value

    def _text(self, text: str, path: tuple[Any, ...]) -> str:
        if not text:
            return text
        text = self._halves.pop(path, "") + text
        if "\ud800" <= text[-1] <= "\udbff":
            self._halves[path], text = text[-1], text[:-1]
        return str(mended(text))


def _place(item: Any, at: int) -> Any:
    """Tell which of several a piece belongs to: by its own number, else by its place."""
    index = item.get("index") if isinstance(item, dict) else None
    return index if isinstance(index, int) else at


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
