"""What a scripted upstream is asked and what it says, in no dialect: each dialect reads the one and writes the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tests.fakes.upstream_server import Seen

INPUT = 21
"""Tokens that every question is said to have."""


@dataclass(frozen=True)
class Asked:
    """One request, as far as the script looks at it."""

    question: str
    """Text of the last user turn."""
    model: str
    stream: bool
    tools: bool = False
    """Tools are offered."""
    told: bool = False
    """The last turn is what a tool gave."""
    schema: bool = False
    """An output format is demanded."""
    forced: str = ""
    """Name of the one tool that must be called."""
    counts: bool = True
    """Usage is wanted (chat streams have to ask for it)."""


@dataclass(frozen=True)
class Said:
    """One whole answer."""

    text: str = ""
    call: tuple[str, dict[str, Any]] | None = None
    """Name and arguments of a tool call."""
    model: str = "m-2026"
    input: int = INPUT

    @property
    def output(self) -> int:
        """Tokens, about as many as a tokenizer would find: whether a draft is worth its call goes by them."""
        return 9 if self.call else max(1, len(self.text) // 4)

    @property
    def words(self) -> list[str]:
        """The text in pieces, of about a word each; joined they are the text."""
        cut = self.text.split(" ")
        return [*(f"{word} " for word in cut[:-1]), cut[-1]] if self.text else []


class Dialect(Protocol):
    """One wire protocol of the upstream's side."""

    stream_type: str
    """Content type of its streams."""

    def reads(self, path: str) -> bool:
        """Whether a request to this path is in this dialect."""
        ...

    def read(self, seen: Seen) -> Asked:
        """Read a request."""
        ...

    def whole(self, said: Said) -> dict[str, Any]:
        """Write an answer in one piece."""
        ...

    def events(self, said: Said, asked: Asked) -> list[bytes]:
        """Write an answer as the events of a stream."""
        ...

    def error(self, status: int, message: str) -> dict[str, Any]:
        """Write an error as the vendor does."""
        ...


KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "server_error",
}
"""Words that OpenAI-shaped APIs use for a status."""


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def sse(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else dumped(data)}\n\n".encode()


def last_text(content: Any, of: Callable[[Any], str | None]) -> str:
    """Text of a message's content: a string, or parts of which `of` gives the text."""
    if isinstance(content, str):
        return content
    return "".join(filter(None, map(of, content)))
