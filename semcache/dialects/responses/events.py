"""The typed events by which a response is streamed. Pure: objects without sequence numbers, no bytes.

The same events serve a stored answer, told at once, and one that comes piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from semcache.dialects.pieces import PIECE, pieces
from semcache.dialects.responses.saying import CHAT_FIELD

Event = dict[str, Any]
ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))


@dataclass(frozen=True, slots=True)
class TextKind:
    """One of the texts that come in deltas.

    Attributes:
        stem: what its events are called, without `.delta` and `.done`.
        part: type of the part that it is in; of the item, where it is no part.
        key: field that holds it there, and in the event at its end.
        parts: field of the item that lists the parts; None where the text is the item's own.
        index: field of an event that says which part.
        brackets: what the events around a part are called; None without such.
    """

    stem: str
    part: str
    key: str
    parts: str | None = "content"
    index: str = "content_index"
    brackets: str | None = "response.content_part"


OUTPUT = TextKind("response.output_text", "output_text", "text")
REFUSAL = TextKind("response.refusal", "refusal", "refusal")
REASONING = TextKind("response.reasoning_text", "reasoning_text", "text")
SUMMARY = TextKind(
    "response.reasoning_summary_text",
    "summary_text",
    "text",
    "summary",
    "summary_index",
    "response.reasoning_summary_part",
)
ARGUMENTS = TextKind("response.function_call_arguments", "function_call", "arguments", None, "", None)
INPUT = TextKind("response.custom_tool_call_input", "custom_tool_call", "input", None, "", None)
KINDS = (OUTPUT, REFUSAL, REASONING, SUMMARY, ARGUMENTS, INPUT)
OF_PART: Mapping[str, TextKind] = {kind.part: kind for kind in KINDS}


def events_of(response: Mapping[str, Any], piece: int = PIECE) -> Iterator[Event]:
    """Give the events of a whole response, its names and times in it; `piece` is about the characters of a delta."""
    yield from opening(response)
    for number, item in enumerate(response["output"]):
        yield from _item(number, item, piece)
    yield ending(response)


def opening(response: Mapping[str, Any]) -> Iterator[Event]:
    """Give what begins a stream: the response with nothing said yet."""
    empty: Event = {
        "status": "in_progress",
        "completed_at": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    begun = {**response, **empty}
    begun.pop(CHAT_FIELD, None)
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}


def ending(response: Mapping[str, Any]) -> Event:
    """Give what ends a stream."""
    return {"type": f"response.{response['status']}", "response": response}


def added(number: int, item: Mapping[str, Any]) -> Event:
    """Give the begin of an item, without what comes in parts."""
    grows: tuple[tuple[str, Any], ...] = (("content", []), ("summary", []), ("arguments", ""), ("input", ""))
    empty = {name: nothing for name, nothing in grows if isinstance(item.get(name), type(nothing))}
    if "status" in item:
        empty["status"] = "in_progress"
    return {"type": "response.output_item.added", "output_index": number, "item": {**item, **empty}}


def done(number: int, item: Mapping[str, Any]) -> Event:
    """Give the end of an item."""
    return {"type": "response.output_item.done", "output_index": number, "item": item}


def place(kind: TextKind, item: Mapping[str, Any], number: int, part: int) -> Event:
    """Give the fields that say where a text stands."""
    where = {"item_id": item["id"], "output_index": number}
    return where if kind.parts is None else {**where, kind.index: part}


def part_added(kind: TextKind, where: Event, part: Mapping[str, Any]) -> Event:
    """Give the begin of a part."""
    empty: Event = {name: [] for name in ("annotations", "logprobs") if name in part}
    return {"type": f"{kind.brackets}.added", **where, "part": {**part, kind.key: "", **empty}}


def part_done(kind: TextKind, where: Event, part: Mapping[str, Any]) -> Iterator[Event]:
    """Give the end of a text and of its part."""
    yield text_done(kind, where, part)
    yield {"type": f"{kind.brackets}.done", **where, "part": part}


def text_done(kind: TextKind, where: Event, holder: Mapping[str, Any]) -> Event:
    """Give the end of a text; `holder` is its part or item."""
    more: dict[str, Any] = {"logprobs": holder.get("logprobs") or []} if kind is OUTPUT else {}
    if kind is ARGUMENTS:
        more = {"name": holder.get("name")}
    return {"type": f"{kind.stem}.done", **where, kind.key: holder[kind.key], **more}


def delta(kind: TextKind, where: Event, text: str, tokens: list[Any]) -> Event:
    """Give a piece of a text; `tokens` are log probabilities that come with it."""
    more = {"logprobs": tokens} if kind is OUTPUT else {}
    return {"type": f"{kind.stem}.delta", **where, "delta": text, **more}


def annotation_added(where: Event, index: int, note: Any) -> Event:
    """Give one annotation of a text."""
    return {
        "type": "response.output_text.annotation.added",
        **where,
        "annotation_index": index,
        "annotation": note,
    }


def _item(number: int, item: Mapping[str, Any], piece: int) -> Iterator[Event]:
    yield added(number, item)
    own = OF_PART.get(str(item.get("type")))
    if own is not None and isinstance(item.get(own.key), str):
        where = place(own, item, number, 0)
        yield from _text(own, where, item, piece)
        yield text_done(own, where, item)
    for name in ("summary", "content"):
        for at, part in enumerate(_listed(item.get(name))):
            yield from _part(item, number, at, name, part, piece)
    yield done(number, item)


def _part(item: Mapping[str, Any], number: int, at: int, name: str, part: Any, piece: int) -> Iterator[Event]:
    kind = OF_PART.get(str(part.get("type"))) if isinstance(part, dict) else None
    if kind is None or kind.parts != name or not isinstance(part.get(kind.key), str):
        return  # told by the item's end alone
    where = place(kind, item, number, at)
    yield part_added(kind, where, part)
    yield from _text(kind, where, part, piece)
    for index, note in enumerate(_listed(part.get("annotations"))):
        yield annotation_added(where, index, note)
    yield from part_done(kind, where, part)


def _text(kind: TextKind, where: Event, holder: Mapping[str, Any], piece: int) -> Iterator[Event]:
    tokens = _listed(holder.get("logprobs"))
    for text in pieces(holder[kind.key], piece):
        yield delta(kind, where, text, tokens)
        tokens = []


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
