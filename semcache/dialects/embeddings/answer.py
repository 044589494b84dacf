"""Which embeddings are whole and good, and the form they are kept in. Pure.

They say nothing: their chat form has no choices, and who reads it for text finds none. What counts is kept in the answer's
own words.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import orjson

from semcache.core import Completion, JsonObject
from semcache.dialects.dialect import Incomplete
from semcache.dialects.usage import read_usage

_FRESH = frozenset(("id", "created"))
_FLOAT = 4
"""Bytes of a number in base64: float32, little end first."""


def bare(answer: JsonObject) -> dict[str, Any]:
    """Leave what some servers name afresh in every reply away."""
    return {name: value for name, value in answer.items() if name not in _FRESH}


def read_answer(answer: JsonObject) -> dict[str, Any]:
    """Give a `chat.completion` that says nothing.

    Raises:
        ValueError: it has not the protocol's shape.
    """
    if not isinstance(answer.get("data"), list):
        raise ValueError("these are no embeddings")
    silent: dict[str, Any] = {"object": "chat.completion", "model": answer.get("model"), "choices": []}
    return silent | {name: answer[name] for name in ("usage",) if name in answer}


def kept(answer: Any) -> Completion | Incomplete:
    """Judge an answer and give the form it is kept in."""
    if not isinstance(answer, dict):
        return Incomplete("shape")
    usage = read_usage(answer.get("usage"))
    if answer.get("error"):
        return Incomplete("error", usage)
    flaw = _flaw(answer.get("data"))
    if flaw is not None:
        return Incomplete(flaw, usage)
    return Completion(orjson.dumps(read_answer(answer)), usage, native=orjson.dumps(bare(answer)))


def _flaw(data: Any) -> str | None:
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        return "shape"
    if not data:
        return "empty"
    indexes = [one.get("index") for one in data]
    if sorted(index for index in indexes if isinstance(index, int)) != list(range(len(data))):
        return "shape"
    sizes = {_size(one.get("embedding")) for one in data}
    if None in sizes or len(sizes) != 1:
        return "shape"
    return "empty" if sizes == {0} else None


def _size(vector: Any) -> int | None:
    """Give the numbers of a vector, written out or in base64; None for what is none."""
    match vector:
        case list():
            plain = all(type(number) in (int, float) for number in vector)
            return len(vector) if plain else None
        case str():
            try:
                size = len(base64.b64decode(vector, validate=True))
            except (binascii.Error, ValueError):
                return None
            return size // _FLOAT if size % _FLOAT == 0 else None
        case _:
            return None
