"""What one answer says: between the output items of a response and the message of a chat answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CHAT_FIELD = "semcache_chat"
"""Field of a response that holds what of a chat answer has no word there."""
_KNOWN = frozenset(
    (
        "role",
        "content",
        "refusal",
        "tool_calls",
        "reasoning_content",
        "reasoning",
        "annotations",
        "obfuscation",
    )
)


def plain_rest(value: Mapping[Any, Any], known: frozenset[str]) -> dict[str, Any]:
    """Give the other fields, but for those that say nothing."""
    return {
        name: item for name, item in value.items() if name not in known and item not in (None, "", [], {})
    }


@dataclass(slots=True)
class Said:
    """One answer, in no protocol's order.

    Attributes:
        texts: parts of its text, each with its annotations and log probabilities.
        has_text: whether there is a text at all, if an empty one.
        refusals: what it says instead.
        reasoning: texts of its reasoning; `summaries` those of what was told about it.
        calls: tool calls as chat has them.
        rest: fields of a chat message without a word.
        is_unfinished: some part of it was cut.
    """

    texts: list[str] = field(default_factory=list)
    has_text: bool = False
    refusals: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[Any] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)
    is_unfinished: bool = False

    # -- from a response ------------------------------------------------------------------

    def add(self, item: Any) -> None:
        """Take an output item; those of hosted tools say nothing that chat could.

        Raises:
            ValueError: it has not the protocol's shape.
        """
        if not isinstance(item, dict):
            raise ValueError("an item is no object")
        if item.get("status") not in (None, "completed"):
            self.is_unfinished = True
        match item.get("type"):
            case "message":
                for part in _objects(item.get("content")):
                    self._part(part)
            case "reasoning":
                self.reasoning += [_text(part.get("text")) for part in _objects(item.get("content") or [])]
                self.summaries += [_text(part.get("text")) for part in _objects(item.get("summary") or [])]
            case "function_call":
                function = {"name": _text(item.get("name")), "arguments": _text(item.get("arguments"))}
                self.calls.append(
                    {"id": _text(item.get("call_id")), "type": "function", "function": function}
                )
            case "custom_tool_call":
                custom = {"name": _text(item.get("name")), "input": _text(item.get("input"))}
                self.calls.append({"id": _text(item.get("call_id")), "type": "custom", "custom": custom})

    def message(self) -> dict[str, Any]:
        """Give the chat message."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(self.texts) if self.has_text else None,
        }
        if self.refusals:
            message["refusal"] = "".join(self.refusals)
        if self.reasoning or self.summaries:
            message["reasoning_content"] = "".join(self.reasoning) or "\n\n".join(self.summaries)
        # Places in a text are of one text.
        if self.annotations and len(self.texts) == 1:
            message["annotations"] = [
                {"type": kind, kind: {key: value for key, value in note.items() if key != "type"}}
                for note in self.annotations
                if (kind := note.get("type")) == "url_citation"
            ]
        if self.calls:
            message["tool_calls"] = self.calls
        return message

    def logprobs(self) -> dict[str, Any] | None:
        """Give chat's log probabilities."""
        return {"content": self.tokens, "refusal": None} if self.tokens else None

    def _part(self, part: dict[str, Any]) -> None:
        match part.get("type"):
            case "output_text":
                self.has_text = True
                self.texts.append(_text(part.get("text")))
                self.annotations += _objects(part.get("annotations") or [])
                self.tokens += _objects(part.get("logprobs") or [])
            case "refusal":
                self.refusals.append(_text(part.get("refusal")))

    # -- from a chat answer ---------------------------------------------------------------

    @classmethod
    def of(cls, message: Mapping[str, Any], logprobs: Any) -> Said:
        """Take a chat message with its log probabilities.

        Raises:
            ValueError: it says what a response has no word for.
        """
        said = cls(rest=plain_rest(message, _KNOWN))
        if said.rest.keys() & {"audio", "function_call"}:
            raise ValueError("audio and functions of the older kind have no word")
        said._take_content(message.get("content"))
        if message.get("refusal"):
            said.refusals.append(_text(message["refusal"]))
        said._take_reasoning(message)
        said._take_annotations(_objects(message.get("annotations") or []))
        said.calls = [_checked(call) for call in _objects(message.get("tool_calls") or [])]
        if logprobs:
            logprobs = _objects([logprobs])[0]
            said.tokens = _objects(logprobs.get("content") or [])
            if plain_rest(logprobs, frozenset(("content",))) or (said.tokens and len(said.texts) != 1):
                raise ValueError("these log probabilities have no place")
        return said

    def items(self, cut: str | None) -> list[dict[str, Any]]:
        """Give the output items; `cut` is the status of a message that was cut, None where none was."""
        items: list[dict[str, Any]] = []
        if self.reasoning:
            content = [{"type": "reasoning_text", "text": text} for text in self.reasoning]
            items.append({"type": "reasoning", "summary": [], "content": content})
        parts: list[dict[str, Any]] = [
            {"type": "output_text", "text": text, "annotations": self.annotations, "logprobs": self.tokens}
            for text in self.texts
        ]
        parts += [{"type": "refusal", "refusal": text} for text in self.refusals]
        status = cut or "completed"
        if parts:
            items.append({"type": "message", "role": "assistant", "status": status, "content": parts})
        return items + [call_item(call, status) for call in self.calls]

    def _take_content(self, content: Any) -> None:
        if isinstance(content, str):
            self.has_text = True
            self.texts = [content] if content else []
        elif content:
            for part in _objects(content):
                match part:
                    case {"type": "text", "text": str(text), **rest} if not rest:
                        self.has_text = True
                        self.texts.append(text)
                    case _:
                        raise ValueError("this part of a message has no word")

    def _take_reasoning(self, message: Mapping[str, Any]) -> None:
        named = [message.get(name) for name in ("reasoning_content", "reasoning")]
        texts = list(dict.fromkeys(text for text in named if isinstance(text, str) and text))
        if len(texts) > 1 or any(value and not isinstance(value, str) for value in named):
            raise ValueError("this reasoning has no word")
        self.reasoning = texts

    def _take_annotations(self, notes: list[Any]) -> None:
        for note in notes:
            match note:
                case {"type": "url_citation", "url_citation": dict(cited), **rest} if (
                    not rest and len(self.texts) == 1
                ):
                    self.annotations.append({"type": "url_citation", **cited})
                case _:
                    raise ValueError("this annotation has no word")


def call_item(call: Mapping[str, Any], status: str) -> dict[str, Any]:
    """Give a chat tool call as an output item."""
    kind = call["type"]
    called = call[kind]
    if kind == "custom":
        own = {"type": "custom_tool_call", "call_id": call["id"], "name": called["name"]}
        return {**own, "input": called.get("input", "")}
    own = {"type": "function_call", "call_id": call["id"], "name": called["name"]}
    return {**own, "arguments": called.get("arguments", ""), "status": status}


def _checked(call: Any) -> dict[str, Any]:
    match call:
        case {"id": str(id), "function": {"name": str(name), "arguments": str(given), **rest}, **more} if (
            not rest
        ):
            if (
                not plain_rest(more, frozenset(("type", "index")))
                and more.get("type", "function") == "function"
            ):
                return {"id": id, "type": "function", "function": {"name": name, "arguments": given}}
        case {
            "id": str(id),
            "type": "custom",
            "custom": {"name": str(name), "input": str(given), **rest},
            **more,
        }:
            if not rest and not plain_rest(more, frozenset(("index",))):
                return {"id": id, "type": "custom", "custom": {"name": name, "input": given}}
    raise ValueError("this tool call has no word")


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("a list of objects is none")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is none")
    return value
