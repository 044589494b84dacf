"""Where Gemini's requests go: the model and the way of answering stand in the path, the framing of streams in the query. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, unquote_plus

_TARGET = re.compile(
    r"/(v1(?:beta|alpha)?)/(?:models/([^/:]+)|(tunedModels/[^/:]+)):(generateContent|streamGenerateContent)"
)
_CREDENTIALS = frozenset(("key", "access_token", "oauth_token", "bearer_token"))
_OF_THE_CALL = frozenset(("alt", "$alt", "prettyPrint", "$prettyPrint", "quotaUser", "userIp"))
"""Parameters that change no answer."""
DEFAULT_VERSION = "v1beta"


def gemini_target(path: str) -> tuple[str, bool] | None:
    """Give the model that a path asks, and whether the answer is to stream; None for paths that ask no model."""
    found = _TARGET.fullmatch(path)
    if found is None:
        return None
    return unquote(found[2] or found[3]), found[4] == "streamGenerateContent"


def version_of(path: str) -> str:
    """Give the version of the API that a path asks; the default one for paths that ask no model."""
    found = _TARGET.fullmatch(path)
    return DEFAULT_VERSION if found is None else str(found[1])


def with_model(path: str, model: str) -> str:
    """Give the same path for another model. A path that asks no model stays as it is."""
    found = _TARGET.fullmatch(path)
    return path if found is None else path_of(model, stream=found[4] != "generateContent", version=found[1])


def path_of(model: str, *, stream: bool, version: str = DEFAULT_VERSION) -> str:
    """Give the path that asks a model."""
    name = quote(model.removeprefix("models/"), safe="/@.-_~", errors="surrogatepass")
    root = name if name.startswith("tunedModels/") else f"models/{name}"
    return f"/{version}/{root}:{'streamGenerateContent' if stream else 'generateContent'}"


@dataclass(frozen=True, slots=True)
class Query:
    """A query without the client's key.

    Attributes:
        raw: as it may go on.
        alt: the framing that is asked for: "" (the default), `sse`, `json` ...
        rest: parameters that may change the answer, sorted.
    """

    raw: bytes
    alt: str
    rest: tuple[tuple[str, str], ...]


def read_query(query: bytes) -> Query:
    """Read a raw query."""
    kept: list[bytes] = []
    rest: list[tuple[str, str]] = []
    alt = ""
    for part in query.split(b"&"):
        coded, _, value = part.decode("latin-1").partition("=")
        name = unquote_plus(coded)
        if not part or name in _CREDENTIALS:
            continue
        kept.append(part)
        if name in ("alt", "$alt"):
            alt = unquote_plus(value)
        elif name not in _OF_THE_CALL:
            rest.append((name, unquote_plus(value)))
    return Query(b"&".join(kept), alt, tuple(sorted(rest)))


def without_alt(query: bytes) -> bytes:
    """Give a query that leaves the framing to the server."""
    return b"&".join(part for part in query.split(b"&") if part.partition(b"=")[0] not in (b"alt", b"$alt"))


def framing_of(path: str, query: bytes) -> str | None:
    """Give how an answer is framed: `document`, `events` or `array`; None where it is none of these, or no model is asked."""
    target = gemini_target(path)
    if target is None:
        return None
    framings = (
        {"": "array", "json": "array", "sse": "events"} if target[1] else {"": "document", "json": "document"}
    )
    return framings.get(read_query(query).alt)
