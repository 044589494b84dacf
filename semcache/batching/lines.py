"""The requests of a batch file: where each stands in it, and what is wrong with those that are none.

A line is `{"custom_id": ..., "method": "POST", "url": "/v1/chat/completions", "body": {...}}` as OpenAI's batches have it
(the url may be that of any dialect), `{"custom_id": ..., "params": {...}}` as Anthropic's have it, or a bare chat body.
The file is read twice, line by line, and never held: once to find order and mistakes, once to send.
Knows nothing of sending.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from semcache.batching.marks import marks_of
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect
from semcache.dialects.embeddings.wire import EMBEDDINGS
from semcache.dialects.gemini.target import gemini_target
from semcache.dialects.table import dialect_at
from semcache.errors import RequestError, SemcacheError

LONGEST = 16 << 20
"""Bytes of a line; longer ones are refused unread."""
_CHAT_PATH = "/v1/chat/completions"
_MESSAGES_PATH = "/v1/messages"
_VERSION = "/v1"
_CHUNK = 1 << 20
_LONGEST_NAME = 512


@dataclass(frozen=True, slots=True)
class Item:
    """One request: the `index`th line with one (from 0), on `line` (from 1), at `offset` for `length` bytes.

    `marks` are digests of ever longer beginnings of its prompt (`marks.marks_of`); `digest` is that of the line.
    """

    index: int
    line: int
    offset: int
    length: int
    custom_id: str
    marks: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class Mistake:
    """A line that is no request."""

    index: int
    line: int
    custom_id: str
    message: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: a path, the body, and in whose words it is."""

    path: str
    body: dict[str, Any]
    dialect: Dialect = CHAT


def read_items(
    file: Path, model: str = "", told: Callable[[int], None] | None = None
) -> Iterator[Item | Mistake]:
    """Read a batch file; blank lines count as lines and are no requests.

    Args:
        file: to read.
        model: for requests that name none.
        told: hears how many bytes are read.

    Raises:
        SemcacheError: it cannot be read.
    """
    seen: set[bytes] = set()
    index = 0
    try:
        with file.open("rb") as stream:
            for number, offset, raw in _lines(stream):
                if told is not None:
                    told(offset)
                if raw is not None and not raw.strip():
                    continue
                yield _item(raw, index, number, offset, model, seen)
                index += 1
    except OSError as error:
        raise SemcacheError(f"{file} cannot be read: {error.strerror}") from None


def read_request(stream: BinaryIO, item: Item, model: str = "") -> Request:
    """Read one request again.

    Raises:
        SemcacheError: the file was changed meanwhile.
    """
    stream.seek(item.offset)
    raw = stream.read(item.length)
    if _digest(raw) != item.digest:
        raise SemcacheError(f"line {item.line} was changed while the batch ran")
    return _request(_object(raw), model)


def _lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield number, offset and bytes of each line; None for one that is too long."""
    number = offset = 0
    while True:
        raw = stream.readline(LONGEST + 1)
        if not raw:
            return
        number += 1
        length = len(raw)
        if length > LONGEST:
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(_CHUNK)
                length += len(raw)
            yield number, offset, None
        else:
            yield number, offset, raw
        offset += length


def _item(
    raw: bytes | None, index: int, number: int, offset: int, model: str, seen: set[bytes]
) -> Item | Mistake:
    if raw is None:
        return Mistake(index, number, "", f"line {number} is longer than {LONGEST} bytes")
    name = ""
    try:
        document = _object(raw)
        given = document.get("custom_id", f"line-{number}")
        if not isinstance(given, str) or not 0 < len(given) <= _LONGEST_NAME:
            raise _LineError(f"custom_id should be a text of at most {_LONGEST_NAME} letters")
        name = given
        request = _request(document, model)
        marks = _marks(request)
    except _LineError as wrong:
        return Mistake(index, number, name, f"line {number}: {wrong}")
    short = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).digest()
    if short in seen:
        return Mistake(index, number, name, f"line {number}: custom_id {name!r} stands here twice")
    seen.add(short)
    return Item(index, number, offset, len(raw), name, marks, _digest(raw))


class _LineError(SemcacheError):
    """A line that is no request, with the reason."""


def _object(raw: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise _LineError(f"is no JSON ({error.msg})") from None
    if not isinstance(document, dict):
        raise _LineError("should be a JSON object")
    return document


def _request(document: dict[str, Any], model: str) -> Request:
    """Take a request out of a line.

    Raises:
        _LineError: there is none, or not one that can be sent.
    """
    path, body = _parts(document)
    dialect = dialect_at(path)
    if dialect is None:
        raise _LineError(f"url should be {_CHAT_PATH} or that of another request for an answer")
    if dialect is CHAT and (not isinstance(body.get("messages"), list) or not body["messages"]):
        raise _LineError("the body should have messages")
    target = gemini_target(path)
    if body.get("stream") or (target is not None and target[1]):
        raise _LineError("streams have no place in a batch: leave stream away")
    if dialect.family == "ollama":
        # It streams unless it is told not to.
        body = {**body, "stream": False}
    if target is None and not body.get("model"):
        if not model:
            raise _LineError("the body names no model; name one by --model")
        body = {**body, "model": model}
    return Request(path, body, dialect)


def _parts(document: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Give where a request goes, and its body.

    Raises:
        _LineError: what is in the line is none.
    """
    if document.get("method", "POST") != "POST":
        raise _LineError("method should be POST")
    if "params" in document and "body" not in document and "messages" not in document:
        path, body = document.get("url", _MESSAGES_PATH), document["params"]
    elif "body" in document:
        path, body = document.get("url", _CHAT_PATH), document["body"]
    else:
        path, body = _CHAT_PATH, {name: value for name, value in document.items() if name != "custom_id"}
    if not isinstance(path, str):
        raise _LineError("url should be a text")
    if not isinstance(body, dict):
        raise _LineError("params should be an object" if "params" in document else "body should be an object")
    return (path if dialect_at(_VERSION + path) is None else _VERSION + path), body


def _marks(request: Request) -> bytes:
    """Digest the beginnings of a prompt as chat has it; a text that is only embedded has none worth waiting for.

    Raises:
        _LineError: the server would refuse it.
    """
    if request.dialect is EMBEDDINGS:
        return b""
    try:
        if request.dialect is CHAT:
            return marks_of(request.body)
        return marks_of(request.dialect.read(request.body, request.path, b"").chat)
    except RequestError as error:
        raise _LineError(str(error)) from None
    except RecursionError:
        raise _LineError("is nested too deeply") from None


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=16).digest()
