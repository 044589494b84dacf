"""An ask as bytes of its dialect, and what a reply of that dialect says. Pure.

An answer's text is made from its stamp, so that the whole of it can be checked: two answers mixed, or one cut short, are no
text of any stamp.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.trust.isolation.corpus import REPLY, TOPICS
from tests.trust.isolation.world import Ask

NAME = "x-trust-ask"
"""Header by which the upstream learns for which ask it works; no part of what a request is known by."""
_STAMP = re.compile(r"<([a-z]\d+\.\d+)>")


def text_of(stamp: str) -> str:
    """Give the whole answer under a stamp."""
    return f"<{stamp}> First open the box, then follow the picture on the lid, and close it again. </{stamp}>"


def stamp_in(text: str) -> str:
    """Give the stamp of a whole answer; "" for any other text."""
    found = _STAMP.match(text)
    return found[1] if found and text == text_of(found[1]) else ""


@dataclass(frozen=True, slots=True)
class Written:
    """A request ready to be sent."""

    path: str
    headers: dict[str, str]
    body: bytes


def written(ask: Ask) -> Written:
    """Write an ask in its dialect."""
    path, body = {"chat": _chat, "anthropic": _anthropic, "ollama": _ollama, "responses": _responses}[
        ask.dialect
    ](ask)
    return Written(path, _headers(ask), json.dumps(body).encode())


def _headers(ask: Ask) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "authorization": f"Bearer {ask.key}",
        NAME: str(ask.number),
    }
    control = ", ".join(word for word, on in (("no-store", ask.no_store), ("no-cache", ask.no_cache)) if on)
    ours = (
        ("cache-control", control),
        ("semcache-namespace", ask.namespace),
        ("semcache-user", ask.user if ask.user_by == "header" else ""),
        ("semcache-tags", ", ".join(ask.tags)),
        ("accept-language", ask.language),
    )
    return headers | {name: value for name, value in ours if value}


def messages_of(ask: Ask, *, system: bool = True) -> list[dict[str, Any]]:
    """Give the conversation in chat's words."""
    out = [{"role": "system", "content": ask.system}] if system and ask.system else []
    if ask.topic:
        out += [{"role": "user", "content": TOPICS[ask.topic]}, {"role": "assistant", "content": REPLY}]
    return [*out, {"role": "user", "content": ask.text}]


def _chat(ask: Ask) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": ask.model, "messages": messages_of(ask), "stream": ask.stream}
    if ask.tools:
        parameters = {"type": "object", "properties": {"q": {"type": "string"}}}
        function = {"name": ask.tools, "description": "Finds things.", "parameters": parameters}
        body["tools"] = [{"type": "function", "function": function}]
    body |= _limits(ask, "max_tokens")
    body |= {"user": ask.user} if ask.user and ask.user_by == "field" else {}
    body |= {"x_side": ask.extra} if ask.extra else {}
    if ask.number % 7 == 0:
        body["metadata"] = {"trace": str(ask.number)}
    return "/v1/chat/completions", body


def _anthropic(ask: Ask) -> tuple[str, dict[str, Any]]:
    body = {"model": ask.model, "messages": messages_of(ask, system=False), "stream": ask.stream}
    body |= {"system": ask.system} if ask.system else {}
    body |= {"metadata": {"user_id": ask.user}} if ask.user and ask.user_by == "field" else {}
    return "/v1/messages", body | _limits(ask, "max_tokens")


def _ollama(ask: Ask) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": ask.model, "messages": messages_of(ask), "stream": ask.stream}
    options = _limits(ask, "num_predict")
    # The protocol has no field for an end user.
    return "/api/chat", body | ({"options": options} if options else {})


def _responses(ask: Ask) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": ask.model, "store": False, "stream": ask.stream}
    body["input"] = messages_of(ask, system=False)
    body |= {"instructions": ask.system} if ask.system else {}
    body |= {"user": ask.user} if ask.user and ask.user_by == "field" else {}
    return "/v1/responses", body | _limits(ask, "max_output_tokens")


def _limits(ask: Ask, name: str) -> dict[str, Any]:
    pairs = (("temperature", ask.temperature), (name, ask.max_tokens))
    return {name: value for name, value in pairs if value is not None}


def told(dialect: str, body: bytes, *, stream: bool) -> str:
    """Give the text of a reply; "" when it has none, or does not come to its protocol's end."""
    try:
        return _streamed(dialect, body) if stream else _whole(dialect, json.loads(body))
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


def _whole(dialect: str, document: Any) -> str:
    match dialect:
        case "chat":
            return str(document["choices"][0]["message"]["content"])
        case "anthropic":
            return "".join(part["text"] for part in document["content"])
        case "ollama":
            return str(document["message"]["content"])
        case _:
            return "".join(part["text"] for item in document["output"] for part in item.get("content") or ())


def _streamed(dialect: str, body: bytes) -> str:
    lines = body.decode().split("\n")
    events = [line.removeprefix("data: ") for line in lines if line.startswith(("data: ", "{"))]
    ended = "[DONE]" in events
    values = [json.loads(event) for event in events if event != "[DONE]"]
    match dialect:
        case "chat":
            texts = [one["choices"][0]["delta"].get("content") or "" for one in values if one["choices"]]
        case "anthropic":
            texts = [one["delta"]["text"] for one in values if one["type"] == "content_block_delta"]
            ended = values[-1]["type"] == "message_stop"
        case "ollama":
            texts, ended = [one["message"]["content"] for one in values], values[-1]["done"] is True
        case _:
            texts = [one["delta"] for one in values if one["type"] == "response.output_text.delta"]
            ended = values[-1]["type"] == "response.completed"
    return "".join(texts) if ended else ""
