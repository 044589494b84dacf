"""Streams of Ollama while they come: chat chunks written as lines, lines read as chat chunks. Pure and incremental."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from semcache.core import JsonObject
from semcache.dialects.chat.merge import ChoiceMerge
from semcache.dialects.dialect import Wanted
from semcache.dialects.ollama.answer import (
    NO_TIME,
    chat_logprobs,
    chat_usage,
    done_reason,
    finish_of,
    own_usage,
    read_calls,
    replayed,
    time_of,
    write_calls,
)
from semcache.dialects.ollama.stream import LineSplitter, Shape
from semcache.dialects.plain import calls_of, finish_word, heard

_UNREADABLE = {"error": {"message": "The upstream's stream cannot be read.", "type": "upstream_error"}}


class LiveWriter:
    """Writes a chat stream as lines.

    Calls come whole in Ollama's words, so they wait for the last of their pieces. The line with `done` is written by
    `finish` alone: it proves the end.
    """

    def __init__(self, wrap: Shape, wanted: Wanted, created: int) -> None:
        self._wrap, self._wanted = wrap, wanted
        self._time = time_of(created)
        self._model: Any = None
        self._choice = ChoiceMerge(0)
        self._usage: Any = None
        self._failed = False

    def feed(self, chunk: Mapping[str, Any]) -> bytes:
        """Take the next chunk; give its lines."""
        if self._failed:
            return b""
        if chunk.get("error"):
            return self._fail(chunk["error"])
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        return b"".join([self._say(choice) for choice in (choices if isinstance(choices, list) else ())])

    def finish(self) -> bytes:
        """Give the calls and the line with `done`."""
        if self._failed:
            return b""
        choice = self._choice.result()
        try:
            calls = calls_of(choice)
        except ValueError:
            return self._fail({"message": "The model called a tool with arguments that are no object."})
        sent = self._line({"content": "", "tool_calls": write_calls(calls)}) if calls else b""
        usage = own_usage(self._usage) if self._wanted.include_usage else {}
        last = {"done": True, "done_reason": done_reason(finish_word(choice)), **NO_TIME, **usage}
        if self._wanted.usage == "zero":
            last = replayed(last, "zero")
        return sent + self._line({"content": ""}, **last)

    def _say(self, choice: Any) -> bytes:
        told = heard(choice)
        if told is None or told.index != 0:
            return b""
        self._choice.add(choice)
        said: dict[str, Any] = {"content": told.text}
        if told.reasoning:
            said["thinking"] = told.reasoning
        if not (told.text or told.reasoning or told.tokens):
            return b""
        return self._line(said, **({"logprobs": told.tokens} if told.tokens else {}))

    def _line(self, said: JsonObject, **more: Any) -> bytes:
        message = {"role": "assistant", **said}
        head = {"model": self._model, "created_at": self._time, "message": message, "done": False}
        return orjson.dumps(self._wrap({**head, **more})) + b"\n"

    def _fail(self, error: Any) -> bytes:
        self._failed = True
        message = error.get("message") if isinstance(error, dict) else error
        return orjson.dumps({"error": str(message)}) + b"\n"


class LiveReader:
    """Reads lines as chat chunks."""

    def __init__(self, unwrap: Shape) -> None:
        self._unwrap = unwrap
        self._splitter = LineSplitter()
        self._done = False
        self._calls = 0
        self._is_first = True

    @property
    def is_done(self) -> bool:
        """True after the line with `done`."""
        return self._done

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Give the chunks that these bytes complete."""
        return [chunk for line in self._splitter.feed(data) for chunk in self._chunks(line)]

    def finish(self) -> list[dict[str, Any]]:
        """Give the chunks of a last line without its end."""
        return [chunk for line in self._splitter.finish() for chunk in self._chunks(line)]

    def _chunks(self, line: bytes) -> list[dict[str, Any]]:
        if self._done:
            return []
        try:
            piece = orjson.loads(line)
            if isinstance(piece, dict) and piece.get("error"):
                return [{"error": _error(piece["error"])}]
            return self._read(self._unwrap(piece)) if isinstance(piece, dict) else [_UNREADABLE]
        except (ValueError, TypeError, AttributeError):
            return [_UNREADABLE]

    def _read(self, piece: JsonObject) -> list[dict[str, Any]]:
        message = piece.get("message") or {}
        calls = read_calls(message.get("tool_calls"), self._calls)
        numbered = [{"index": self._calls + place, **call} for place, call in enumerate(calls)]
        self._calls += len(calls)
        delta: dict[str, Any] = {"role": "assistant"} if self._is_first else {}
        self._is_first = False
        words = (("content", message.get("content")), ("reasoning_content", message.get("thinking")))
        delta |= {name: value for name, value in (*words, ("tool_calls", numbered)) if value}
        self._done = piece.get("done") is True
        logprobs = chat_logprobs(piece.get("logprobs"))
        out: list[dict[str, Any]] = []
        if delta or logprobs:
            out.append(_chunk(piece, delta, logprobs, None))
        if self._done:
            finish = finish_of(piece, has_calls=self._calls > 0)
            out.append(_chunk(piece, {}, None, finish))
            usage = chat_usage(piece)
            if usage is not None:
                out.append({**_chunk(piece, {}, None, None), "choices": [], "usage": usage})
        return out


def _chunk(piece: JsonObject, delta: Any, logprobs: Any, finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "model": piece.get("model"), "choices": [choice]}


def _error(error: Any) -> dict[str, Any]:
    message = error.get("message") if isinstance(error, dict) else error
    return {"message": str(message), "type": "upstream_error"}
