"""Requests of every dialect as bodies of chat requests, by the very translators that the proxy has. Pure.

Logs are sloppier than requests: a model is missing, roles have other names. What the dialects would refuse for that is put
right first. Order and texts stay as they are: what a prompt begins with is what is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from semcache.advise.formats.fields import Fields
from semcache.advise.formats.looks import dialect_of_request, is_embedding
from semcache.advise.rows import NO_MODEL, NOTHING, Beside
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect
from semcache.dialects.gemini.target import gemini_target, path_of
from semcache.dialects.gemini.wire import GEMINI
from semcache.dialects.responses.wire import RESPONSES
from semcache.errors import RequestError

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant", "gpt": "assistant"}
_OWN = ("cache", "cache_control")

Body = dict[str, Any]

NO_MESSAGES = "holds no messages"
ODD_MESSAGE = "has a message that is no object with a role"
ONLY_ANSWERS = "holds only what an assistant said"
EMBEDDED = "asks for vectors, not for an answer"
ODD_REQUEST = "is a request with a field of another kind than its API has"


@dataclass(frozen=True, slots=True)
class Request:
    """A request that was read: whose API it was, its chat body, and what counts beside that."""

    source: str
    body: Body
    beside: Beside = NOTHING


def request_of(raw: Fields, path: str = "") -> Request | str:
    """Read a request, or say why it is none.

    Args:
        raw: the request in whatever dialect.
        path: where it went to, "" if the log does not say.
    """
    if isinstance(raw.get("conversations"), list) and raw["conversations"] and not raw.get("messages"):
        turns = [_told(turn) for turn in raw["conversations"]]
        raw = {"model": raw.get("model"), "messages": turns}
    if is_embedding(raw, path):
        return EMBEDDED
    dialect = dialect_of_request(raw, path)
    if dialect is None:
        return NO_MESSAGES
    body = _tidied(raw, dialect)
    if isinstance(body, str):
        return body
    if dialect is CHAT:
        return _checked(Request("openai", body))
    return _translated(dialect, body, path)


def question(text: str) -> Body:
    """Give the body of a bare question."""
    return {"model": NO_MODEL, "messages": [{"role": "user", "content": text}]}


def without_answer(body: Body) -> tuple[Body, Mapping[str, Any] | None]:
    """Take the answer off a conversation that ends with one, as files for fine-tuning do."""
    messages = body["messages"]
    if len(messages) < 2 or messages[-1]["role"] != "assistant":
        return body, None
    return {**body, "messages": messages[:-1]}, messages[-1]


def _translated(dialect: Dialect, body: Body, path: str) -> Request | str:
    model = body["model"]
    if dialect is GEMINI:
        target = gemini_target(path)
        path = path_of(model, stream=False) if target is None else path
        body.pop("model")
    try:
        told = dialect.read(body, path, b"")
    except (RequestError, RecursionError):
        return ODD_REQUEST
    beside = NOTHING
    if told.unsayable or told.exact_only:
        # What chat can say is asked in chat: then only that counts, and an upstream keeps nothing.
        closed = told.uncacheable if told.unsayable else None
        beside = Beside(told.extra if told.unsayable else {}, told.exact_only, closed)
    source = "responses" if dialect is RESPONSES else dialect.family
    return _checked(Request(source, told.chat, beside))


def _tidied(raw: Fields, dialect: Dialect) -> Body | str:
    """Give the request without what a log wrote into it, and with what each one has.

    Returns:
        The reason, where one of its messages is none.
    """
    body = {name: value for name, value in raw.items() if name not in _OWN}
    model = body.get("model")
    body["model"] = model if isinstance(model, str) and model else NO_MODEL
    if body.get("stream") is not None and not isinstance(body["stream"], bool):
        del body["stream"]
    for name in ("messages", "input"):
        if isinstance(body.get(name), list):
            turns = [_turn(turn, dialect) for turn in body[name]]
            if None in turns:
                return ODD_MESSAGE
            body[name] = turns
    return body


def _turn(turn: Any, dialect: Dialect) -> Any:
    if dialect is RESPONSES:
        if isinstance(turn, str):
            return {"role": "user", "content": turn}
        return (_with_role(turn) if "role" in turn else turn) if isinstance(turn, dict) else None
    if not isinstance(turn, dict) or not isinstance(turn.get("role", turn.get("type")), str):
        return None
    return _with_role(turn)


def _checked(request: Request) -> Request | str:
    messages = request.body["messages"]
    if not messages:
        return NO_MESSAGES
    return ONLY_ANSWERS if all(message["role"] == "assistant" for message in messages) else request


def _with_role(message: Mapping[str, Any]) -> Mapping[str, Any]:
    role = message.get("role", message.get("type"))
    known = _ROLES.get(str(role).lower(), role)
    return message if known == message.get("role") else {**message, "role": known}


def _told(turn: Any) -> Any:
    """Read a turn of the form `from`, `value`."""
    if isinstance(turn, dict) and "from" in turn:
        return {"role": turn["from"], "content": turn.get("value")}
    return turn
