"""Write a chat stream as the typed events of a response while it comes.

Pure and incremental. Reasoning is an item that ends where something else begins; the text and the tool calls stay open to
the end, since chat may send their pieces in any order. What of a chat stream has no word stands in the response at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from semcache.dialects.chat.answer import DROPPED
from semcache.dialects.chat.merge import FieldMerge
from semcache.dialects.responses import events as by
from semcache.dialects.responses.answer import dressed, write_answer
from semcache.dialects.responses.events import Event, TextKind
from semcache.dialects.responses.layout import framed
from semcache.dialects.responses.open_items import OpenCall, OpenMessage, OpenReasoning
from semcache.dialects.responses.wording import error_event

_TOP = frozenset(("object", "choices", "usage", "obfuscation")) | DROPPED
_CHOICE = frozenset(("index", "delta", "logprobs", "finish_reason"))
_DELTA = frozenset(
    ("content", "refusal", "reasoning_content", "reasoning", "tool_calls", "annotations", "obfuscation")
)
_NOTHING = {"choices": [{"index": 0, "message": {"content": None}, "finish_reason": "stop"}]}


class ResponseWriter:
    """Writes one answer; nothing is written after an error.

    Args:
        id: hex digits that all names are made of.
        created: Unix seconds.
    """

    def __init__(self, id: str, created: int) -> None:
        self._id, self._created = id, created
        self._number = 0
        self._has_begun = self._has_ended = False
        self._top = FieldMerge(frozenset(), joins=False)
        self._choice = FieldMerge(frozenset(), joins=False)
        self._rest = FieldMerge(frozenset(("role",)))
        self._usage: Any = None
        self._finish: Any = None
        self._tokens: dict[str, list[Any]] = {}
        self._items: list[OpenReasoning | OpenMessage | OpenCall] = []
        self._message: OpenMessage | None = None
        self._calls: dict[int, OpenCall] = {}
        self._pending: list[OpenCall] = []

    def feed(self, chunk: Mapping[str, Any]) -> bytes:
        """Take the next chunk; give the events that it makes."""
        if self._has_ended:
            return b""
        if chunk.get("error"):
            return self._fail(chunk["error"])
        try:
            return self._chunk(chunk)
        except (ValueError, TypeError, AttributeError, LookupError):
            return self._fail("The upstream's stream cannot be read.")

    def _chunk(self, chunk: Mapping[str, Any]) -> bytes:
        for name, value in chunk.items():
            if name not in _TOP:
                self._top.add(name, value)
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices") or ()
        if any(choice.get("index", 0) != 0 for choice in choices):
            return self._fail("The upstream gave several answers where one was asked for.")
        return self._frame(event for choice in choices for event in self._take(choice))

    def finish(self) -> bytes:
        """End all that is open, and the response."""
        if self._has_ended:
            return b""
        document = {**self._top.result(), "choices": [self._whole()], "usage": self._usage}
        try:
            response = write_answer(document)
        except (ValueError, TypeError, AttributeError, LookupError):
            return self._fail("The upstream's answer cannot be told in this protocol.")
        sent = self._frame(self._end(response))
        self._has_ended = True
        return sent

    def _take(self, choice: Mapping[str, Any]) -> Iterator[Event]:
        yield from self._begin()
        for name, value in choice.items():
            if name not in _CHOICE:
                self._choice.add(name, value)
        self._finish = choice.get("finish_reason") or self._finish
        tokens = self._take_tokens(choice.get("logprobs"))
        delta = choice.get("delta") or {}
        yield from self._take_texts(delta, tokens)
        for part in delta.get("tool_calls") or ():
            yield from self._call(part)
        for name, value in delta.items():
            if name not in _DELTA:
                self._rest.add(name, value)
        if self._message is not None:
            self._message.annotations += delta.get("annotations") or []
        elif delta.get("annotations"):
            self._rest.add("annotations", delta["annotations"])

    def _take_texts(self, delta: Mapping[str, Any], tokens: list[Any]) -> Iterator[Event]:
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str):
            yield from self._reason(reasoning)
        for kind, name in ((by.OUTPUT, "content"), (by.REFUSAL, "refusal")):
            if isinstance(delta.get(name), str) and delta[name]:
                yield from self._say(kind, delta[name], tokens)

    def _take_tokens(self, logprobs: Any) -> list[Any]:
        for name, tokens in (logprobs or {}).items():
            if tokens:
                self._tokens.setdefault(name, []).extend(tokens)
        return list((logprobs or {}).get("content") or ())

    def _begin(self) -> Iterator[Event]:
        if not self._has_begun:
            self._has_begun = True
            yield from by.opening(self._dress({**write_answer(_NOTHING), "model": self._top.get("model")}))

    def _reason(self, text: str) -> Iterator[Event]:
        last = self._items[-1] if self._items else None
        if not isinstance(last, OpenReasoning) or last.is_closed:
            last = OpenReasoning(self._name, len(self._items))
            self._items.append(last)
        yield from last.add(text)

    def _close_reasoning(self) -> Iterator[Event]:
        for item in self._items:
            if isinstance(item, OpenReasoning) and not item.is_closed:
                yield from item.close()

    def _say(self, kind: TextKind, text: str, tokens: list[Any]) -> Iterator[Event]:
        yield from self._close_reasoning()
        if self._message is None:
            self._message = OpenMessage(self._name, len(self._items))
            self._items.append(self._message)
        yield from self._message.add(kind, text, tokens if kind is by.OUTPUT else [])

    def _call(self, part: Mapping[str, Any]) -> Iterator[Event]:
        yield from self._close_reasoning()
        call = self._call_of(part)
        call.take(part)
        if call.number is None and call.is_named:
            call.number = len(self._items)
            self._items.append(call)
            self._pending.remove(call)
        yield from call.told()

    def _call_of(self, part: Mapping[str, Any]) -> OpenCall:
        """Find a call by its index; without one, a new id begins a new call."""
        index, own = part.get("index"), part.get("id")
        if not isinstance(index, int):
            index = len(self._calls) - (0 if own or not self._calls else 1)
        call = self._calls.get(index)
        if call is None or (own and call.id and own != call.id):
            call = self._calls[index] = OpenCall(self._name)
            self._pending.append(call)
        return call

    def _whole(self) -> dict[str, Any]:
        """Give the choice as a whole answer would have it."""
        texts = {} if self._message is None else self._message.texts()
        reasoning = "".join(item.text for item in self._items if isinstance(item, OpenReasoning))
        calls = [item.result() for item in [*self._items, *self._pending] if isinstance(item, OpenCall)]
        message = {**self._rest.result(), **texts, "reasoning_content": reasoning, "tool_calls": calls}
        if self._message is not None and self._message.annotations:
            message["annotations"] = self._message.annotations
        end = {"logprobs": self._tokens or None, "finish_reason": self._finish}
        return {**self._choice.result(), "index": 0, "message": message, **end}

    def _end(self, response: dict[str, Any]) -> Iterator[Event]:
        yield from self._begin()
        status = "completed" if response["status"] == "completed" else "incomplete"
        if self._message is not None:
            said = next(item for item in response["output"] if item["type"] == "message")
            self._message.settle(said["content"], status)
        for item in self._items:
            if isinstance(item, OpenCall):
                item.status = status
            yield from item.close()
        whole = self._dress(response)
        whole["output"] = [item.item for item in self._items]
        yield by.ending(whole)

    def _dress(self, response: dict[str, Any]) -> dict[str, Any]:
        fresh = {
            name: value
            for name, value in response.items()
            if name not in ("id", "created_at", "completed_at")
        }
        return dressed({**fresh, "output": []}, self._name, self._created)

    def _name(self, prefix: str, suffix: str) -> str:
        return f"{prefix}_{self._id}{suffix}"

    def _fail(self, error: Any) -> bytes:
        self._has_ended = True
        return self._frame([error_event(error)])

    def _frame(self, events: Iterable[Event]) -> bytes:
        sent = list(framed(events, self._number))
        self._number += len(sent)
        return b"".join(sent)
