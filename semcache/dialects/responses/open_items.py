"""Output items of a response while they grow: each tells its begin, its pieces and its end as events. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from semcache.dialects.chat.merge import CallMerge
from semcache.dialects.responses import events as by
from semcache.dialects.responses.answer import Name, item_name
from semcache.dialects.responses.events import Event, TextKind
from semcache.dialects.responses.saying import call_item


class OpenReasoning:
    """Reasoning: one text."""

    def __init__(self, name: Name, number: int) -> None:
        self._number = number
        self._part: Event = {"type": "reasoning_text", "text": ""}
        self._texts: list[str] = []
        self.is_closed = False
        self.item: Event = {
            "id": item_name(name, "reasoning", number),
            "type": "reasoning",
            "summary": [],
            "content": [],
        }

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(self._texts)

    def add(self, text: str) -> Iterator[Event]:
        """Take a piece."""
        where = by.place(by.REASONING, self.item, self._number, 0)
        if not self._texts:
            yield by.added(self._number, self.item)
            yield by.part_added(by.REASONING, where, self._part)
        self._texts.append(text)
        yield by.delta(by.REASONING, where, text, [])

    def close(self) -> Iterator[Event]:
        """End it, once."""
        if not self.is_closed:
            self.is_closed = True
            self._part["text"] = self.text
            self.item["content"] = [self._part]
            where = by.place(by.REASONING, self.item, self._number, 0)
            yield from by.part_done(by.REASONING, where, self._part)
            yield by.done(self._number, self.item)


class OpenMessage:
    """The message: a text, a refusal, or both."""

    def __init__(self, name: Name, number: int) -> None:
        self._number = number
        self._said: dict[TextKind, list[str]] = {}
        self.annotations: list[Any] = []
        self.item: Event = {"id": item_name(name, "message", number), "type": "message", "role": "assistant"}
        self.item |= {"status": "completed", "content": []}

    def texts(self) -> dict[str, str]:
        """Give what was said, by chat's names."""
        names = {by.OUTPUT: "content", by.REFUSAL: "refusal"}
        return {names[kind]: "".join(texts) for kind, texts in self._said.items()}

    def add(self, kind: TextKind, text: str, tokens: list[Any]) -> Iterator[Event]:
        """Take a piece, with the log probabilities that came with it."""
        if not self._said:
            yield by.added(self._number, self.item)
        if kind not in self._said:
            self._said[kind] = []
            empty: Event = {"annotations": [], "logprobs": []} if kind is by.OUTPUT else {}
            yield by.part_added(kind, self._where(kind), {"type": kind.part, kind.key: "", **empty})
        self._said[kind].append(text)
        yield by.delta(kind, self._where(kind), text, tokens)

    def settle(self, parts: list[Event], status: str) -> None:
        """Say what the parts came to be, and whether they are whole."""
        whole = {part["type"]: part for part in parts}
        self.item["content"] = [whole[kind.part] for kind in self._said]
        self.item["status"] = status

    def close(self) -> Iterator[Event]:
        """End it."""
        for kind, part in zip(self._said, self.item["content"], strict=True):
            for index, note in enumerate(part.get("annotations") or ()):
                yield by.annotation_added(self._where(kind), index, note)
            yield from by.part_done(kind, self._where(kind), part)
        yield by.done(self._number, self.item)

    def _where(self, kind: TextKind) -> Event:
        return by.place(kind, self.item, self._number, list(self._said).index(kind))


class OpenCall:
    """A tool call; it has no `number` among the items before its name and id came."""

    def __init__(self, name: Name) -> None:
        self._name = name
        self._merge = CallMerge()
        self._waiting: list[str] = []
        self._is_told = False
        self.number: int | None = None
        self.status = "completed"

    @property
    def id(self) -> Any:
        """The call's own id, once it came."""
        return self._merge.id

    @property
    def is_named(self) -> bool:
        """True once the item can begin."""
        return isinstance(self.id, str) and isinstance(self._called().get("name"), str)

    @property
    def item(self) -> Event:
        """The item as it stands."""
        item = call_item(self.result(), self.status)
        return {"id": item_name(self._name, item["type"], self.number or 0), **item}

    def result(self) -> dict[str, Any]:
        """Give the call as chat has it."""
        return {
            "type": "function",
            **{name: value for name, value in self._merge.result().items() if value is not None},
        }

    def take(self, part: Mapping[str, Any]) -> None:
        """Take a piece."""
        self._merge.add(dict(part))
        for name, key in (("function", "arguments"), ("custom", "input")):
            text = (part.get(name) or {}).get(key)
            if isinstance(text, str) and text:
                self._waiting.append(text)

    def told(self) -> Iterator[Event]:
        """Give the events of what came, if it has begun."""
        if self.number is None:
            return
        item = self.item
        kind = by.OF_PART[item["type"]]
        if not self._is_told:
            self._is_told = True
            yield by.added(self.number, item)
        for text in self._waiting:
            yield by.delta(kind, by.place(kind, item, self.number, 0), text, [])
        self._waiting.clear()

    def close(self) -> Iterator[Event]:
        """End it."""
        if self.number is not None:
            item = self.item
            kind = by.OF_PART[item["type"]]
            yield by.text_done(kind, by.place(kind, item, self.number, 0), item)
            yield by.done(self.number, item)

    def _called(self) -> dict[str, Any]:
        result = self.result()
        called = result.get(result["type"]) if result["type"] in ("function", "custom") else None
        return called if isinstance(called, dict) else {}
