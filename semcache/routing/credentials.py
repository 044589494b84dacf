"""Keys of APIs in the headers of each family, and which of a call's headers hold one. Pure.

A key is the text behind `Bearer `, or the whole value of a vendor's own header.
"""

from __future__ import annotations

from collections.abc import Iterable

from semcache.dialects.dialect import Family

Pair = tuple[bytes, bytes]

NAMES = frozenset({b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key"})
"""Headers that hold a key, in lower case."""

_OF_ONE_API = (b"anthropic-", b"openai-", b"x-goog-", b"x-stainless-")
"""Beginnings of header names that speak of one family's API."""
_BEARER = "bearer "


def key_pair(family: Family, key: str) -> Pair:
    """Give the header in which a family wants a key."""
    match family:
        case "anthropic":
            return b"x-api-key", key.encode("latin-1")
        case "gemini":
            return b"x-goog-api-key", key.encode("latin-1")
        case "openai" | "ollama":
            return b"authorization", b"Bearer " + key.encode("latin-1")


def split_credentials(headers: Iterable[Pair]) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Give the headers that hold no key, and those that do."""
    plain: list[Pair] = []
    keys: list[Pair] = []
    for pair in headers:
        (keys if pair[0].lower() in NAMES else plain).append(pair)
    return tuple(plain), tuple(keys)


def without_vendor(headers: Iterable[Pair]) -> tuple[Pair, ...]:
    """Give the headers that say nothing about one family's API (organisations, versions, beta features)."""
    return tuple(pair for pair in headers if not pair[0].lower().startswith(_OF_ONE_API))


def for_family(pairs: Iterable[Pair], family: Family, written_for: Family) -> tuple[Pair, ...]:
    """Give a client's key as another family wants it; as it came where that is the family it was written for."""
    pairs = tuple(pairs)
    if family == written_for:
        return pairs
    return tuple(key_pair(family, key) for key in _keys(pairs))[:1]


def _keys(pairs: Iterable[Pair]) -> list[str]:
    found = []
    for name, value in pairs:
        text = value.decode("latin-1")
        if name.lower() != b"authorization":
            found.append(text)
        elif text.lower().startswith(_BEARER):
            found.append(text[len(_BEARER) :].strip())
    return found
