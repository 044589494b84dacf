"""Bytes over a socket, as no HTTP library would send them, and what comes back."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil

from tests.e2e.running import Proxy


@dataclass(frozen=True)
class Got:
    """One reply as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@contextlib.contextmanager
def connected(proxy: Proxy, patience: float = 5.0) -> Iterator[socket.socket]:
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=patience) as connection:
        yield connection


def say(proxy: Proxy, data: bytes, patience: float = 5.0, quiet: float = 0.4) -> tuple[bytes, bool]:
    """Send bytes, read until the connection closes or nothing has come for a while; gives all, and whether it closed."""
    with connected(proxy, patience) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        return drained(connection, patience, quiet)


def drained(connection: socket.socket, patience: float, quiet: float) -> tuple[bytes, bool]:
    """Read until the connection closes, or something has come and then nothing for a while."""
    got = b""
    until = time.monotonic() + patience
    while (left := until - time.monotonic()) > 0:
        connection.settimeout(min(quiet, left) if got else left)
        try:
            part = connection.recv(65536)
        except TimeoutError:
            break
        except ConnectionError:
            return got, True
        if not part:
            return got, True
        got += part
    return got, False


def replies(data: bytes) -> list[Got]:
    """Read replies that stand one behind another; bodies by length or chunks."""
    found: list[Got] = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        assert end, head
        lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        status = int(lines[0].split(" ")[1])
        body = b""
        if "chunked" in headers.get("transfer-encoding", ""):
            body, data = _unchunked(data)
        elif status >= 200:
            size = int(headers.get("content-length", "0"))
            body, data = data[:size], data[size:]
        found.append(Got(status, headers, body))
    return found


def _unchunked(data: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        line, _, data = data.partition(b"\r\n")
        size = int(line or b"0", 16)
        if not size:
            return body, data.removeprefix(b"\r\n")
        body, data = body + data[:size], data[size + 2 :]


def post(path: str, body: bytes, *headers: str, version: str = "1.1", length: bool = True) -> bytes:
    """Write a request with a JSON body."""
    lines = [f"POST {path} HTTP/{version}", "host: x", "content-type: application/json", *headers]
    lines += [f"content-length: {len(body)}"] if length else []
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def memory(proxy: Proxy) -> float:
    """Give the MiB that the proxy itself holds."""
    assert proxy.process is not None
    return float(psutil.Process(proxy.process.pid).memory_info().rss) / (1 << 20)
