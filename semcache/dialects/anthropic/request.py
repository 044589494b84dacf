"""A request of Anthropic's messages in chat's words.

Pure. Every field that may change the answer ends in the chat body or in `extra`, unknown ones too. What the
messages say beside chat's words (a tool that failed, say) stands in `extra` under `system`, whose own words are in
the chat body. Checks only what the cache itself relies on; all else is the upstream's to judge.
"""

from __future__ import annotations

from typing import Any

from semcache.dialects.anthropic.options import Options
from semcache.dialects.anthropic.turns import Turns
from semcache.dialects.dialect import Translated
from semcache.errors import RequestError

IRRELEVANT = frozenset(
    (
        "stream",
        "metadata",
        "service_tier",
        "speed",
        "cache_control",
        "billing_policy",
        "fallback_credit_token",
    )
)
"""Fields that cannot change an answer: how it is sent, who asks, how fast, marks of the prompt cache, who pays."""
_READ = frozenset(("model", "messages", "system"))
_HARMLESS = frozenset(("diagnostics", "betas", "user_profile_id", "workspace_id", "anthropic_version"))
"""They count, but a model that is asked in chat needs none of them."""
_CREDENTIALS = frozenset((b"key", b"api_key", b"api-key", b"apikey", b"access_token", b"token"))
_CODE = ("code_execution", "bash_code_execution", "text_editor_code_execution")


def read_request(body: dict[str, Any], path: str, query: bytes) -> Translated:
    """Read a request, see `Dialect.read`."""
    _check(body)
    turns, marks = _turns(body)
    options = Options()
    for name, value in sorted(body.items()):
        if value is not None and name not in IRRELEVANT and name not in _READ:
            options.take(name, value)
    kept = _without_credentials(query)
    if kept:
        marks["query"] = kept.decode("latin-1")
    extra = {**options.extra, "system": marks} if marks else options.extra
    chat = {"model": body["model"], "messages": turns.messages, **options.chat}
    user = _user(body)
    if user:
        chat["user"] = user
    stream = bool(body.get("stream"))
    if stream:
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    unsayable = (*turns.unsayable, *(place for place in options.unsayable if place not in _HARMLESS))
    return Translated(
        chat,
        extra,
        unsayable,
        stream,
        include_usage=True,
        path=path,
        uncacheable=_uncacheable(body, turns),
        query=kept,
    )


def _turns(body: dict[str, Any]) -> tuple[Turns, dict[str, Any]]:
    """Read the messages; give what they say beside chat's words too."""
    turns, marks = Turns(), dict[str, Any]()
    turns.add_system(body.get("system"))
    messages = body["messages"]
    if messages[0]["role"] == "system" and not turns.messages:
        # A message, not the field: it may count for less.
        marks["absent"] = True
    try:
        for number, message in enumerate(messages):
            turns.add(message, number)
    except RecursionError:
        raise RequestError("messages: nested too deeply", param="messages") from None
    if messages[-1]["role"] == "assistant":
        # The answer goes on from these words; a chat model would begin anew.
        turns.unsayable.append(f"messages[{len(messages) - 1}]")
    if turns.failed:
        marks["failed"] = turns.failed
    return turns, marks


def _check(body: dict[str, Any]) -> None:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise RequestError("model: must be a non-empty string", param="model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestError("messages: must be a non-empty array", param="messages")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            place = f"messages[{number}].role"
            raise RequestError(f"{place}: must be a string", param=place)
    if not isinstance(body.get("stream"), bool | None):
        raise RequestError("stream: must be true or false", param="stream")


def _user(body: dict[str, Any]) -> str | None:
    metadata = body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    return user if isinstance(user, str) and user else None


def _uncacheable(body: dict[str, Any], turns: Turns) -> str | None:
    """Name what ties the answer to state that the API holds."""
    container, diagnostics = body.get("container"), body.get("diagnostics")
    tools = body.get("tools")
    types = [tool.get("type") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    checks = (
        ("stateful", isinstance(container, str) or _has(container, "id") or body.get("thread") is not None),
        ("stateful", _has(diagnostics, "previous_message_id")),
        ("mcp", bool(body.get("mcp_servers"))),
        ("file-id", turns.names_file),
        # The answer names the container it ran in, which lives for minutes.
        ("container", container is not None or any(str(kind).startswith(_CODE) for kind in types)),
    )
    return next((name for name, found in checks if found), None)


def _has(value: Any, name: str) -> bool:
    return isinstance(value, dict) and value.get(name) is not None


def _without_credentials(query: bytes) -> bytes:
    pairs = (pair for pair in query.split(b"&") if pair)
    return b"&".join(pair for pair in pairs if pair.partition(b"=")[0].lower() not in _CREDENTIALS)
