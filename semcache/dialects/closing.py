"""What in a request closes the cache to it, or the search by meaning: one row a feature. Pure.

Where the chat body shows a feature the row says how it is seen; the others are named by dialects that have them. Order
matters: the first that is there is named. `decide.tiers` holds these rows beside what policies and texts close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from semcache.core import JsonObject


class Closes(StrEnum):
    """What a feature closes."""

    CACHE = "cache"
    """Forwarded only: neither looked up nor stored."""
    MEANING = "meaning"
    """Found again by equal requests only."""


def _never(body: JsonObject) -> bool:
    del body
    return False


@dataclass(frozen=True, slots=True)
class Feature:
    """One row.

    Attributes:
        name: as in `ChatRequest.exact_only` and `ChatRequest.uncacheable`.
        closes: what.
        what: it is, for the docs.
        holds: tells whether a chat body has it.
        fields: of the body, without all of which it cannot be there; none: it may stand in the messages.
    """

    name: str
    closes: Closes
    what: str
    holds: Callable[[JsonObject], bool] = _never
    fields: frozenset[str] = frozenset()


EMBEDDING, WEB_SEARCH = "embedding", "web-search"
_STATEFUL = ("previous_response_id", "conversation", "container")
_SEARCHES = ("web_search_options", "search_parameters", "enable_search", "plugins")
_SEARCHING = ("web_search", "google_search", "browser_search", "x_search")


def searches_web(body: JsonObject) -> bool:
    """True when the model may look something up on the web before it answers."""
    if any(body.get(name) for name in _SEARCHES):
        return True
    tools = body.get("tools")
    return isinstance(tools, list) and any(_is_search(tool) for tool in tools if isinstance(tool, dict))


def last_text(message: Mapping[str, Any]) -> str | None:
    """Give the text of a user's message; None when it is something else, or more than a text."""
    if message["role"] != "user":
        return None
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts = [text_part(part) for part in content]
    known = [text for text in texts if text is not None]
    return "\n".join(known) if len(known) == len(texts) else None


def text_part(part: Any) -> str | None:
    """Give the text of a part of a message; None when it is another thing."""
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    return None


def _is_search(tool: Mapping[str, Any]) -> bool:
    kind = tool.get("type")
    return any(name in tool for name in _SEARCHING) or (isinstance(kind, str) and kind.startswith(_SEARCHING))


def _is_stateful(body: JsonObject) -> bool:
    return any(body.get(name) is not None for name in _STATEFUL) or bool(body.get("background"))


def _names_sound(body: JsonObject) -> bool:
    """A spoken answer of an earlier turn is named, not sent: the upstream keeps it for an hour."""
    return any("audio" in one and isinstance(one["audio"], dict) for one in body["messages"])


def _names_file(body: JsonObject) -> bool:
    return any(
        _holds_id(part, 2)
        for message in body["messages"]
        if isinstance(message.get("content"), list)
        for part in message["content"]
    )


def _holds_id(value: Any, depth: int) -> bool:
    if not isinstance(value, dict):
        return False
    return value.get("file_id") is not None or (
        depth > 1 and any(_holds_id(item, depth - 1) for item in value.values())
    )


def _parts(message: Mapping[str, Any]) -> Iterator[Any]:
    content = message.get("content")
    yield from content if isinstance(content, list) else ()


def _several(body: JsonObject) -> bool:
    n = body.get("n")
    return n is not None and (n != 1 or isinstance(n, bool))


def _scores(body: JsonObject) -> bool:
    # Log probabilities of the prompt may be asked for as 0: of the tokens alone.
    asked = body.get("prompt_logprobs")
    return bool(body.get("logprobs") or body.get("top_logprobs")) or not (asked is None or asked is False)


def _sounds(body: JsonObject) -> bool:
    modalities = body.get("modalities")
    return body.get("audio") is not None or modalities not in (None, [], ["text"])


def _media(body: JsonObject) -> bool:
    last = body["messages"][-1]
    return last["role"] == "user" and any(text_part(part) is None for part in _parts(last))


def _no_text(body: JsonObject) -> bool:
    return last_text(body["messages"][-1]) is None


def _blank(body: JsonObject) -> bool:
    text = last_text(body["messages"][-1])
    return text is not None and (not text or text.isspace())


_CACHE, _MEANING = Closes.CACHE, Closes.MEANING
FEATURES: tuple[Feature, ...] = (
    Feature(
        "stateful",
        _CACHE,
        "`previous_response_id`, `conversation`, `container`, `background`; Responses without `store: false` or with items that are only named; "
        "Ollama's `context`",
        _is_stateful,
        frozenset((*_STATEFUL, "background")),
    ),
    Feature("audio-id", _CACHE, "a spoken answer of an earlier turn, named by its id", _names_sound),
    Feature("file-id", _CACHE, "a file named by its id, in any message", _names_file),
    Feature(
        "container", _CACHE, "Anthropic's code execution: the answer names a container that lives for minutes"
    ),
    Feature("mcp", _CACHE, "MCP servers that Anthropic or Gemini ask: what their tools say is state"),
    Feature("load", _CACHE, "Ollama: an empty prompt, which loads or unloads a model"),
    Feature("prompts", _CACHE, "text completions: several prompts, or token ids"),
    Feature("echo", _CACHE, "text completions: `echo`"),
    Feature("suffix", _CACHE, "text completions: `suffix`"),
    Feature("best-of", _CACHE, "text completions: `best_of` above 1"),
    Feature(EMBEDDING, _MEANING, "embeddings: two texts of one meaning have two vectors"),
    Feature("raw", _MEANING, "Ollama's `raw`: the prompt is no question in a template"),
    Feature("template", _MEANING, "Ollama's `template`"),
    Feature("suffix", _MEANING, "Ollama's `suffix`: a gap to be filled"),
    Feature(
        "tools",
        _MEANING,
        "`tools` or `functions` that a model may call",
        lambda body: bool(body.get("tools") or body.get("functions")),
        frozenset(("tools", "functions")),
    ),
    Feature(
        WEB_SEARCH,
        _MEANING,
        "the model looks things up on the web: `web_search_options`, `search_parameters`, `enable_search`, `plugins`",
        searches_web,
        frozenset(_SEARCHES),
    ),
    Feature("n", _MEANING, "`n` other than 1: answers that shall differ", _several, frozenset(("n",))),
    Feature(
        "seed",
        _MEANING,
        "`seed`: an answer to be had again",
        lambda body: body.get("seed") is not None,
        frozenset(("seed",)),
    ),
    Feature(
        "logprobs",
        _MEANING,
        "`logprobs`, `top_logprobs`, `prompt_logprobs`",
        _scores,
        frozenset(("logprobs", "top_logprobs", "prompt_logprobs")),
    ),
    Feature(
        "prediction",
        _MEANING,
        "`prediction`: the answer is mostly given already",
        lambda body: body.get("prediction") is not None,
        frozenset(("prediction",)),
    ),
    Feature(
        "audio",
        _MEANING,
        "`audio`, or `modalities` other than text: an answer that is not only text",
        _sounds,
        frozenset(("audio", "modalities")),
    ),
    Feature("media", _MEANING, "a picture, sound or file in the last message", _media),
    Feature(
        "not-user-text",
        _MEANING,
        "the last message is no user's: a tool's result, the beginning of the answer",
        _no_text,
    ),
    Feature("empty-text", _MEANING, "the last message is blank", _blank),
)
_SEEN = {
    closes: tuple(
        (row.name, row.holds, row.fields)
        for row in FEATURES
        if row.closes is closes and row.holds is not _never
    )
    for closes in Closes
}
_FIELDS = frozenset().union(*(row.fields for row in FEATURES))


def closing(body: JsonObject, closes: Closes) -> str | None:
    """Name the first feature of a chat body that closes this much, or None.

    Args:
        body: with `messages` of objects that have a role.
        closes: what.
    """
    # This is on the way of every hit: most bodies have none of the fields.
    present = body.keys() & _FIELDS
    for name, holds, fields in _SEEN[closes]:
        if (not fields or (present and not present.isdisjoint(fields))) and holds(body):
            return name
    return None
