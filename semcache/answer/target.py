"""Where a call goes: the upstream's base URL joined with a path, byte for byte.

Pure. Does not decide which upstream; does not resolve names.
"""

from __future__ import annotations

import re

from semcache.errors import PolicyError, RequestError

_ORIGIN_FORM = re.compile(r"/[!-\"$-~]*")
"""Visible ASCII without `#`: what may stand in a request line."""
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?=[/;?]|$)", re.IGNORECASE)
_BASE = re.compile(r"(https?)://([^/?#\s@]+)((?:/[!-\"$-~]*)?)")
_UNIX = re.compile(r"unix:(?://)?(/[^#?]+)")


def parse_base(base_url: str) -> tuple[str, str | None]:
    """Split a configured base URL into (URL without closing slash, unix socket path or None).

    `unix:/run/engine.sock` means HTTP over that socket, without a base path.

    Raises:
        PolicyError: neither http(s) nor unix, or with credentials, query or fragment.
    """
    if match := _UNIX.fullmatch(base_url):
        return "http://localhost", match[1]
    match = _BASE.fullmatch(base_url)
    if match is None or "?" in match[3]:
        raise PolicyError(
            "an upstream's URL must be http://host/v1, https://host/v1 or unix:/path, without credentials or query"
        )
    return f"{match[1]}://{match[2]}{match[3].rstrip('/')}", None


def join(base: str, path: str, query: bytes) -> str:
    """Append an origin-form path and a query to the base; nothing is re-encoded.

    Raises:
        RequestError: 400 for bytes that may not stand in a request line, or segments that would
            climb out of the base path.
    """
    text = query.decode("latin-1")
    full = f"{path}?{text}" if text else path
    if not _ORIGIN_FORM.fullmatch(full) or "?" in path or _DOT_SEGMENT.search(path):
        raise RequestError("the path of the request is not valid", code="invalid_path")
    return base + full
