"""httptools' parser without its upgrades: whoever asks for another protocol is answered in this one.

The parser takes a request that asks for an upgrade (HTTP/2 in plain text, which some clients' libraries offer with every
first request) for its last, drops its body and reads no further. Here the body and what comes behind it are read by a fresh one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httptools


class PlainParser:
    """Feeds the callbacks of a protocol as `httptools.HttpRequestParser` does.

    Args:
        protocol: has the callbacks; the ones about a head do nothing while `resumes`.
    """

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._parser = self._fresh()
        self.resumes = False
        """True while a head is repeated that was told already."""

    def feed_data(self, data: bytes) -> None:
        """Parse.

        Raises:
            httptools.HttpParserError: it is not HTTP.
        """
        # A client may send any number of such requests in a row: one after the other, not one inside the other.
        while data:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                self._resume(self._protocol.headers)
            else:
                return

    def close(self) -> None:
        """Let go of the protocol; nothing may be fed or asked any more."""
        self._parser = self._protocol = None

    def should_upgrade(self) -> bool:
        """Never."""
        return False

    @property
    def skips_body(self) -> bool:
        """True where the parser ends a request without having read its body."""
        return bool(self._parser.should_upgrade())

    def should_keep_alive(self) -> bool:
        """Tell whether another request may come."""
        return bool(self._parser.should_keep_alive())

    def get_http_version(self) -> str:
        """Give the version of the request."""
        return str(self._parser.get_http_version())

    def get_method(self) -> bytes:
        """Give its method."""
        return bytes(self._parser.get_method())

    def _fresh(self) -> Any:
        parser = httptools.HttpRequestParser(self._protocol)
        # As uvicorn does: what comes behind a request that is to be the last is nothing, and no error.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _resume(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        framing = [
            b"%b: %b\r\n" % pair for pair in headers if pair[0] in (b"content-length", b"transfer-encoding")
        ]
        self._parser = self._fresh()
        self.resumes = True
        try:
            self._parser.feed_data(
                b"POST / HTTP/1.1\r\n" + b"".join(framing or [b"content-length: 0\r\n"]) + b"\r\n"
            )
        finally:
            self.resumes = False
