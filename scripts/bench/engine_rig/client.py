"""A plain HTTP/1.1 client on one blocking socket a request: the same and cheap for both servers.

Its own work is no part of any figure, since only the servers' CPU time is read.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PATIENCE = 300.0


@dataclass(frozen=True)
class Reply:
    """Seconds since sending: `first` to the first text of the answer (or byte of it), `whole` to the end."""

    status: int
    body: bytes
    first: float = 0.0
    whole: float = 0.0

    @property
    def json(self) -> dict[str, Any]:
        """The body as an object.

        Raises:
            RuntimeError: the server refused.
        """
        if self.status != 200:
            raise RuntimeError(f"status {self.status}: {self.body[:300]!r}")
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


@dataclass(frozen=True)
class Usage:
    """Tokens as the server counted them."""

    prompt: int
    cached: int
    completion: int


def usage(reply: Reply) -> Usage:
    """Read the usage of a whole answer."""
    told = reply.json["usage"]
    details = told.get("prompt_tokens_details") or {}
    return Usage(told["prompt_tokens"], details.get("cached_tokens", 0), told["completion_tokens"])


def get(port: int, path: str) -> Reply:
    """GET a page."""
    return _exchange(port, f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())


def post(
    port: int, path: str, body: Mapping[str, object], on_first: Callable[[], None] | None = None
) -> Reply:
    """POST a JSON body; with `stream` in it, `on_first` is called when the first text of the answer is there."""
    payload = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return _exchange(port, f"{head}content-length: {len(payload)}\r\n\r\n".encode() + payload, on_first)


def together(calls: Sequence[Callable[[], Reply]]) -> list[Reply]:
    """Make several calls at once, each on a thread of its own."""
    replies: dict[int, Reply] = {}
    threads = [
        threading.Thread(target=lambda i=i, call=call: replies.update({i: call()}), daemon=True)
        for i, call in enumerate(calls)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE)
    if len(replies) != len(calls):
        raise RuntimeError(f"{len(calls) - len(replies)} of {len(calls)} calls failed")
    return [replies[i] for i in range(len(calls))]


def _exchange(port: int, request: bytes, on_first: Callable[[], None] | None = None) -> Reply:
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        connection.sendall(request)
        data, first = bytearray(), 0.0
        while piece := connection.recv(65536):
            data += piece
            if not first and _has_text(data):
                first = time.perf_counter() - began
                if on_first is not None:
                    on_first()
        return Reply(_status(data), _body(bytes(data)), first, time.perf_counter() - began)


def _has_text(data: bytearray) -> bool:
    """True when a stream holds text of the answer; its first event may be a role without any."""
    return any(not data.startswith((b'""', b"null"), at + 10) for at in _places(data, b'"content":'))


def _places(data: bytearray, word: bytes) -> list[int]:
    places, at = [], data.find(word)
    while at >= 0 and at + len(word) + 4 <= len(data):
        places.append(at)
        at = data.find(word, at + 1)
    return places


def _status(data: bytearray) -> int:
    return int(data[9:12]) if data.startswith(b"HTTP/1.1 ") else 0


def _body(data: bytes) -> bytes:
    head, _, body = data.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return body
    joined = bytearray()
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length == 0:
            break
        joined += rest[:length]
        body = rest[length + 2 :]
    return bytes(joined)
