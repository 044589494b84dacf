"""Streams of Gemini while they come: chat chunks written as pieces, pieces read as chat chunks. Pure and incremental."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from semcache.core import JsonObject
from semcache.dialects.chat.merge import ChoiceMerge
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
from semcache.dialects.gemini.render import EMPTY_PART
from semcache.dialects.plain import calls_of, finish_word, heard

_UNREADABLE = {"error": {"message": "The upstream's stream cannot be read.", "type": "upstream_error"}}


class LiveWriter:
    """Writes a chat stream as pieces.

    Calls come whole in Gemini's words, so they wait for the last of theirs; why the choices ended is told by `finish`
    alone, since it proves the end.
    """

    def __init__(self, framing: Framing, wanted: Wanted, id: str) -> None:
        self._framing, self._wanted, self._id = framing, wanted, id
        self._model: Any = None
        self._choices: dict[int, ChoiceMerge] = {}
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
        choices = chunk.get("choices")
        found = [self._choice(choice) for choice in (choices if isinstance(choices, list) else ())]
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

    def _choice(self, choice: Any) -> dict[str, Any] | None:
        told = heard(choice)
        if told is None:
            return None
        self._choices.setdefault(told.index, ChoiceMerge(told.index)).add(choice)
        parts: list[dict[str, Any]] = []
        if told.reasoning:
            parts.append({"text": told.reasoning, "thought": True})
        if told.text:
            parts.append({"text": told.text})
        tokens = _tokens(told.tokens)
        if not parts and not tokens:
            return None
        return {"content": {"parts": parts or [EMPTY_PART], "role": "model"}, "index": told.index, **tokens}

    def _end(self, index: int, merge: ChoiceMerge) -> dict[str, Any]:
        choice = merge.result()
        parts = list(write_calls(calls_of(choice))) or [EMPTY_PART]
        word = finish_word(choice)
        finish = {} if word is None else {"finishReason": own_finish(word)}
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


def _tokens(tokens: list[Any]) -> dict[str, Any]:
    try:
        return {"logprobsResult": own_logprobs(tokens)} if tokens else {}
    except ValueError:
        return {}


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
