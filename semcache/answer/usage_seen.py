"""What the documents of one reply said of a model call: who answered, and the tokens. Pure; knows no bytes.

The dialect is told by the fields of a document, not by the path, so that proxies of proxies are understood too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from semcache.core import Usage
from semcache.dialects.usage import read_anthropic, read_any

_NAME = 200
_NAMELESS = 8
"""Pieces of a stream that are looked at for the model's name."""
_STARTS = ("message_start", "response.created", "response.in_progress")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reply said: who answered ("" where it does not say), and the tokens.

    `written` is about how many output tokens passed by, for replies that broke off before they were counted.
    """

    model: str = ""
    usage: Usage | None = None
    written: int = 0
    is_final: bool = False
    """The counts are the last ones, not those of a beginning."""


class Said:
    """What the documents of one reply said, the last word first."""

    def __init__(self) -> None:
        self._model = ""
        self._usage: Usage | None = None
        self._is_final = False
        self._started: dict[str, Any] = {}
        self._pieces = self._bytes = 0
        self._shortest = 1 << 30
        self._bulk = 0

    @property
    def wants_name(self) -> bool:
        """True while the model is not known and may still come."""
        return not self._model and self._pieces < _NAMELESS

    def take(self, document: Any) -> bool:
        """Take one document of the reply (anything else is passed over); True when it only begins it."""
        for one in document if isinstance(document, list) else (document,):
            if isinstance(one, dict):
                self._take(one)
        return isinstance(document, dict) and document.get("type") in _STARTS

    def piece(self, size: int) -> None:
        """Note a piece of the answer, of this many bytes, that was not parsed."""
        self._pieces += 1
        self._bytes += size
        self._shortest = min(self._shortest, size)

    def bulk(self, size: int) -> None:
        """Note a whole answer of this many bytes."""
        self._bulk += size // 4

    def name(self, model: Any) -> None:
        """Note who answers, if that is a name."""
        if isinstance(model, str) and 0 < len(model) <= _NAME and model.isprintable() and not self._model:
            self._model = model.removeprefix("models/")

    def count(self, usage: Usage | None, *, is_final: bool = True) -> None:
        """Note what was used; a later word holds."""
        if usage is not None:
            self._usage, self._is_final = usage, is_final

    def seen(self) -> Seen:
        """Sum up. The shortest piece is what stands around a token; four bytes more are one more."""
        written = self._bulk + self._pieces
        if self._pieces:
            written += (self._bytes - self._pieces * self._shortest) // 4
        return Seen(self._model, self._usage, written, self._is_final)

    def _take(self, document: dict[str, Any]) -> None:
        inner = (
            document.get("message") if document.get("type") == "message_start" else document.get("response")
        )
        inside: Mapping[str, Any] = inner if isinstance(inner, dict) else document
        self.name(inside.get("model") or inside.get("modelVersion"))
        match document.get("type"):
            case "message_start":
                self._start(inside.get("usage"))
            case "message_delta":
                self._end(document.get("usage"))
            case "message":
                self.count(read_anthropic(document.get("usage")))
            case _:
                usage = inside.get("usage") or inside.get("usageMetadata")
                self.count(read_any(usage if usage else inside))

    def _start(self, usage: Any) -> None:
        """Anthropic's stream counts the input when it begins, and the output when it ends."""
        if isinstance(usage, dict):
            self._started = usage
            self.count(read_anthropic(usage), is_final=False)

    def _end(self, usage: Any) -> None:
        if isinstance(usage, dict):
            last = {name: value for name, value in usage.items() if value is not None}
            self.count(read_anthropic({**self._started, **last}))


def settled(seen: Seen, asked_tokens: int | None) -> tuple[Usage | None, bool]:
    """Give what a call used, and whether some of it is a guess.

    Args:
        seen: what its reply said.
        asked_tokens: about how many tokens were sent; None where nobody knows.
    """
    usage = seen.usage
    if usage is not None and seen.is_final:
        return usage, False
    if usage is not None:
        return replace(usage, completion_tokens=max(usage.completion_tokens, seen.written)), True
    return (None if asked_tokens is None else Usage(asked_tokens, seen.written)), True
