"""Streams of Ollama: a line of JSON for every piece, the last one with `done`.

Pure and incremental. Puts a stream together, and lays a stored answer out for replays, whole and as lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from semcache.core import Completion, JsonObject
from semcache.dialects.chat.merge import FieldMerge
from semcache.dialects.dialect import Dialect, Incomplete, UsageMode
from semcache.dialects.document import MAX_BYTES
from semcache.dialects.keeping import kept
from semcache.dialects.ollama.answer import FRESH, replayed, time_of
from semcache.dialects.pieces import PIECE, pieces
from semcache.dialects.usage import read_ollama

Shape = Callable[[JsonObject], dict[str, Any]]
"""Brings an answer, or a line, from generate's shape into chat's, or back."""
_TEXTS = ("thinking", "content")
_NONE: frozenset[str] = frozenset()


class LineSplitter:
    """Feed bytes, get lines that are not blank; JSON holds no line ends, so a line is an object."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; give the lines that they complete."""
        head, end, tail = chunk.rpartition(b"\n")
        if not end:
            self._pending.append(chunk)
            return []
        whole = b"".join((*self._pending, head))
        self._pending = [tail]
        return [line for line in whole.split(b"\n") if line.strip()]

    def finish(self) -> list[bytes]:
        """Give what is left: perhaps a last line without its end."""
        rest = b"".join(self._pending)
        self._pending = []
        return [rest] if rest.strip() else []


class StreamAssembler:
    """An answer that comes line by line.

    Args:
        dialect: whose it is.
        unwrap: brings a line into chat's shape.
        wrap: brings the answer back into the dialect's.
        max_bytes: larger ones are not collected.
    """

    def __init__(self, dialect: Dialect, unwrap: Shape, wrap: Shape, max_bytes: int = MAX_BYTES) -> None:
        self._dialect, self._unwrap, self._wrap = dialect, unwrap, wrap
        self._left = max_bytes
        self._splitter = LineSplitter()
        self._flaw: str | None = None
        self._last: JsonObject | None = None
        self._lines: list[bytes] = []
        self._merge = _Merge()

    @property
    def is_done(self) -> bool:
        """True once the line with `done` came after nothing but good ones."""
        return self._last is not None and self._flaw is None

    def feed(self, chunk: bytes) -> None:
        """Take the next decoded body bytes."""
        self._left -= len(chunk)
        if self._left < 0:
            self._spoil("too_large")
        if self._flaw is None:
            for line in self._splitter.feed(chunk):
                self._take(line)

    def finish(self) -> Completion | Incomplete:
        """Give the answer if the stream came to its end and everything in it is good."""
        if self._flaw is None:
            for line in self._splitter.finish():
                self._take(line)
            # Half a line, and not a bad one.
            self._flaw = "unended" if self._flaw == "invalid_json" else self._flaw
        usage = read_ollama(self._last)
        if self._flaw is not None:
            return Incomplete(self._flaw, usage)
        if self._last is None:
            return Incomplete("unended", usage)
        answer = self._merge.answer()
        try:
            events = [self._kept(line) for line in self._lines] if self._merge.lossy else None
            return kept(self._dialect, self._wrap(answer), events)
        except (ValueError, KeyError):
            return Incomplete("shape", usage)

    def _spoil(self, reason: str) -> None:
        self._flaw = self._flaw or reason
        self._lines.clear()
        self._merge = _Merge()

    def _take(self, line: bytes) -> None:
        if self._flaw is not None:
            return
        try:
            piece = orjson.loads(line)
            shaped = self._unwrap(piece) if isinstance(piece, dict) else None
        except orjson.JSONDecodeError:
            self._spoil("invalid_json")
            return
        except ValueError:
            shaped = None
        if shaped is None:
            self._spoil("shape")
        elif shaped.get("error"):
            self._spoil("error")
        elif self._last is not None:
            self._spoil("after_done")
        elif not self._merge.add(shaped):
            self._spoil("shape")
        else:
            self._lines.append(line)
            self._last = shaped if shaped.get("done") is True else None

    def _kept(self, line: bytes) -> dict[str, Any]:
        return {name: value for name, value in orjson.loads(line).items() if name not in FRESH}


class _Merge:
    """All lines of one answer, in chat's shape: texts grow, lists of calls and tokens too, other values stay."""

    def __init__(self) -> None:
        self._top = FieldMerge(_NONE, joins=False)
        self._message = FieldMerge(_NONE, joins=False)
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, list[Any]] = {}
        self._is_done = False

    @property
    def lossy(self) -> bool:
        """Whether `answer` does not hold all that was sent."""
        return self._top.lossy or self._message.lossy

    def add(self, line: JsonObject) -> bool:
        """Take a line; False: it has not the shape of one."""
        message = line.get("message") or {}
        self._is_done = line.get("done") is True
        if not isinstance(message, dict):
            return False
        for name, value in line.items():
            if name == "logprobs":
                if not self._extend("logprobs", value):
                    return False
            elif name not in FRESH and name not in ("message", "done"):
                self._top.add(name, value)
        return all(self._add_said(name, value) for name, value in message.items())

    def _add_said(self, name: str, value: Any) -> bool:
        if name == "tool_calls":
            return self._extend(name, value)
        if name not in _TEXTS:
            self._message.add(name, value)
            return True
        if isinstance(value, str):
            self._texts.setdefault(name, []).append(value)
        return value is None or isinstance(value, str)

    def _extend(self, name: str, value: Any) -> bool:
        if isinstance(value, list):
            self._lists.setdefault(name, []).extend(value)
        return value is None or isinstance(value, list)

    def answer(self) -> dict[str, Any]:
        """Give the answer as it stands."""
        message = self._message.result()
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        role = {"role": message.pop("role")} if "role" in message else {}
        calls = {name: value for name, value in self._lists.items() if name == "tool_calls"}
        tokens = {name: value for name, value in self._lists.items() if name == "logprobs"}
        told = {**role, **texts, **calls, **message}
        return {**self._top.result(), "message": told, "done": self._is_done, **tokens}


@dataclass(frozen=True, slots=True)
class Lines:
    """An answer without its times: every line is `_OPEN`, the time and a tail."""

    tails: tuple[bytes, ...]

    def whole(self, id: bytes, created: bytes) -> bytes:
        """Give the reply body; Ollama's answers have no id."""
        return b"".join(self.events(id, created))

    def events(self, id: bytes, created: bytes) -> Iterator[bytes]:
        """Give its lines."""
        del id
        opening = _OPEN + time_of(int(created)).encode()
        return (opening + tail for tail in self.tails)

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(map(len, self.tails))


_OPEN = b'{"created_at":"'


def document(answer: JsonObject, usage: UsageMode) -> Lines:
    """Lay an answer (in the dialect's shape) out as one document."""
    return Lines((_tail(replayed(answer, usage)),))


def lines(answer: JsonObject, usage: UsageMode, wrap: Shape, piece: int = PIECE) -> Lines:
    """Lay an answer (in chat's shape) out as a stream."""
    return Lines(tuple(_tail(wrap(line)) + b"\n" for line in _lines(answer, usage, piece)))


def stored_lines(chunks: list[Any], usage: UsageMode) -> Lines:
    """Lay the stream's own lines out."""
    told = [replayed(line, usage) if line.get("done") is True else line for line in chunks]
    return Lines(tuple(_tail(line) + b"\n" for line in told))


def _tail(line: JsonObject) -> bytes:
    return b'",' + orjson.dumps({name: value for name, value in line.items() if name != "created_at"})[1:]


def _lines(answer: JsonObject, usage: UsageMode, piece: int) -> Iterator[dict[str, Any]]:
    message = answer["message"]
    head = {"model": answer["model"]} if "model" in answer else {}
    role = {"role": message["role"]} if "role" in message else {}
    for name in _TEXTS:
        beside = {} if name == "content" else {"content": ""}
        for text in pieces(message.get(name) or "", piece):
            yield {**head, "message": {**role, **beside, name: text}, "done": False}
    if message.get("tool_calls"):
        yield {
            **head,
            "message": {**role, "content": "", "tool_calls": message["tool_calls"]},
            "done": False,
        }
    last = {name: value for name, value in message.items() if name not in (*_TEXTS, "tool_calls")}
    yield replayed({**answer, "message": {**last, "content": ""}}, usage)
