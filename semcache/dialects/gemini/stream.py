"""Streams of Gemini: every piece is a whole answer object that holds the next parts of each candidate.

Pure and incremental. Nothing marks the end of an event stream. What proves it: every candidate said why it ended, nothing
of it came after that, and the framing is whole (the array is closed; a cut connection is seen by who reads it). Servers that
say `finishReason` in every piece prove nothing by it, so their streams are not kept.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import orjson

from semcache.core import Completion, JsonObject
from semcache.dialects.chat.merge import FieldMerge
from semcache.dialects.dialect import Dialect, Incomplete
from semcache.dialects.document import MAX_BYTES, DocumentAssembler
from semcache.dialects.gemini.answer import FRESH, is_blocked, parts_of
from semcache.dialects.gemini.frames import ArraySplitter, Splitter
from semcache.dialects.keeping import kept
from semcache.dialects.usage import read_gemini

_NONE: frozenset[str] = frozenset()


class StreamAssembler:
    """An answer that comes in pieces.

    Args:
        dialect: whose it is.
        splitter: takes the framing away.
        must_close: whether the framing itself has an end.
        max_bytes: larger ones are not collected.
    """

    def __init__(
        self, dialect: Dialect, splitter: Splitter, *, must_close: bool, max_bytes: int = MAX_BYTES
    ) -> None:
        self._dialect, self._splitter, self._must_close = dialect, splitter, must_close
        self._left = max_bytes
        self._flaw: str | None = None
        self._pieces: list[bytes] = []
        self._merge = _Merge()

    @property
    def is_done(self) -> bool:
        """True once the framing ended after nothing but good pieces; events have no such end."""
        return self._splitter.is_closed and self._flaw is None

    def feed(self, chunk: bytes) -> None:
        """Take the next decoded body bytes."""
        self._left -= len(chunk)
        if self._left < 0:
            self._spoil("too_large")
        if self._flaw is None:
            self._take_all(self._splitter.feed(chunk))

    def finish(self) -> Completion | Incomplete:
        """Give the answer if the stream came to its end and everything in it is good."""
        if self._flaw is None:
            self._take_all(self._splitter.finish())
        usage = read_gemini(self._merge.usage)
        if self._flaw is not None:
            return Incomplete(self._flaw, usage)
        if not self._merge.has_ended or (self._must_close and not self._splitter.is_closed):
            return Incomplete("unended", usage)
        try:
            events = [_kept(piece) for piece in self._pieces] if self._merge.lossy else None
            return kept(self._dialect, self._merge.answer(), events)
        except ValueError:
            return Incomplete("shape", usage)

    def _spoil(self, reason: str) -> None:
        self._flaw = self._flaw or reason
        self._pieces.clear()

    def _take_all(self, texts: list[bytes]) -> None:
        for text in texts:
            if self._flaw is None:
                self._take(text)
        if self._splitter.is_broken:
            self._spoil("shape")

    def _take(self, text: bytes) -> None:
        try:
            piece = orjson.loads(text)
        except orjson.JSONDecodeError:
            self._spoil("invalid_json")
            return
        if not isinstance(piece, dict):
            self._spoil("shape")
        elif piece.get("error"):
            self._spoil("error")
        elif (flaw := self._merge.add(piece)) is not None:
            self._spoil(flaw)
        else:
            self._pieces.append(text)


def _kept(piece: bytes) -> dict[str, Any]:
    return {name: value for name, value in orjson.loads(piece).items() if name not in FRESH}


class _Merge:
    """All pieces of one answer."""

    def __init__(self) -> None:
        self._top = FieldMerge(_NONE, joins=False)
        self._candidates: dict[int, _Candidate] = {}
        self._is_blocked = False
        self.usage: Any = None

    @property
    def lossy(self) -> bool:
        """Whether `answer` does not hold all that was sent."""
        return self._top.lossy or any(one.lossy for one in self._candidates.values())

    @property
    def has_ended(self) -> bool:
        """Whether every candidate said why it ended, or the question was refused."""
        return self._is_blocked or (
            bool(self._candidates) and all(one.finish for one in self._candidates.values())
        )

    def add(self, piece: JsonObject) -> str | None:
        """Take a piece; give what is wrong with it."""
        self._is_blocked = self._is_blocked or is_blocked(piece)
        for name, value in piece.items():
            if name == "usageMetadata":
                # Counted as it goes: the last one holds.
                self.usage = value if value is not None else self.usage
            elif name != "candidates" and name not in FRESH:
                self._top.add(name, value)
        candidates = piece.get("candidates") or []
        if not isinstance(candidates, list):
            return "shape"
        return next((flaw for one in candidates if (flaw := self._add_candidate(one))), None)

    def _add_candidate(self, candidate: Any) -> str | None:
        index = candidate.get("index", 0) if isinstance(candidate, dict) else None
        if not isinstance(index, int):
            return "shape"
        try:
            return self._candidates.setdefault(index, _Candidate()).add(candidate)
        except ValueError:
            return "shape"

    def answer(self) -> dict[str, Any]:
        """Give the answer as it stands."""
        found = [self._candidates[index].result() for index in sorted(self._candidates)]
        answer: dict[str, Any] = {"candidates": found} if found else {}
        if self.usage is not None:
            answer["usageMetadata"] = self.usage
        return {**answer, **self._top.result()}


class _Candidate:
    """All pieces of one candidate: neighbouring texts of a kind grow together, all else stays."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self._odd = False
        self._parts: list[dict[str, Any]] = []
        self._texts: list[str] = []
        self._content = FieldMerge(_NONE, joins=False)
        self._extra = FieldMerge(_NONE, joins=False)
        self._logprobs: dict[str, list[Any]] | None = None

    @property
    def lossy(self) -> bool:
        """Whether `result` does not hold all that was sent."""
        return self._odd or self._content.lossy or self._extra.lossy

    def add(self, candidate: JsonObject) -> str | None:
        """Take a piece; give what is wrong with it.

        Raises:
            ValueError: it has not the shape of one.
        """
        parts = [part for part in parts_of(candidate) if not is_silent(part)]
        if parts and self.finish:
            return "after_done"
        for part in parts:
            self._add_part(part)
        for name, value in candidate.items():
            if name == "content":
                for key, item in (value or {}).items():
                    if key != "parts":
                        self._content.add(key, item)
            elif name == "finishReason":
                self.finish = value if value else self.finish
            elif name == "logprobsResult" and _is_lists(value):
                self._logprobs = self._logprobs if self._logprobs is not None else {}
                for key, items in value.items():
                    self._logprobs.setdefault(key, []).extend(items)
            else:
                self._extra.add(name, value)
        return None

    def _add_part(self, part: dict[str, Any]) -> None:
        if self._parts and is_growing(part) and _is_alike(self._parts[-1], part):
            self._texts.append(part["text"])
            return
        self._settle()
        self._parts.append(part)
        self._texts = [part["text"]] if is_growing(part) else []

    def _settle(self) -> None:
        if self._texts:
            self._parts[-1] = {**self._parts[-1], "text": "".join(self._texts)}
            self._texts = [self._parts[-1]["text"]]

    def result(self) -> dict[str, Any]:
        """Give the candidate as it stands."""
        self._settle()
        out: dict[str, Any] = {"content": {"parts": self._parts, **self._content.result()}}
        if self.finish:
            out["finishReason"] = self.finish
        out |= self._extra.result()
        return out if self._logprobs is None else {**out, "logprobsResult": self._logprobs}


def is_silent(part: JsonObject) -> bool:
    """Tell whether a part of a stream says nothing: an empty text."""
    return is_growing(part) and not part["text"]


def is_growing(part: JsonObject) -> bool:
    """Tell whether a part is text alone, a thought or none, that may go on in the next piece."""
    is_thought = part.keys() == {"text", "thought"} and part["thought"] is True
    return (is_thought or part.keys() == {"text"}) and isinstance(part["text"], str)


def _is_alike(one: JsonObject, other: JsonObject) -> bool:
    return is_growing(one) and one.keys() == other.keys()


def is_joined(parts: list[dict[str, Any]]) -> bool:
    """Tell whether these parts come back the same when they were streamed."""
    pairs = pairwise(parts)
    return not any(map(is_silent, parts)) and not any(is_growing(b) and _is_alike(a, b) for a, b in pairs)


def _is_lists(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, list) for item in value.values())


class JsonAssembler:
    """An answer that comes as `application/json`: one document, or a stream framed as an array; the first byte tells."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._chosen: DocumentAssembler | StreamAssembler | None = None

    @property
    def is_done(self) -> bool:
        """True once an array is closed."""
        return self._chosen is not None and self._chosen.is_done

    def feed(self, chunk: bytes) -> None:
        """Take the next decoded body bytes."""
        if self._chosen is None:
            begun = chunk.lstrip()
            if not begun:
                return
            self._chosen = (
                StreamAssembler(self._dialect, ArraySplitter(), must_close=True)
                if begun.startswith(b"[")
                else DocumentAssembler(partial(kept, self._dialect))
            )
        self._chosen.feed(chunk)

    def finish(self) -> Completion | Incomplete:
        """Give the answer if it is whole and good."""
        return Incomplete("invalid_json") if self._chosen is None else self._chosen.finish()
