"""What a path asks for: in which dialect, and whether any upstream of a kind could answer it. Pure.

A path that names something an upstream keeps (files, batches, stored responses, fine-tunes) has an answer at that
one alone. Sources: the API references of OpenAI, Anthropic, Ollama and Gemini.
"""

from __future__ import annotations

_DIALECTS = {
    "/chat/completions": "openai.chat",
    "/completions": "openai.completions",
    "/responses": "openai.responses",
    "/embeddings": "openai.embeddings",
    "/messages": "anthropic.messages",
    "/messages/count_tokens": "anthropic.messages",
}
_OLLAMA = {"/api/chat": "ollama.chat", "/api/generate": "ollama.generate"}
_GEMINI_VERBS = (":generateContent", ":streamGenerateContent", ":countTokens")
_STATELESS = frozenset(
    {
        "/audio/speech",
        "/audio/transcriptions",
        "/audio/translations",
        "/images/generations",
        "/moderations",
        "/rerank",
        "/score",
        "/tokenize",
        "/detokenize",
        "/api/embed",
        "/api/embeddings",
    }
)


def dialect_of(path: str) -> str | None:
    """Give the dialect of what a POST of this path asks; None: of none that is known here."""
    if path in _OLLAMA:
        return _OLLAMA[path]
    if path.startswith("/v1") and path.endswith(_GEMINI_VERBS):
        return "gemini.generate"
    return _DIALECTS.get(path.removeprefix("/v1"))


def is_anywhere(method: str, path: str) -> bool:
    """True where one upstream of a route can answer as well as another."""
    if method != "POST":
        return False
    return dialect_of(path) is not None or path.removeprefix("/v1") in _STATELESS
