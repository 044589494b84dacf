"""In which dialect a logged request, answer or piece of a stream is, told by its address, else by its looks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from semcache.advise.formats.fields import Fields, name_in
from semcache.dialects.anthropic.wire import MESSAGES
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.completions.wire import COMPLETIONS
from semcache.dialects.dialect import Dialect
from semcache.dialects.embeddings.wire import EMBEDDINGS
from semcache.dialects.gemini.wire import GEMINI
from semcache.dialects.ollama.wire import OLLAMA_CHAT, OLLAMA_GENERATE
from semcache.dialects.responses.wire import RESPONSES
from semcache.dialects.table import dialect_at

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "document")
_OF_OLLAMA = ("options", "keep_alive", "think")
_OF_COMPLETIONS = ("max_tokens", "temperature", "top_p", "stop", "logprobs", "echo", "suffix", "best_of", "n")
_OF_EMBEDDINGS = ("encoding_format", "dimensions")
_EVENTS = ("message_start", "message_delta", "message_stop", "ping")


def path_in(value: Fields) -> str:
    """Give the path that a record says its request went to, "" if none."""
    address = name_in(value, "url", "path", "endpoint")
    if not address:
        return ""
    try:
        return urlsplit(address).path.rstrip("/")
    except ValueError:
        return ""


def dialect_of_request(raw: Fields, path: str = "") -> Dialect | None:
    """Give the dialect of a request; None where it holds nothing that could be asked."""
    named = dialect_at(path) if path else None
    if _has(raw, "contents"):
        return GEMINI
    if _has(raw, "messages"):
        if named in (CHAT, MESSAGES, OLLAMA_CHAT):
            return named
        if is_anthropic(raw):
            return MESSAGES
        return OLLAMA_CHAT if _is_ollama(raw) else CHAT
    if _has(raw, "input"):
        return RESPONSES
    if isinstance(raw.get("prompt"), str) and raw["prompt"]:
        if named in (COMPLETIONS, OLLAMA_GENERATE):
            return named
        return OLLAMA_GENERATE if _is_ollama(raw) else COMPLETIONS
    return None


def is_request(raw: Fields) -> bool:
    """Tell a bare request from another record that has a field of the same name: an `input`, or a `prompt`, may be anything."""
    if any(isinstance(raw.get(name), list) for name in ("messages", "conversations", "contents")):
        return True
    given = raw.get("input")
    if isinstance(given, str | list) and given:
        return any(name in raw for name in ("instructions", "model", "previous_response_id"))
    return (
        isinstance(raw.get("prompt"), str)
        and isinstance(raw.get("model"), str)
        and any(name in raw for name in (*_OF_OLLAMA, *_OF_COMPLETIONS))
    )


def is_embedding(raw: Fields, path: str = "") -> bool:
    """Tell a request for vectors, which has its `input` in common with Responses."""
    if "input" not in raw or "messages" in raw:
        return False
    return dialect_at(path) is EMBEDDINGS or any(name in raw for name in _OF_EMBEDDINGS)


def is_anthropic(raw: Fields) -> bool:
    """Tell by what of all with messages only this dialect has."""
    if "system" in raw or "anthropic_version" in raw or "stop_sequences" in raw:
        return True
    tools = raw.get("tools")
    if isinstance(tools, list) and tools and isinstance(tools[0], dict) and "input_schema" in tools[0]:
        return True
    return any(_has_blocks(message) for message in raw["messages"])


def dialect_of_answer(answer: Fields) -> Dialect | None:
    """Give the dialect of a whole answer; None where it is in none that is known."""
    choices = answer.get("choices")
    if isinstance(choices, list):
        first = choices[0] if choices and isinstance(choices[0], dict) else {}
        return COMPLETIONS if "text" in first and "message" not in first else CHAT
    if isinstance(answer.get("candidates"), list):
        return GEMINI
    if isinstance(answer.get("output"), list):
        return RESPONSES
    if isinstance(answer.get("content"), list) and answer.get("role", "assistant") == "assistant":
        return MESSAGES
    if "done" in answer and isinstance(answer.get("message"), dict):
        return OLLAMA_CHAT
    return OLLAMA_GENERATE if "done" in answer and isinstance(answer.get("response"), str) else None


def dialect_of_piece(piece: Any) -> Dialect | None:
    """Give the dialect of a piece of a stream; None where it is none."""
    if not isinstance(piece, dict):
        return None
    kind = piece.get("type")
    if isinstance(kind, str):
        if kind.startswith("response."):
            return RESPONSES
        if kind.startswith("content_block_") or kind in _EVENTS:
            return MESSAGES
    choices = piece.get("choices")
    if isinstance(choices, list):
        first = choices[0] if choices and isinstance(choices[0], dict) else {}
        if "message" in first:
            return None
        return COMPLETIONS if "text" in first else CHAT
    if "candidates" in piece or "usageMetadata" in piece:
        return GEMINI
    if isinstance(piece.get("done"), bool):
        return OLLAMA_CHAT if "message" in piece else OLLAMA_GENERATE
    return None


def _has(raw: Fields, name: str) -> bool:
    return isinstance(raw.get(name), list | str if name == "input" else list) and bool(raw[name])


def _is_ollama(raw: Fields) -> bool:
    return any(name in raw for name in _OF_OLLAMA)


def _has_blocks(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return False
    return any(isinstance(part, dict) and _is_block(part) for part in content)


def _is_block(part: Mapping[str, Any]) -> bool:
    return part.get("type") in _BLOCKS or (part.get("type") == "image" and "source" in part)
