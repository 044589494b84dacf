"""Which forwarded requests ask a model, and what they say of it: the route, the model's name, about how many tokens.

Pure and bounded: looks at copies of the bytes on their way, and only guesses tokens where a reply does not count them.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from semcache.tokens import tokens_of

_NAME = 200
OTHER = "other"
"""The route of paths that ask no model: lists, files, counting."""
_MOST = 512 << 10
_ROUTES = {
    "messages": "messages",
    "responses": "responses",
    "embeddings": "embeddings",
    "embed": "embeddings",
    "completions": "completions",
    "chat": "generate",
    "generate": "generate",
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "embedContent": "embeddings",
    "batchEmbedContents": "embeddings",
    "generations": "images",
    "edits": "images",
    "speech": "audio",
    "transcriptions": "audio",
    "translations": "audio",
    "rerank": "rerank",
}
"""By the last word of the path."""
_COUNTED = frozenset(("messages", "responses", "embeddings", "completions", "generate"))
_IN_PATH = re.compile(r"/models/([^/:]{1,200}):[A-Za-z]+$")
_ENCODED = re.compile(r"[A-Za-z0-9+/=_\-]{512,}")
"""A stretch of so many letters without a space is no text but a file."""
_READABLE = frozenset((b"gzip", b"x-gzip", b"deflate", b"identity"))


def route_of(method: str, path: str) -> str:
    """Give the word for what a forwarded request asks of a model, `OTHER` where it asks none."""
    if method != "POST":
        return OTHER
    return _ROUTES.get(re.split("[/:]", path)[-1], OTHER)


def readable(accept: bytes) -> bytes:
    """Give an Accept-Encoding without the codings that cannot be undone here, so that the reply can be counted."""
    kept = [part.strip() for part in accept.split(b",") if part.split(b";")[0].strip().lower() in _READABLE]
    return b", ".join(kept) or b"identity"


class AskedWatch:
    """Watches the body of one request.

    Args:
        route: what `route_of` said.
        path: its path; some protocols name the model there.
    """

    def __init__(self, route: str, path: str) -> None:
        self._route = route
        found = _IN_PATH.search(path)
        self._kept: bytearray | None = bytearray() if route != OTHER else None
        self.model = found[1] if found else ""
        """Who was asked; "" where that is not known."""
        self.tokens: int | None = None
        """About how many tokens were sent; None for what is not made of text, or too large to be looked at."""
        self.is_whole = False
        """The request was sent to its end."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; what is larger than half a MiB is not kept."""
        if self._kept is not None:
            self._kept += chunk
            if len(self._kept) > _MOST:
                self._kept = None

    def finish(self) -> None:
        """Note that the request was sent; what was kept of it is looked at and let go."""
        self.is_whole = True
        kept, self._kept = self._kept, None
        if not kept:
            return
        try:
            document = orjson.loads(bytes(kept))
        except orjson.JSONDecodeError:
            return
        if not isinstance(document, dict):
            return
        name = document.get("model")
        if not self.model and isinstance(name, str) and len(name) <= _NAME and name.isprintable():
            self.model = name
        if self._route in _COUNTED:
            self.tokens = _tokens(document)


def _tokens(document: dict[str, Any]) -> int:
    """Guess the tokens of all texts in it but files."""
    waiting, total = [*document.values()], 0
    while waiting:
        match waiting.pop():
            case str(text) if not _ENCODED.match(text) and not text.startswith("data:"):
                total += tokens_of(text)
            case dict(inner):
                waiting += inner.values()
            case list(items):
                waiting += items
            case _:
                pass
    return total
