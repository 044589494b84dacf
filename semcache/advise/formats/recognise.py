"""Whose record is this, and what rows does it make? Told by its fields, record by record, so that files may be mixed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from semcache.advise.formats.exchange import read_body, read_exchange
from semcache.advise.formats.fields import Fields, object_in
from semcache.advise.formats.langfuse import read_langfuse
from semcache.advise.formats.litellm import read_litellm
from semcache.advise.formats.plain import read_question, read_text
from semcache.advise.rows import LogRow

Read = tuple[str, LogRow | str]
"""Whose record, and its row, or why it has none."""

UNKNOWN = "has no field in which a request is known to stand"
NOT_A_RECORD = "is neither an object nor a text"
LEDGER = "is a row of semcache's own ledger, which holds no prompts: `semcache report cost` reads those"

Reader = Callable[[Fields], Read | None]


def read_ledger(value: Fields) -> Read | None:
    """Tell rows of our own ledger: they count money, and hold no prompt to compare."""
    ours = "outcome" in value and "tenant" in value and "messages" not in value and "request" not in value
    return ("semcache", LEDGER) if ours else None


SOURCES: Mapping[str, tuple[Reader, ...]] = {
    "openai": (read_exchange, read_body),
    "anthropic": (read_exchange, read_body),
    "responses": (read_exchange, read_body),
    "ollama": (read_exchange, read_body),
    "gemini": (read_exchange, read_body),
    "litellm": (read_litellm,),
    "langfuse": (read_langfuse,),
    "prompts": (read_question,),
}
_ALL: tuple[Reader, ...] = (
    read_ledger,
    read_litellm,
    read_langfuse,
    read_exchange,
    read_body,
    read_question,
)
_WRAPPERS = ("data", "observations", "rows", "logs", "items", "results", "records", "generations")
_OF_THE_TRACE = ("userId", "sessionId", "user_id", "session_id", "environment")


def rows_of(value: Any, source: str = "") -> Iterator[Read]:
    """Give what a record holds: one row as a rule, several where it wraps a list of records.

    Args:
        value: parsed JSON, or the text of a line.
        source: a name of `SOURCES` to read it as, whatever it looks like; "": by its looks.
    """
    if isinstance(value, str):
        yield "prompts", read_text(value)
    elif is_conversation(value):
        yield _one({"messages": value}, source)
    elif isinstance(value, dict):
        wrapped = next((value[name] for name in _WRAPPERS if _is_list(value.get(name))), None)
        if wrapped is None or "messages" in value:
            yield _one(value, source)
        else:
            shared = _shared(value)
            for item in wrapped:
                yield _one({**shared, **item}, source)
    else:
        yield source, NOT_A_RECORD


def _one(value: Fields, source: str) -> Read:
    for reader in SOURCES.get(source, _ALL):
        found = reader(value)
        if found is not None:
            return found
    return source, UNKNOWN


def is_conversation(value: Any) -> bool:
    """Tell a list of messages from a list of records."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, dict) and "role" in item and "content" in item for item in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _shared(value: Fields) -> dict[str, Any]:
    """What a trace says of all its observations."""
    trace = object_in(value, "trace") or value
    return {name: trace[name] for name in _OF_THE_TRACE if trace.get(name) is not None}
