"""Where an API begins: what may stand in a `base_url`, with the right one in the refusal. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from semcache.dialects.dialect import Family

_ENDPOINTS = (
    "/chat/completions",
    "/completions",
    "/responses",
    "/embeddings",
    "/messages",
    "/api/chat",
    "/api/generate",
    "/api/tags",
    "/models",
)
"""Where requests go: people copy them from a page that shows one."""
_GOOGLE = "generativelanguage.googleapis.com"


def checked(url: str, family: Family) -> str:
    """Give a base URL without slashes at its end.

    Raises:
        ValueError: says what to write instead.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        begun = "" if "://" in url or not url else f", maybe https://{url}"
        raise ValueError(f"must be an http(s) URL such as https://api.openai.com/v1{begun}")
    if parts.username or parts.query or parts.fragment:
        raise ValueError("must hold no credentials, query or fragment; use api_key")
    if parts.port == 0:
        raise ValueError("must name a port that can be reached")
    url = url.rstrip("/")
    base = _without_endpoint(url, family)
    if base != url:
        raise ValueError(f"is where requests go; the API begins at {base}")
    if parts.hostname == _GOOGLE and parts.path.rstrip("/").endswith("/openai"):
        raise ValueError(f"must be https://{_GOOGLE}: chats of other clients are put into its words")
    if family == "openai" and not url.endswith("/v1"):
        message = f"must end in /v1, maybe {url}/v1 (or name its protocol: anthropic, ollama or gemini)"
        raise ValueError(message)
    return url


def _without_endpoint(url: str, family: Family) -> str:
    base = next((url.removesuffix(end) for end in _ENDPOINTS if url.endswith(end)), url)
    if family == "ollama":
        base = base.removesuffix("/api")
    return base
