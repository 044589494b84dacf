"""All dialects: by name, and by the path under which their clients ask. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from semcache.dialects.anthropic.wire import MESSAGES
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.completions.wire import COMPLETIONS
from semcache.dialects.dialect import Dialect, Family
from semcache.dialects.embeddings.wire import EMBEDDINGS
from semcache.dialects.gemini.wire import GEMINI, gemini_at
from semcache.dialects.ollama.wire import OLLAMA_CHAT, OLLAMA_GENERATE
from semcache.dialects.responses.wire import RESPONSES

ALL: tuple[Dialect, ...] = (
    CHAT,
    COMPLETIONS,
    EMBEDDINGS,
    RESPONSES,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    GEMINI,
)
BY_NAME: Mapping[str, Dialect] = {dialect.name: dialect for dialect in ALL}

BY_FAMILY: Mapping[Family, Dialect] = {
    "openai": CHAT,
    "anthropic": MESSAGES,
    "ollama": OLLAMA_CHAT,
    "gemini": GEMINI,
}
"""In which dialect each API tells its errors."""

_PATHS: Mapping[str, Dialect] = {
    "/v1/chat/completions": CHAT,
    "/chat/completions": CHAT,
    "/v1/completions": COMPLETIONS,
    "/completions": COMPLETIONS,
    "/v1/embeddings": EMBEDDINGS,
    "/embeddings": EMBEDDINGS,
    "/v1/responses": RESPONSES,
    "/responses": RESPONSES,
    "/v1/messages": MESSAGES,
    "/api/chat": OLLAMA_CHAT,
    "/api/generate": OLLAMA_GENERATE,
}

_SHAPES: Mapping[str, Dialect] = {"/v1/messages/": MESSAGES, "/api/": OLLAMA_CHAT}
_GEMINI = re.compile(
    r"/(?:upload/|download/)?v1(?:beta|alpha)/.*"
    r"|/(?:upload|download)/v1/.*"
    r"|/v1/(?:models|tunedModels)/[^/]+:(?:generateContent|streamGenerateContent|countTokens|embedContent"
    r"|batchEmbedContents|batchGenerateContent|asyncBatchEmbedContent|generateAnswer|predict|predictLongRunning)",
    re.DOTALL,
)
"""Paths of Gemini's API. (Names of OpenAI's models have colons too, but none of these verbs behind one.)"""


def dialect_at(path: str, query: bytes = b"") -> Dialect | None:
    """Give the dialect of requests that are posted to a path; None for paths that ask no model for an answer."""
    return _PATHS.get(path) or gemini_at(path, query)


def shape_of(path: str, headers: Mapping[bytes, bytes] | None = None) -> Dialect:
    """Give the dialect in whose shape errors of a path are told: OpenAI's unless the path or its headers are another API's."""
    sent = headers or {}
    if b"anthropic-version" in sent:
        return MESSAGES
    if path.startswith("/v1/models") and (b"x-goog-api-key" in sent or b"x-goog-api-client" in sent):
        return GEMINI
    found = dialect_at(path) or (GEMINI if _GEMINI.fullmatch(path) else None)
    return found or next((own for beginning, own in _SHAPES.items() if path.startswith(beginning)), CHAT)
