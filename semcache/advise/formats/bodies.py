"""Requests of every dialect as bodies of chat requests: OpenAI's chat, completions and responses, Anthropic's messages. Pure.

Order and texts stay as they are: what a prompt begins with is what is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semcache.advise.formats.anthropic import from_anthropic, is_anthropic
from semcache.advise.formats.fields import Fields
from semcache.advise.formats.responses import from_responses
from semcache.advise.rows import NO_MODEL

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant", "gpt": "assistant"}
_OWN = ("cache", "cache_control")

Body = dict[str, Any]

NO_MESSAGES = "holds no messages"
ODD_MESSAGE = "has a message that is no object with a role"
ONLY_ANSWERS = "holds only what an assistant said"


def body_of(raw: Fields) -> Body | str:
    """Give the chat body of a request, or why there is none."""
    if isinstance(raw.get("messages"), list) and raw["messages"]:
        body = from_anthropic(raw) if is_anthropic(raw) else dict(raw)
    elif isinstance(raw.get("conversations"), list) and raw["conversations"]:
        turns = [_told(turn) for turn in raw["conversations"]]
        body = {"model": raw.get("model"), "messages": turns}
    elif isinstance(raw.get("input"), str | list) and raw["input"]:
        body = from_responses(raw)
    elif isinstance(raw.get("prompt"), str) and raw["prompt"]:
        body = {name: value for name, value in raw.items() if name not in ("prompt", "suffix")}
        body["messages"] = [{"role": "user", "content": raw["prompt"]}]
    else:
        return NO_MESSAGES
    return _checked(body)


def question(text: str) -> Body:
    """Give the body of a bare question."""
    return {"model": NO_MODEL, "messages": [{"role": "user", "content": text}]}


def without_answer(body: Body) -> tuple[Body, Mapping[str, Any] | None]:
    """Take the answer off a conversation that ends with one, as files for fine-tuning do."""
    messages = body["messages"]
    if len(messages) < 2 or messages[-1]["role"] != "assistant":
        return body, None
    return {**body, "messages": messages[:-1]}, messages[-1]


def _checked(body: Body) -> Body | str:
    messages: list[Any] = []
    for message in body["messages"]:
        if not isinstance(message, dict) or not isinstance(message.get("role", message.get("type")), str):
            return ODD_MESSAGE
        messages.append(_with_role(message))
    if not messages:
        return NO_MESSAGES
    if all(message["role"] == "assistant" for message in messages):
        return ONLY_ANSWERS
    for name in _OWN:
        body.pop(name, None)
    model = body.get("model")
    body["model"] = model if isinstance(model, str) and model else NO_MODEL
    if body.get("stream") is not None and not isinstance(body["stream"], bool):
        del body["stream"]
    body["messages"] = messages
    return body


def _with_role(message: Mapping[str, Any]) -> Mapping[str, Any]:
    role = message.get("role", message.get("type"))
    known = _ROLES.get(str(role).lower(), role)
    return message if known == message.get("role") else {**message, "role": known}


def _told(turn: Any) -> Any:
    """Read a turn of the form `from`, `value`."""
    if isinstance(turn, dict) and "from" in turn:
        return {"role": turn["from"], "content": turn.get("value")}
    return turn
