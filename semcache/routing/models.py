"""Lists of models, in the shapes in which clients read them: OpenAI, Anthropic, Ollama, Gemini. Pure.

An upstream's list and the names from the configuration become one. Entries in the client's own shape stay as they
came; of others only the name is kept. Sources: the types of openai-python, anthropic-sdk-python, ollama-python and
google-genai.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import orjson

_OPENAI = re.compile(r"(?:/v1)?/models(?:/(.+))?")
_GEMINI = re.compile(r"/v1(?:beta|alpha)/models(?:/([^:]+))?")
_METHODS = ["generateContent", "streamGenerateContent"]
"""What any upstream can be asked in Gemini's words; counting tokens only Gemini itself does."""


class Shape(StrEnum):
    """Whose way of listing models."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OLLAMA = "ollama"
    GEMINI = "gemini"


_OWN_HEADERS = (
    (Shape.ANTHROPIC, frozenset((b"anthropic-version",))),
    (Shape.GEMINI, frozenset((b"x-goog-api-key", b"x-goog-api-client"))),
)


def shape_of(path: str, headers: Iterable[tuple[bytes, bytes]]) -> tuple[Shape, str] | None:
    """Say in which shape a GET of this path lists models, and which model it names ("": all of them).

    None: it is no such path. Anthropic and Gemini list on OpenAI's path too; the headers of their clients tell them apart.
    """
    if path == "/api/tags":
        return Shape.OLLAMA, ""
    if match := _GEMINI.fullmatch(path):
        return Shape.GEMINI, match[1] or ""
    if match := _OPENAI.fullmatch(path):
        names = frozenset(name.lower() for name, _ in headers)
        shape = next((shape for shape, own in _OWN_HEADERS if not names.isdisjoint(own)), Shape.OPENAI)
        return shape, match[1] or ""
    return None


def listing(shape: Shape, names: Sequence[str], theirs: bytes | None = None, *, since: int = 0) -> bytes:
    """Give the body of a list: `names` first, then what an upstream lists in whatever shape.

    Args:
        shape: in which the client reads it.
        names: those of the configuration.
        theirs: the body of an upstream's list; None, or one that is no list: there is none.
        since: when the configured names came to be, in Unix seconds.
    """
    document = _document(theirs)
    found = _entries(document)
    own = dict.fromkeys(names)
    entries = [_entry(shape, name, since) for name in own]
    same = _shape(document, found) is shape
    for entry in found:
        name = _name(entry)
        if name and name not in own:
            own[name] = None
            entries.append(dict(entry) if same else _entry(shape, name, _since(entry)))
    return orjson.dumps(_wrapped(shape, entries, document if same else {}))


def one(shape: Shape, name: str, *, since: int = 0) -> bytes:
    """Give the body that describes one configured name."""
    return orjson.dumps(_entry(shape, name, since))


def _entry(shape: Shape, name: str, since: int) -> dict[str, Any]:
    at = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    match shape:
        case Shape.OPENAI:
            return {"id": name, "object": "model", "created": since, "owned_by": "semcache"}
        case Shape.ANTHROPIC:
            return {"type": "model", "id": name, "display_name": name, "created_at": at}
        case Shape.OLLAMA:
            details = {"parent_model": "", "format": "", "family": "", "families": None}
            details |= {"parameter_size": "", "quantization_level": ""}
            return {
                "name": name,
                "model": name,
                "modified_at": at,
                "size": 0,
                "digest": "",
                "details": details,
            }
        case Shape.GEMINI:
            return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": _METHODS}


def _wrapped(shape: Shape, entries: list[dict[str, Any]], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Put entries where the shape has them; what else the upstream said of its list (pages) stays."""
    match shape:
        case Shape.OPENAI:
            return {"object": "list", **theirs, "data": entries}
        case Shape.ANTHROPIC:
            ends = {
                "first_id": entries[0]["id"] if entries else None,
                "last_id": theirs.get("last_id") or (entries[-1]["id"] if entries else None),
            }
            return {"has_more": False, **theirs, **ends, "data": entries}
        case Shape.OLLAMA | Shape.GEMINI:
            return {**theirs, "models": entries}


def _document(body: bytes | None) -> Mapping[str, Any]:
    try:
        read = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _entries(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = document.get("data", document.get("models"))
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _shape(document: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> Shape | None:
    """Recognise whose list it is; an empty one by what stands around it."""
    first = entries[0] if entries else {}
    if "data" in document:
        return Shape.ANTHROPIC if first.get("type") == "model" or "has_more" in document else Shape.OPENAI
    if "models" in document:
        name = first.get("name")
        return Shape.GEMINI if isinstance(name, str) and name.startswith("models/") else Shape.OLLAMA
    return None


def _name(entry: Mapping[str, Any]) -> str:
    name = entry.get("id", entry.get("name"))
    return name.removeprefix("models/") if isinstance(name, str) else ""


def _since(entry: Mapping[str, Any]) -> int:
    created = entry.get("created")
    return created if isinstance(created, int) and 0 <= created < 1 << 40 else 0
