"""Streams of text completions: put together, and turned into chat's while they come, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from semcache.dialects.chat.render import DONE
from semcache.dialects.chat.wire import ChatReader
from semcache.dialects.completions import logprobs as scores
from semcache.dialects.completions.answer import lifted_choice, lowered_choice
from semcache.dialects.dialect import ErrorWords
from semcache.dialects.errors import openai_error

_OBJECT = "text_completion"
_UNREADABLE = {"message": "The upstream's stream cannot be read.", "type": "upstream_error"}
_UNSAYABLE = ErrorWords("The answer is more than a text completion can tell.", 502, "upstream_error")


def lift(choice: dict[str, Any]) -> dict[str, Any]:
    """Give a choice of a chunk in chat's shape, log probabilities as they are."""
    return lifted_choice(choice, "delta")


class TextWriter:
    """Writes a chat stream as one of text completions.

    Args:
        id: in every chunk.
        created: in every chunk, Unix seconds.
        include_usage: pass the usage chunk on.
    """

    def __init__(self, id: str, created: int, *, include_usage: bool) -> None:
        self._frame = {"id": id, "object": _OBJECT, "created": created}
        self._include_usage = include_usage
        self._offsets: dict[int, int] = {}
        self._refused: set[int] = set()
        self._broken = False

    def feed(self, chunk: Mapping[str, Any]) -> bytes:
        """Give the event of a chunk; one that says more than texts can ends the stream in an error."""
        if self._broken:
            return b""
        if chunk.get("error"):
            return self._error(chunk["error"])
        if not self._include_usage and not chunk.get("choices") and chunk.get("usage"):
            return b""
        try:
            choices = [self._choice(choice) for choice in chunk.get("choices") or ()]
        except (ValueError, TypeError, AttributeError):
            return self._error(openai_error(_UNSAYABLE))
        top = {name: value for name, value in chunk.items() if name not in ("object", "choices")}
        return b"data: " + orjson.dumps({**self._frame, **top, "choices": choices}) + b"\n\n"

    def finish(self) -> bytes:
        """Give the end mark."""
        return b"" if self._broken else DONE

    def _choice(self, choice: dict[str, Any]) -> dict[str, Any]:
        index = choice.get("index", 0)
        offset = self._offsets.get(index, 0)
        lists = scores.in_lists(choice.get("logprobs"), offset)
        self._offsets[index] = offset + scores.length(lists)
        found = lowered_choice({**choice, "logprobs": lists}, "delta")
        if (choice.get("delta") or {}).get("refusal"):
            self._refused.add(index)
        if found["finish_reason"] and index in self._refused:
            found["finish_reason"] = "content_filter"
        return found

    def _error(self, error: Any) -> bytes:
        self._broken = True
        return b"data: " + orjson.dumps({"error": error}) + b"\n\n"


class TextReader:
    """Reads a stream of text completions as chat's."""

    def __init__(self) -> None:
        self._chunks = ChatReader()
        self._begun: set[Any] = set()

    @property
    def is_done(self) -> bool:
        """True after the end mark."""
        return self._chunks.is_done

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Give the chunks that these bytes complete."""
        return [self._lifted(chunk) for chunk in self._chunks.feed(data)]

    def finish(self) -> list[dict[str, Any]]:
        """Give what is left."""
        return [self._lifted(chunk) for chunk in self._chunks.finish()]

    def _lifted(self, chunk: dict[str, Any]) -> dict[str, Any]:
        if chunk.get("error"):
            return chunk
        try:
            choices = [self._choice(choice) for choice in chunk.get("choices") or ()]
        except (ValueError, TypeError):
            return {"error": dict(_UNREADABLE)}
        return {**chunk, "object": "chat.completion.chunk", "choices": choices}

    def _choice(self, choice: Any) -> dict[str, Any]:
        found = lift(choice)
        if found["index"] not in self._begun:
            self._begun.add(found["index"])
            found["delta"] = {"role": "assistant", **found["delta"]}
        found["logprobs"] = scores.in_chat(found["logprobs"])
        return found
