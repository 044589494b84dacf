"""Reading a request body from ASGI with a limit and a deadline, and parsing it as JSON.

Reads at most the limit; a length that lies is found out. Knows nothing of chat.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import orjson

from semcache.answer.deadline import Deadline
from semcache.errors import RequestError
from semcache.proxy.types import Receive

_DEEPEST = 200
"""What is read up to a thousand deep could be written, and so hashed and sent on, only up to a quarter of that."""


class ClientGone(Exception):  # noqa: N818 - an event of the connection, not a fault
    """The client hung up before its request was whole."""


async def read_body(receive: Receive, declared: bytes | None, limit: int, deadline: float) -> bytes:
    """Read the whole body.

    Args:
        receive: the ASGI receive callable.
        declared: the Content-Length header, if any.
        limit: bytes allowed.
        deadline: seconds for all of it.

    Raises:
        RequestError: 413 over the limit (the connection is to be closed), 408 too slow.
        ClientGone: disconnected.
    """
    if declared is not None and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    timer = Deadline(deadline)
    try:
        return await _read(receive, limit)
    except asyncio.CancelledError:
        if timer.took_effect():
            raise _too_slow() from None
        raise
    finally:
        timer.stop()


async def _read(receive: Receive, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body"):
            return part if not parts else b"".join([*parts, part])
        parts.append(part)


def parse_object(body: bytes) -> tuple[dict[str, Any], bool]:
    """Parse a JSON object; the flag is False when it holds lone surrogates.

    Such text is legal JSON but no Unicode: it can be neither hashed nor stored, so the request
    is passed on as it is.

    Raises:
        RequestError: 400 `invalid_json`; also for NaN, overlong integers and absurd nesting.
    """
    try:
        value = orjson.loads(body)
        whole = True
    except orjson.JSONDecodeError as error:
        if b"\\ud" not in body.lower():
            raise RequestError(f"The body is not valid JSON: {error}", code="invalid_json") from None
        value = _lenient(body)
        whole = False
    if not isinstance(value, dict):
        raise RequestError("The body must be a JSON object.", code="invalid_json")
    if body.count(b"[") + body.count(b"{") > _DEEPEST and _is_deeper(value, _DEEPEST):
        raise RequestError(f"The body is nested more than {_DEEPEST} deep.", code="invalid_json")
    return value, whole


def _is_deeper(value: Any, most: int) -> bool:
    """Tell whether lists and objects stand in each other more than `most` deep."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > most:
            return True
        inner = (list(one.values()) if isinstance(one, dict) else one for one in level)
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    return False


def _lenient(body: bytes) -> Any:
    """Parse with the standard library, which admits lone surrogates; still no NaN, no infinity, no deep nesting."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    def finite(text: str) -> float:
        number = float(text)
        return number if math.isfinite(number) else refuse(text)

    try:
        return json.loads(body.decode(), parse_constant=refuse, parse_float=finite)
    except (ValueError, RecursionError) as error:
        message = "The body is not valid JSON."
        raise RequestError(message, code="invalid_json") from error


def _too_large(limit: int) -> RequestError:
    return RequestError(
        f"The body is larger than the {limit} bytes this proxy accepts.",
        status=413,
        code="request_too_large",
        headers=(("connection", "close"),),
    )


def _too_slow() -> RequestError:
    return RequestError(
        "The body did not arrive in time.",
        status=408,
        code="request_timeout",
        headers=(("connection", "close"),),
    )
