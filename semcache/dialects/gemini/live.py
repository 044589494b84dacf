"""Streams of Gemini while they come: chat chunks written as pieces, pieces read as chat chunks. Pure and incremental."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from semcache.core import JsonObject
from semcache.dialects.chat.merge import CallMerge
from semcache.dialects.dialect import Wanted
from semcache.dialects.gemini.answer import (
    chat_logprobs,
    chat_usage,
    finish_of,
    is_blocked,
    own_finish,
    own_logprobs,
    own_usage,
    parts_of,
    read_calls,
    replayed,
    text_of,
    thoughts_of,
    write_calls,
)
from semcache.dialects.gemini.errors import write_live_error
from semcache.dialects.gemini.frames import Framing, Splitter
from semcache.dialects.plain import call_of, reasoning_of

_UNREADABLE = {"error": {"message": "The upstream's stream cannot be read.", "type": "upstream_error"}}


class _Open:
    """A choice that has not ended."""

    def __init__(self) -> None:
        self.calls: dict[int, CallMerge] = {}
        self.finish: str | None = None


class LiveWriter:
    """Writes a chat stream as pieces.

    Calls come whole in Gemini's words, so they wait for the last of theirs; why the choices ended is told by `finish`
    alone, since it proves the end.
    """

    def __init__(self, framing: Framing, wanted: Wanted, id: str) -> None:
        self._framing, self._wanted, self._id = framing, wanted, id
        self._model: Any = None
        self._choices: dict[int, _Open] = {}
        self._usage: Any = None
        self._has_begun = self._failed = False

    def feed(self, chunk: Mapping[str, Any]) -> bytes:
        """Take the next chunk; give its pieces."""
        if self._failed:
            return b""
        if chunk.get("error"):
            return self._fail(chunk["error"])
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        found = [self._choice(choice) for choice in chunk.get("choices") or () if isinstance(choice, dict)]
        candidates = [candidate for candidate in found if candidate is not None]
        return self._piece(candidates) if candidates else b""

    def finish(self) -> bytes:
        """Give the calls, the reasons of the ends and the usage."""
        if self._failed:
            return b""
        try:
            ends = [self._end(index, one) for index, one in sorted(self._choices.items())]
        except ValueError:
            return self._fail({"message": "The model called a tool with arguments that are no object."})
        usage = own_usage(self._usage) if self._wanted.include_usage else None
        told: dict[str, Any] = {} if usage is None else {"usageMetadata": usage}
        last = replayed(told, "zero") if self._wanted.usage == "zero" else told
        return self._piece(ends, **last) + self._framing.last.removeprefix(self._framing.after)

    def _choice(self, choice: JsonObject) -> dict[str, Any] | None:
        index = choice.get("index") or 0
        state = self._choices.setdefault(index, _Open())
        state.finish = choice.get("finish_reason") or state.finish
        delta = choice.get("delta") or {}
        for part in delta.get("tool_calls") or ():
            state.calls.setdefault(part.get("index") or 0, CallMerge()).add(part)
        parts: list[dict[str, Any]] = []
        if thoughts := reasoning_of(delta):
            parts.append({"text": thoughts, "thought": True})
        # A refusal has no word of its own; it is what the model said.
        if text := delta.get("content") or delta.get("refusal"):
            parts.append({"text": text})
        tokens = _tokens(choice)
        if not parts and tokens is None:
            return None
        return {
            "content": {"parts": parts or [{"text": ""}], "role": "model"},
            "index": index,
            **(tokens or {}),
        }

    def _end(self, index: int, state: _Open) -> dict[str, Any]:
        calls = tuple(call_of(call.result()) for call in state.calls.values())
        parts = list(write_calls(calls)) or [{"text": ""}]
        finish = {} if state.finish is None else {"finishReason": own_finish(state.finish)}
        return {"content": {"parts": parts, "role": "model"}, **finish, "index": index}

    def _piece(self, candidates: list[dict[str, Any]], **more: Any) -> bytes:
        piece = {"candidates": candidates, **more, "modelVersion": self._model, "responseId": self._id}
        return self._lead() + orjson.dumps(piece) + self._framing.after

    def _lead(self) -> bytes:
        lead = self._framing.between if self._has_begun else self._framing.first
        self._has_begun = True
        return lead

    def _fail(self, error: Any) -> bytes:
        self._failed = True
        return self._lead() + write_live_error(error) + self._framing.last


def _tokens(choice: JsonObject) -> dict[str, Any] | None:
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not tokens:
        return None
    try:
        return {"logprobsResult": own_logprobs(tokens)}
    except (ValueError, AttributeError):
        return None


class LiveReader:
    """Reads pieces as chat chunks. Usage and ends are told at the end: counts go on, and nothing else marks it."""

    def __init__(self, splitter: Splitter) -> None:
        self._splitter = splitter
        self._calls: dict[int, int] = {}
        self._finishes: dict[int, str | None] = {}
        self._is_blocked = self._failed = False
        self._usage: Any = None
        self._model: Any = None

    @property
    def is_done(self) -> bool:
        """True once every candidate said why it ended, or the question was refused."""
        ended = bool(self._finishes) and all(self._finishes.values())
        return not self._failed and (ended or self._is_blocked)

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Give the chunks that these bytes complete."""
        return self._read_all(self._splitter.feed(data))

    def finish(self) -> list[dict[str, Any]]:
        """Give the chunks that end the choices, and the usage."""
        out = self._read_all(self._splitter.finish())
        if not self.is_done:
            return out
        for index, finish in sorted((self._finishes or {0: None}).items()):
            reason = "content_filter" if self._is_blocked else finish
            out.append(self._chunk(index, {}, None, reason))
        usage = chat_usage(self._usage)
        return out if usage is None else [*out, {**self._frame(), "choices": [], "usage": usage}]

    def _read_all(self, texts: list[bytes]) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for text in texts:
            if not self._failed:
                out += self._read(text)
        if self._splitter.is_broken and not self._failed:
            self._failed = True
            out.append(_UNREADABLE)
        return out

    def _read(self, text: bytes) -> list[dict[str, Any]]:
        try:
            piece = orjson.loads(text)
            if piece.get("error"):
                self._failed = True
                return [{"error": _error(piece["error"])}]
            self._is_blocked = self._is_blocked or is_blocked(piece)
            self._model = piece.get("modelVersion") or self._model
            self._usage = piece.get("usageMetadata") or self._usage
            return [chunk for one in piece.get("candidates") or () for chunk in self._candidate(one)]
        except (ValueError, TypeError, AttributeError):
            self._failed = True
            return [_UNREADABLE]

    def _candidate(self, candidate: JsonObject) -> list[dict[str, Any]]:
        index, parts = candidate.get("index", 0), parts_of(candidate)
        delta: dict[str, Any] = {} if index in self._finishes else {"role": "assistant"}
        begun = self._calls.get(index, 0)
        calls = read_calls(parts, begun)
        self._calls[index] = begun + len(calls)
        numbered = [{"index": begun + place, **call} for place, call in enumerate(calls)]
        words = (("content", text_of(parts)), ("reasoning_content", thoughts_of(parts)))
        delta |= {name: value for name, value in (*words, ("tool_calls", numbered)) if value}
        finish = finish_of(candidate.get("finishReason"), has_calls=self._calls[index] > 0)
        self._finishes[index] = finish or self._finishes.get(index)
        logprobs = chat_logprobs(candidate.get("logprobsResult"))
        return [self._chunk(index, delta, logprobs, None)] if delta or logprobs else []

    def _chunk(self, index: int, delta: Any, logprobs: Any, finish: str | None) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return {**self._frame(), "choices": [choice]}

    def _frame(self) -> dict[str, Any]:
        return {"object": "chat.completion.chunk", "model": self._model}


def _error(error: Any) -> dict[str, Any]:
    message = error.get("message") if isinstance(error, dict) else error
    return {"message": str(message), "type": "upstream_error"}
