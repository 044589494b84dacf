"""Read the typed events of a response as chat chunks while they come.

Pure and incremental. Texts and calls go on as they come; what the response at the end says beyond them follows then, so
that the chunks together are the whole answer.
"""

from __future__ import annotations

from typing import Any

from semcache.dialects.responses import events as by
from semcache.dialects.responses.answer import read_answer
from semcache.dialects.responses.events import ENDS, KINDS, TextKind
from semcache.dialects.responses.stream import parse
from semcache.dialects.responses.wording import read_error_event
from semcache.dialects.sse import SseEvent, SseSplitter

_NAMES: dict[TextKind, str] = {
    by.OUTPUT: "content",
    by.REFUSAL: "refusal",
    by.REASONING: "reasoning_content",
    by.SUMMARY: "reasoning_content",
}
_DELTAS = {f"{kind.stem}.delta": kind for kind in KINDS}
_INNER = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
_UNREADABLE = {"message": "The upstream's stream cannot be read.", "type": "upstream_error"}
Chunk = dict[str, Any]


class ResponseReader:
    """Reads one stream."""

    def __init__(self) -> None:
        self._splitter = SseSplitter()
        self._done = self._has_begun = False
        self._model: Any = None
        self._texts: dict[str, str] = {}
        self._halves: dict[str, str] = {}
        self._tokens = 0
        self._summary: Any = None
        self._calls: dict[Any, int] = {}
        self._ids: list[str] = []

    @property
    def is_done(self) -> bool:
        """True once the last event came."""
        return self._done

    def feed(self, data: bytes) -> list[Chunk]:
        """Take body bytes; give the chunks they complete."""
        return [chunk for event in self._splitter.feed(data) for chunk in self._event(event)]

    def finish(self) -> list[Chunk]:
        """Give nothing more; half an event is none."""
        self._splitter.finish()
        return []

    def _event(self, event: SseEvent) -> list[Chunk]:
        data = (event.data or b"").strip()
        if not data or data == b"[DONE]" or self._done:
            return []
        told = parse(data)
        if not isinstance(told, dict):
            return [{"error": dict(_UNREADABLE)}]
        kind = told.get("type")
        if event.name == b"error" or kind in ("error", "response.failed") or told.get("error"):
            return [{"error": read_error_event(told)}]
        try:
            return self._read(kind, told)
        except (ValueError, TypeError, AttributeError, KeyError):
            return [{"error": dict(_UNREADABLE)}]

    def _read(self, kind: Any, event: Chunk) -> list[Chunk]:
        response = event.get("response")
        if isinstance(response, dict):
            self._model = response.get("model", self._model)
        if kind in ENDS and isinstance(response, dict):
            self._done = True
            return self._begin() + self._end(
                read_answer({**response, "status": kind.removeprefix("response.")})
            )
        if kind in _DELTAS:
            return self._begin() + self._delta(_DELTAS[kind], event)
        if kind == "response.output_item.added":
            return self._begin() + self._call(event)
        return self._begin() if kind == "response.created" else []

    def _begin(self) -> list[Chunk]:
        if self._has_begun:
            return []
        self._has_begun = True
        return [self._chunk({"role": "assistant"})]

    def _delta(self, kind: TextKind, event: Chunk) -> list[Chunk]:
        text = event["delta"]
        if kind not in _NAMES:
            number = self._calls.get(event.get("output_index"))
            inner, key = _INNER[kind.part]
            if number is None:
                return []
            text = self._mended(f"call {number}", text)
            return [self._chunk({"tool_calls": [{"index": number, inner: {key: text}}]})]
        name = _NAMES[kind]
        if kind is by.SUMMARY:
            place = (event.get("output_index"), event.get("summary_index"))
            if self._summary not in (None, place) and self._texts.get(name):
                text = "\n\n" + text
            self._summary = place
        text = self._mended(name, text)
        self._texts[name] = self._texts.get(name, "") + text
        tokens = event.get("logprobs") or []
        self._tokens += len(tokens)
        return [self._chunk({name: text}, {"content": tokens} if tokens else None)]

    def _call(self, event: Chunk) -> list[Chunk]:
        item = event["item"]
        if item.get("type") not in _INNER or not isinstance(item.get("call_id"), str):
            return []
        inner, key = _INNER[item["type"]]
        number = self._calls[event.get("output_index")] = len(self._ids)
        self._ids.append(item["call_id"])
        self._texts[f"call {number}"] = text = item.get(key) or ""
        called = {"name": item["name"], key: text}
        return [
            self._chunk(
                {"tool_calls": [{"index": number, "id": item["call_id"], "type": inner, inner: called}]}
            )
        ]

    def _end(self, document: Chunk) -> list[Chunk]:
        """Say what was not said yet, why it ended, and what it cost."""
        if document.get("error"):
            return [{"error": read_error_event({"response": document})}]
        choice = document["choices"][0]
        message = choice.pop("message")
        late = [self._chunk(delta) for name, value in message.items() for delta in self._rest(name, value)]
        tokens = ((choice.pop("logprobs") or {}).get("content") or [])[self._tokens :]
        end = self._chunk({}, {"content": tokens} if tokens else None)
        end["choices"][0] |= choice
        usage = document.pop("usage", None)
        own = {name: value for name, value in document.items() if name not in ("choices", "object")}
        counted = [] if usage is None else [{**self._chunk({}), "choices": [], "usage": usage}]
        return [*late, {**end, **own}, *counted]

    def _rest(self, name: str, value: Any) -> list[Chunk]:
        if name == "role" or value is None:
            return []
        if name == "tool_calls":
            return [rest for call in value for rest in self._rest_of_call(call)]
        if not isinstance(value, str) or name not in _NAMES.values():
            return [{name: value}]
        said = self._texts.get(name, "")
        return [{name: value[len(said) :]}] if value.startswith(said) and len(value) > len(said) else []

    def _rest_of_call(self, call: Chunk) -> list[Chunk]:
        if call["id"] not in self._ids:
            self._ids.append(call["id"])
            return [{"tool_calls": [{"index": len(self._ids) - 1, **call}]}]
        number = self._ids.index(call["id"])
        inner, key = next(pair for pair in _INNER.values() if pair[0] == call["type"])
        said, whole = self._texts[f"call {number}"], call[inner][key]
        if whole.startswith(said) and len(whole) > len(said):
            return [{"tool_calls": [{"index": number, inner: {key: whole[len(said) :]}}]}]
        return []

    def _mended(self, name: str, text: str) -> str:
        """Hold the first half of a surrogate pair back until the other comes."""
        text = self._halves.pop(name, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._halves[name] = text[-1]
            text = text[:-1]
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16")
        if name.startswith("call "):
            self._texts[name] += whole
        return whole

    def _chunk(self, delta: Chunk, logprobs: Chunk | None = None) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": None}
        return {"object": "chat.completion.chunk", "model": self._model, "choices": [choice]}
