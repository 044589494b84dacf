"""Whether the events of a stream say what the response at its end says, and nothing more. Pure.

Where they do, the response alone is kept, and its events can be told again from it. Where they do not (events nobody
knows, fields that the response lacks, another text), the stream's own events have to be kept.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from semcache.dialects.responses.answer import bare, bare_item
from semcache.dialects.responses.events import KINDS, TextKind

_FRAME = frozenset(("type", "sequence_number", "obfuscation"))
_PLACE = frozenset(("item_id", "output_index"))
_DELTAS = {f"{kind.stem}.delta": kind for kind in KINDS}
_DONES = {f"{kind.stem}.done": kind for kind in KINDS}
_PART_ADDED = frozenset(f"{kind.brackets}.added" for kind in KINDS if kind.brackets)
_PART_DONE = frozenset(f"{kind.brackets}.done" for kind in KINDS if kind.brackets)
_IDLE = ("keepalive", "ping")
"""Events that only keep a connection open."""
_BEGINS = frozenset(("response.created", "response.in_progress", "response.queued"))
_LATE = frozenset(
    (
        "status",
        "output",
        "usage",
        "service_tier",
        "incomplete_details",
        "error",
        "semcache_chat",
        "tool_usage",
        "moderation",
        "access_programs",
    )
)
"""Fields of a response that are not settled when it begins."""
_GROWING = frozenset(
    ("status", "content", "summary", "arguments", "input", "text", "refusal", "encrypted_content")
)
_LISTS = frozenset(("annotations", "logprobs"))
_Place = tuple[Any, ...]


class Agreement:
    """Takes the events of one stream; `holds` compares them with the response at the end."""

    def __init__(self) -> None:
        self._texts: dict[tuple[TextKind, _Place], list[str]] = {}
        self._tokens: dict[_Place, list[Any]] = {}
        self._claims: list[tuple[_Place, Any, str]] = []
        self._begins: list[dict[str, Any]] = []
        self._items: dict[int, dict[str, Any]] = {}
        self._odd = False

    def take(self, event: dict[str, Any]) -> None:
        """Take any event but the one at the end; its type is a text."""
        kind: str = event["type"]
        if kind in _IDLE:
            self._only(event)
        elif kind in _DELTAS:
            self._delta(_DELTAS[kind], event)
        elif kind in _DONES:
            self._done(_DONES[kind], event)
        elif kind in _BEGINS:
            self._only(event, "response")
            self._begins.append(event.get("response", {}))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._item(event, is_done=kind.endswith("done"))
        elif kind in _PART_ADDED or kind in _PART_DONE:
            parts = "summary" if "summary" in kind else "content"
            self._only(event, "part", f"{parts}_index", *_PLACE)
            place = self._place(event, parts, f"{parts}_index")
            self._claims.append((place, event.get("part"), "exact" if kind in _PART_DONE else "begun"))
        elif kind == "response.output_text.annotation.added":
            self._only(event, "annotation", "annotation_index", "content_index", *_PLACE)
            place = (
                *self._place(event, "content", "content_index"),
                "annotations",
                event.get("annotation_index"),
            )
            self._claims.append((place, event.get("annotation"), "exact"))
        else:
            self._odd = True

    def items(self) -> list[dict[str, Any]]:
        """Give the items that came to their end, for responses that do not repeat them."""
        return [self._items[number] for number in sorted(self._items)]

    def holds(self, response: dict[str, Any]) -> bool:
        """Tell whether all that was told stands in the response."""
        if self._odd:
            return False
        settled = {name: value for name, value in bare(response).items() if name not in _LATE}
        for begun in self._begins:
            early = {name: value for name, value in bare(begun).items() if name not in _LATE}
            if begun.get("output") or not _is_within(early, settled):
                return False
        output = [bare_item(item) for item in response["output"]]
        checks = {"exact": operator.eq, "begun": _is_begun, "within": _is_within}
        return all(
            checks[how](claim, _at(output, place)) for place, claim, how in (*self._claims, *self._told())
        )

    def _told(self) -> Iterator[tuple[_Place, Any, str]]:
        for (kind, place), texts in self._texts.items():
            yield (*place, kind.key), joined(texts), "exact"
        for place, tokens in self._tokens.items():
            yield (*place, "logprobs"), tokens, "within"

    def _delta(self, kind: TextKind, event: dict[str, Any]) -> None:
        place, text = self._where(kind, event, "delta", "logprobs"), event.get("delta")
        if isinstance(text, str):
            self._texts.setdefault((kind, place), []).append(text)
        else:
            self._odd = True
        tokens = event.get("logprobs")
        if tokens:
            self._tokens.setdefault(place, []).extend(tokens if isinstance(tokens, list) else [None])

    def _done(self, kind: TextKind, event: dict[str, Any]) -> None:
        place = self._where(kind, event, kind.key, "logprobs", "name")
        self._claims.append(((*place, kind.key), event.get(kind.key), "exact"))
        if event.get("name") is not None:
            self._claims.append(((*place, "name"), event["name"], "exact"))
        if event.get("logprobs"):
            self._claims.append(((*place, "logprobs"), event["logprobs"], "within"))

    def _item(self, event: dict[str, Any], *, is_done: bool) -> None:
        self._only(event, "item", "output_index")
        number = event.get("output_index")
        if isinstance(number, int) and isinstance(event.get("item"), dict):
            self._claims.append(((number,), bare_item(event["item"]), "exact" if is_done else "begun"))
            if is_done:
                self._items[number] = event["item"]
        else:
            self._odd = True

    def _where(self, kind: TextKind, event: dict[str, Any], *more: str) -> _Place:
        index = (kind.index,) if kind.parts else ()
        self._only(event, *more, *index, *_PLACE)
        if kind.parts:
            return self._place(event, kind.parts, kind.index)
        number = event.get("output_index")
        self._odd = self._odd or not isinstance(number, int)
        return (number,) if isinstance(number, int) else ()

    def _place(self, event: dict[str, Any], parts: str, index: str) -> _Place:
        number, at = event.get("output_index"), event.get(index)
        if isinstance(number, int) and isinstance(at, int):
            return (number, parts, at)
        self._odd = True
        return ()

    def _only(self, event: dict[str, Any], *names: str) -> None:
        self._odd = self._odd or not event.keys() <= _FRAME | set(names)


def joined(texts: list[str]) -> str | None:
    """Give the whole of a text that came in pieces, halves of surrogate pairs put together; None: a half is left."""
    text = "".join(texts)
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return None


def _at(output: Any, place: _Place) -> Any:
    """Give what stands at a place of the output; `_at` itself where nothing does."""
    value = output
    for step in place:
        if isinstance(step, str):
            value = value.get(step, _at) if isinstance(value, dict) else _at
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return _at
    return value


def _is_begun(early: Any, late: Any) -> bool:
    """Tell whether an item or part, as it began, became this one."""
    if not isinstance(early, dict) or not isinstance(late, dict):
        return False
    return all(_may_begin(name, value) or late.get(name, _at) == value for name, value in early.items())


def _may_begin(name: str, value: Any) -> bool:
    return (name in _GROWING and not isinstance(value, dict | list)) or (
        name in _GROWING | _LISTS and value in ([], "", None)
    )


def _is_within(less: Any, more: Any) -> bool:
    """Tell whether all fields of one value stand in the other; lists may be longer there."""
    match less, more:
        case dict(), dict():
            return all(name in more and _is_within(value, more[name]) for name, value in less.items())
        case list(), list():
            return len(less) <= len(more) and all(map(_is_within, less, more))
        case _:
            return bool(less == more)
