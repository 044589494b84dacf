"""Collect a streamed response while it passes by, and say at its end whether it may be remembered.

Pure and incremental. The response in the last event is the answer; the others are only checked against it. Nothing here
can disturb the bytes on their way to the client: whatever is wrong with them only makes the outcome `Incomplete`.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import orjson

from semcache.core import Completion
from semcache.dialects.dialect import Dialect, Incomplete
from semcache.dialects.document import MAX_BYTES
from semcache.dialects.keeping import kept
from semcache.dialects.responses.agreement import Agreement
from semcache.dialects.responses.answer import bare, bare_item
from semcache.dialects.responses.events import ENDS
from semcache.dialects.sse import SseEvent, SseSplitter
from semcache.dialects.usage import read_responses

_FRESH = frozenset(("sequence_number", "obfuscation"))


class StreamAssembler:
    """An answer that comes as typed events, the last of which holds it whole.

    Args:
        dialect: this one.
        max_bytes: longer streams are not collected.
    """

    def __init__(self, dialect: Dialect, max_bytes: int = MAX_BYTES) -> None:
        self._dialect = dialect
        self._left = max_bytes
        self._splitter = SseSplitter(max_bytes)
        self._events: list[bytes] = []
        self._agreement = Agreement()
        self._last: dict[str, Any] | None = None
        self._flaw: str | None = None

    @property
    def is_done(self) -> bool:
        """True once the last event came after nothing but good ones."""
        return self._last is not None and self._flaw is None

    def feed(self, chunk: bytes) -> None:
        """Take the next decoded body bytes."""
        self._left -= len(chunk)
        if self._left < 0:
            self._spoil("too_large")
        if self._flaw is not None:
            return
        for event in self._splitter.feed(chunk):
            self._take(event)

    def finish(self) -> Completion | Incomplete:
        """Give the answer if the stream came to its proper end and everything in it is good."""
        # What is left has no end of its own: no event.
        self._splitter.finish()
        if self._flaw is not None:
            return Incomplete(self._flaw)
        if self._last is None:
            return Incomplete("unended")
        response = self._last["response"]
        if self._last["type"] != f"response.{response.get('status')}":
            # An end that is of two minds is none.
            return Incomplete("finish_reason", read_responses(response.get("usage")))
        told = self._agreement.items()
        if not response.get("output") and told:
            response = {**response, "output": told}
        judged = kept(self._dialect, response)
        if isinstance(judged, Incomplete):
            return judged
        if (
            response is self._last["response"]
            and self._last.keys() <= _LAST
            and self._agreement.holds(response)
        ):
            return judged
        return self._with_events(response)

    def _with_events(self, response: dict[str, Any]) -> Completion | Incomplete:
        kinds = [item.get("type") for item in response["output"]]
        try:
            events = [_bare_event(orjson.loads(data), kinds) for data in self._events]
        except orjson.JSONDecodeError:
            # Half a surrogate pair stands in an event that would have to be kept as it is.
            return Incomplete("surrogate")
        return kept(self._dialect, response, events)

    def _spoil(self, reason: str) -> None:
        self._flaw = self._flaw or reason
        self._events.clear()

    def _take(self, event: SseEvent) -> None:
        data = (event.data or b"").strip()
        if not data or data == b"[DONE]" or self._flaw is not None:
            return
        parsed = parse(data)
        reason = _flaw(event.name, parsed)
        if reason is None and self._last is not None:
            reason = "after_done"
        if reason is not None:
            self._spoil(reason)
            return
        self._events.append(data)
        if parsed["type"] in ENDS:
            self._last = parsed
        else:
            self._agreement.take(parsed)


_LAST = frozenset(("type", "sequence_number", "response", "obfuscation"))


def parse(data: bytes) -> Any:
    """Parse one event's JSON; None when it is none. Half a surrogate pair is let through."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\u" not in data:
            return None
    try:
        return json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _flaw(name: bytes, event: Any) -> str | None:
    if name == b"error":
        return "error"
    if event is None:
        return "invalid_json"
    if not isinstance(event, dict):
        return "shape"
    if event.get("error") or event.get("type") == "error":
        return "error"
    if not isinstance(event.get("type"), str):
        return "shape"
    response = event.get("response", {})
    if not isinstance(response, dict) or (event["type"] in ENDS and "response" not in event):
        return "shape"
    output = response.get("output") or []
    is_list = isinstance(output, list) and all(isinstance(item, dict) for item in output)
    return None if is_list else "shape"


def _bare_event(event: dict[str, Any], kinds: list[Any]) -> dict[str, Any]:
    """Give an event without what is fresh in every replay; in place of an item's name stands its type."""
    kept = {"type": event["type"], **{name: value for name, value in event.items() if name not in _FRESH}}
    number = event.get("output_index")
    if isinstance(number, int) and "item_id" in event:
        kept["item_id"] = kinds[number] if 0 <= number < len(kinds) else ""
    if isinstance(event.get("item"), dict):
        kept["item"] = bare_item(event["item"])
    if isinstance(event.get("response"), dict):
        kept["response"] = bare(event["response"])
    return kept
