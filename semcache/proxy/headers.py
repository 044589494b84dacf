"""Which headers cross the proxy, and which it adds.

Requests lose hop-by-hop headers, what we set ourselves, cookies, and everything that is ours;
the rest goes on, unknown vendor headers included. Replies lose hop-by-hop headers, cookies and
what would describe another body than the one we send. Rate-limit and id headers of the upstream
pass on a miss and are never stored. Source: RFC 9110 section 7.6.1, RFC 9211.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs

from semcache.dialects.dialect import Dialect

Pair = tuple[bytes, bytes]

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
    }
)
_DROP_REQUEST = _HOP_BY_HOP | {
    b"host",
    b"content-length",
    b"accept-encoding",
    b"cookie",
    b"expect",
    b"forwarded",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"x-forwarded-port",
    b"x-real-ip",
    b"cache-control",
}
_CREDENTIALS = frozenset({b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key"})
_KEYS = (b"x-api-key", b"api-key", b"x-goog-api-key")
_DROP_REPLY = _HOP_BY_HOP | {
    b"set-cookie",
    b"server",
    b"date",
    b"alt-svc",
    b"cache-control",
    b"expires",
    b"age",
    b"etag",
    b"cache-status",
}
_ANSWER_CHANGING = frozenset({b"openai-beta", b"anthropic-beta", b"anthropic-version"})
_OURS = b"semcache-"
_NO_NAME = re.compile(rb"\A\Z|[^!#$%&'*+\-.^_`|~0-9a-z]")
_NO_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class RequestHeaders:
    """One pass over the request headers, keeping what the proxy itself needs.

    `ours` holds `cache-control` and `semcache-*`; `forward` what goes upstream without any
    credential; `answer_changing` what enters the namespace, as sorted text pairs.
    """

    authorization: str | None
    api_key: str | None
    content_length: bytes | None
    content_encoding: bytes | None
    upstream: str
    ours: dict[bytes, bytes]
    forward: tuple[Pair, ...]
    answer_changing: tuple[tuple[str, str], ...]


def read_request_headers(raw: Iterable[Pair], key: bytes | None = None) -> RequestHeaders:
    """Sort the request headers (names in lower case, as ASGI gives them); `key` is one that stood elsewhere."""
    ours: dict[bytes, bytes] = {}
    seen: dict[bytes, bytes] = {}
    forward: list[Pair] = []
    changing: list[tuple[str, str]] = []
    pairs = list(raw)
    named = _named_by_connection(pairs)
    for name, value in pairs:
        if name.startswith(_OURS) or name == b"cache-control":
            ours[name] = ours[name] + b"," + value if name in ours else value
            continue
        if name in _DROP_REQUEST or name in named:
            seen[name] = value
            continue
        if name in _CREDENTIALS or name == b"content-encoding":
            seen[name] = value
            continue
        if name in _ANSWER_CHANGING:
            changing.append((name.decode("latin-1"), value.decode("latin-1")))
        elif name == b"accept-language":
            changing.append(("accept-language", _primary_language(value)))
        forward.append((name, value))
    return RequestHeaders(
        authorization=_text(seen.get(b"authorization")),
        api_key=_text(next((seen[name] for name in _KEYS if seen.get(name)), key)),
        content_length=seen.get(b"content-length"),
        content_encoding=seen.get(b"content-encoding"),
        upstream=(_text(ours.get(b"semcache-upstream")) or "").strip(),
        ours=ours,
        forward=tuple(forward),
        answer_changing=tuple(sorted(changing)),
    )


def _named_by_connection(pairs: Sequence[Pair]) -> frozenset[bytes]:
    """Names that the Connection header declares hop-by-hop."""
    for name, value in pairs:
        if name == b"connection" and value.lower() not in (b"keep-alive", b"close"):
            return frozenset(part.strip().lower() for part in value.split(b","))
    return frozenset()


def _primary_language(value: bytes) -> str:
    return value.split(b",")[0].split(b";")[0].split(b"-")[0].strip().lower().decode("latin-1")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def key_in(query: bytes, dialect: Dialect) -> bytes | None:
    """Give the key that a client of this dialect may have put into its query."""
    if dialect.family != "gemini" or b"=" not in query:
        return None
    found = parse_qs(query.decode("latin-1")).get("key")
    return found[0].encode("utf-8") if found else None


def reply_headers(raw: Iterable[Pair], *, counted: bool) -> list[Pair]:
    """Give the upstream's reply headers that may reach the client.

    `counted` says that the body goes on byte for byte, so that its length still holds. Its
    encoding stays whatever the flight left there: none, if it was decoded on the way.
    """
    gone = frozenset() if counted else {b"content-length"}
    out: list[Pair] = []
    for name, value in raw:
        low = name.lower()
        if low in _DROP_REPLY or low in gone or low.startswith((b"access-control-", _OURS)):
            continue
        if _NO_NAME.search(low) or _NO_VALUE.search(value):
            # What no server may send on: the reply would end there.
            continue
        out.append((low, value))
    return out


def is_event_stream(raw: Iterable[Pair]) -> bool:
    """True when the content type is that of server-sent events."""
    for name, value in raw:
        if name.lower() == b"content-type":
            return value.split(b";")[0].strip().lower() == b"text/event-stream"
    return False
