"""Writes a chat stream as Anthropic's events while it comes. Pure.

One block is open at a time. What comes after a call began, and could still belong before its end, waits: other calls
while the open one's arguments are not whole, and text or reasoning behind calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from semcache.dialects.anthropic.answer import call_id, read_arguments, stop_of, thought_of
from semcache.dialects.anthropic.counts import NOTHING, native_usage
from semcache.dialects.anthropic.errors import native_type
from semcache.dialects.anthropic.stream import framed
from semcache.dialects.halves import dumped

_BROKEN = {
    "message": "The upstream's stream broke off: a call went on behind its end.",
    "type": "upstream_error",
}
_DELTAS = {"text": "text_delta", "thinking": "thinking_delta"}


@dataclass(slots=True)
class _Call:
    """A call as far as it came; `sent` is how many parts of its arguments are gone."""

    number: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    sent: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing but blanks can follow."""
        try:
            read_arguments("".join(self.arguments) or "?")
        except ValueError:
            return False
        return True


@dataclass(slots=True)
class EventWriter:
    """Turns chunks into events.

    Args:
        id: of the message, whole.
    """

    id: str
    _started: bool = False
    _failed: bool = False
    _index: int = -1
    _open: str = ""
    """Kind of the open block."""
    _waiting: dict[str, list[str]] = field(default_factory=lambda: {"thinking": [], "text": []})
    _calls: list[_Call] = field(default_factory=list)
    _by_index: dict[int, _Call] = field(default_factory=dict)
    _written: int = 0
    """Calls that were begun."""
    _end: dict[str, Any] = field(default_factory=dict)
    _refused: bool = False
    _usage: Any = None

    def feed(self, chunk: Mapping[str, Any]) -> bytes:
        """Take the next chunk; give bytes to send, maybe none."""
        if self._failed:
            return b""
        if chunk.get("error"):
            return self._fail(chunk["error"])
        out = [] if self._started else [self._start(chunk)]
        if chunk.get("usage") is not None:
            self._usage = chunk["usage"]
        for choice in _listed(chunk.get("choices")):
            # A client of this dialect cannot have asked for several.
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                out += self._choice(choice)
        return b"".join(out)

    def finish(self) -> bytes:
        """Give the proper end."""
        if self._failed:
            return b""
        out = [] if self._started else [self._start({})]
        out += self._rest()
        try:
            stopped, sequence = stop_of(self._end, self._ending())
        except ValueError:
            stopped, sequence = "end_turn", None
        delta = {"stop_reason": stopped, "stop_sequence": sequence}
        out.append(_event("message_delta", delta=delta, usage=native_usage(self._usage)))
        out.append(_event("message_stop"))
        return b"".join(out)

    def _ending(self) -> dict[str, Any]:
        return {"tool_calls": self._calls, "refusal": self._refused}

    def _fail(self, error: Any) -> bytes:
        self._failed = True
        told = error if isinstance(error, Mapping) else {"message": str(error)}
        kind = native_type(200, str(told.get("type") or ""))
        message = str(told.get("message") or "The upstream's stream failed.")
        return _event("error", error={"type": kind, "message": message})

    def _start(self, chunk: Mapping[str, Any]) -> bytes:
        self._started = True
        message: dict[str, Any] = {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": chunk.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": dict(NOTHING),
        }
        return _event("message_start", message=message)

    def _choice(self, choice: Mapping[str, Any]) -> list[bytes]:
        for name in ("finish_reason", "stop_reason"):
            if choice.get(name) is not None:
                self._end[name] = choice[name]
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return []
        out: list[bytes] = []
        try:
            thought = thought_of(delta)
        except ValueError:
            thought = str(delta.get("reasoning_content") or delta.get("reasoning"))
        self._refused = self._refused or bool(delta.get("refusal"))
        out += self._text("thinking", thought)
        out += self._text("text", delta.get("content"))
        out += self._text("text", delta.get("refusal"))
        for part in _listed(delta.get("tool_calls")):
            if isinstance(part, Mapping) and not self._failed:
                out += self._call(part)
        return out

    def _text(self, kind: str, text: Any) -> list[bytes]:
        if not isinstance(text, str) or not text:
            return []
        if self._calls:
            self._waiting[kind].append(text)
            return []
        return self._said(kind, text)

    def _said(self, kind: str, text: str) -> list[bytes]:
        out: list[bytes] = []
        if self._open != kind:
            out += self._close()
            block = {"type": kind, kind: ""} | ({"signature": ""} if kind == "thinking" else {})
            out.append(self._begin(kind, block))
        out.append(self._delta({"type": _DELTAS[kind], kind: text}))
        return out

    def _call(self, part: Mapping[str, Any]) -> list[bytes]:
        call = self._call_of(part)
        function = part.get("function")
        told: Mapping[str, Any] = function if isinstance(function, Mapping) else {}
        call.id = call.id or str(part.get("id") or "")
        call.name = call.name or str(told.get("name") or "")
        more = str(told.get("arguments") or "")
        if call.number < self._written - 1:
            # Its block is closed: it was whole, and is none with more behind it.
            return [self._fail(_BROKEN)] if more.strip() else []
        if more:
            call.arguments.append(more)
        return self._forward()

    def _call_of(self, part: Mapping[str, Any]) -> _Call:
        index, named = part.get("index"), part.get("id")
        if not isinstance(index, int):
            # Some servers number nothing: a name of its own begins a call.
            index = len(self._calls) - (0 if named or not self._calls else 1)
        call = self._by_index.get(index)
        if call is None or (named and call.id and named != call.id):
            call = self._by_index[index] = _Call(len(self._calls))
            self._calls.append(call)
        return call

    def _forward(self) -> list[bytes]:
        """Send what may be sent of the calls: of the open one all, of the next once that is whole."""
        out: list[bytes] = []
        while self._written <= len(self._calls):
            if self._written:
                out += self._more(self._calls[self._written - 1])
                following = self._written < len(self._calls)
                if not following or not self._calls[self._written - 1].is_whole:
                    break
            if not self._calls[self._written].name:
                break
            out += self._opened(self._calls[self._written])
        return out

    def _opened(self, call: _Call) -> list[bytes]:
        self._written += 1
        out = self._close()
        block = {"type": "tool_use", "id": call_id(call.id, call.number), "name": call.name, "input": {}}
        out.append(self._begin("tool_use", block))
        return out

    def _more(self, call: _Call) -> list[bytes]:
        part = "".join(call.arguments[call.sent :])
        call.sent = len(call.arguments)
        return [self._delta({"type": "input_json_delta", "partial_json": part})] if part else []

    def _rest(self) -> list[bytes]:
        """Send what waited, each call whole."""
        out: list[bytes] = []
        for kind in ("thinking", "text"):
            if self._waiting[kind]:
                out += self._said(kind, "".join(self._waiting[kind]))
        while self._written < len(self._calls):
            call = self._calls[self._written]
            out += self._opened(call)
            out += self._more(call)
        return out + self._close()

    def _begin(self, kind: str, block: dict[str, Any]) -> bytes:
        self._index += 1
        self._open = kind
        return _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _close(self) -> list[bytes]:
        if not self._open:
            return []
        self._open = ""
        return [_event("content_block_stop", index=self._index)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _event(kind: str, **fields: Any) -> bytes:
    """Give one event; a half of a pair of surrogates passes as it came."""
    return framed(kind, dumped({"type": kind, **fields}))
