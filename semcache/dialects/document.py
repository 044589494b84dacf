"""Collect an answer that comes in one JSON document, of any dialect. Pure and incremental."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from semcache.core import Completion
from semcache.dialects.dialect import Incomplete

MAX_BYTES = 16 << 20
"""Larger answers are not collected."""
MEDIA_TYPES = frozenset(("application/json", "text/plain", ""))
"""Some servers label their JSON as text, or not at all; the document decides."""


class DocumentAssembler:
    """A whole answer in one JSON document.

    Args:
        judge: says what becomes of the parsed document.
        max_bytes: larger ones are not collected.
    """

    def __init__(self, judge: Callable[[Any], Completion | Incomplete], max_bytes: int = MAX_BYTES) -> None:
        self._judge = judge
        self._left = max_bytes
        self._parts: list[bytes] = []

    @property
    def is_done(self) -> bool:
        """Never known before the body's end."""
        return False

    def feed(self, chunk: bytes) -> None:
        """Take the next decoded body bytes."""
        self._left -= len(chunk)
        if self._left < 0:
            self._parts.clear()
        else:
            self._parts.append(chunk)

    def finish(self) -> Completion | Incomplete:
        """Give the answer if the document is whole and good."""
        if self._left < 0:
            return Incomplete("too_large")
        try:
            # Refuses invalid UTF-8, lone surrogates, NaN and endless nesting.
            return self._judge(orjson.loads(b"".join(self._parts)))
        except orjson.JSONDecodeError:
            return Incomplete("invalid_json")
