"""What a client asks of the cache: request headers and LiteLLM's `cache` body object -> `Directives`.

Everything here can only tighten what the policy allows (the policy room enforces that); bad
values are refused, since a silently ignored `max-age` is a stale answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import http_sf

from semcache.core import Directives
from semcache.cost_rules import Trimming
from semcache.errors import RequestError

MODES = ("auto", "exact", "draft", "off")
HISTORIES = tuple(Trimming)
_TAG_LIMIT = 16
_WORD_LIMIT = 64
_NAME_LIMIT = 256
_NONE = Directives()


def directives_of(headers: Mapping[bytes, bytes], cache_object: Any) -> Directives:
    """Collect the directives of one request.

    Args:
        headers: the `cache-control` and `semcache-*` headers by lower-case name.
        cache_object: value of the body's own `cache` field (LiteLLM shape), or None.

    Raises:
        RequestError: 400 with the header's name in `param`.
    """
    if not headers and cache_object is None:
        return _NONE
    asked = _NONE
    for name, raw in headers.items():
        read = _HEADERS.get(name)
        if read is not None:
            asked = read(asked, raw.decode("latin-1").strip())
    return asked if cache_object is None else _with_litellm(asked, cache_object)


def labels_of(headers: Mapping[bytes, bytes]) -> tuple[tuple[str, str], ...]:
    """Collect only the labels of a request that the cache has nothing to do with.

    Raises:
        RequestError: 400, as for `directives_of`.
    """
    raw = headers.get(b"semcache-labels")
    return () if raw is None else _labels(raw.decode("latin-1").strip())


def _with_cache_control(asked: Directives, value: str) -> Directives:
    """RFC 9111 section 5.2.1; directives of others' are ignored as the RFC says."""
    for part in value.split(","):
        name, _, argument = part.strip().partition("=")
        match name.strip().lower():
            case "no-cache":
                asked = replace(asked, no_read=True)
            case "no-store":
                asked = replace(asked, no_store=True)
            case "only-if-cached":
                asked = replace(asked, only_if_cached=True)
            case "max-age":
                age = _seconds(argument.strip().strip('"'), "Cache-Control: max-age")
                asked = replace(asked, max_age=age)
            case _:
                pass
    return asked


def _with_litellm(asked: Directives, value: Any) -> Directives:
    """LiteLLM's body object: ttl, s-maxage, no-cache, no-store, namespace (use-cache is our default)."""
    if not isinstance(value, dict):
        raise RequestError("'cache' must be an object.", param="cache")
    if value.get("no-cache") is True:
        asked = replace(asked, no_read=True)
    if value.get("no-store") is True:
        asked = replace(asked, no_store=True)
    if (ttl := value.get("ttl")) is not None:
        asked = replace(asked, ttl=_seconds(ttl, "cache.ttl"))
    if (max_age := value.get("s-maxage", value.get("s-max-age"))) is not None:
        asked = replace(asked, max_age=_seconds(max_age, "cache.s-maxage"))
    if (namespace := value.get("namespace")) is not None:
        asked = replace(asked, namespace=_word(str(namespace), "cache.namespace", _NAME_LIMIT))
    return asked


def _mode(value: str) -> str:
    if value.lower() not in MODES:
        raise RequestError(f"Semcache-Mode must be one of {', '.join(MODES)}.", param="Semcache-Mode")
    return value.lower()


def _history(value: str) -> str:
    if value.lower() not in HISTORIES:
        raise RequestError(
            f"Semcache-History must be one of {', '.join(HISTORIES)}.", param="Semcache-History"
        )
    return value.lower()


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise RequestError(f"{name} must be a number.", param=name)
    return number


def _seconds(value: Any, name: str) -> float:
    number = _number(value, name)
    if number < 0:
        raise RequestError(f"{name} must not be negative.", param=name)
    return number


def _threshold(value: str) -> float:
    number = _number(value, "Semcache-Threshold")
    if not 0.0 <= number <= 1.0:
        raise RequestError(
            "Semcache-Threshold must lie between 0 and 1; higher is stricter.", param="Semcache-Threshold"
        )
    return number


def _word(value: str, name: str, limit: int) -> str:
    if len(value) > limit or not value.isprintable():
        raise RequestError(f"{name} must be at most {limit} printable characters.", param=name)
    return value


def _tags(value: str) -> tuple[str, ...]:
    tags = tuple(sorted({tag for part in value.split(",") if (tag := part.strip())}))
    if len(tags) > _TAG_LIMIT:
        raise RequestError(f"Semcache-Tags takes at most {_TAG_LIMIT} tags.", param="Semcache-Tags")
    return tuple(_word(tag, "Semcache-Tags", _WORD_LIMIT) for tag in tags)


def _labels(value: str) -> tuple[tuple[str, str], ...]:
    """An RFC 8941 dictionary of tokens or strings."""
    try:
        parsed = http_sf.parse(value.encode("latin-1"), tltype="dictionary")
    except ValueError:
        message = (
            'Semcache-Labels must look like: project=a, env=prod, task="month end" (an RFC 8941 dictionary: names in '
            "small letters, quotes around what is not one plain word, ASCII only)"
        )
        raise RequestError(message, param="Semcache-Labels") from None
    pairs = ((str(name), str(item[0])) for name, item in parsed.items())
    return tuple((name, _word(text, "Semcache-Labels", _WORD_LIMIT)) for name, text in pairs)


_HEADERS: Mapping[bytes, Callable[[Directives, str], Directives]] = {
    b"cache-control": _with_cache_control,
    b"semcache-mode": lambda asked, value: replace(asked, mode=_mode(value)),
    b"semcache-ttl": lambda asked, value: replace(asked, ttl=_seconds(value, "Semcache-Ttl")),
    b"semcache-threshold": lambda asked, value: replace(asked, threshold=_threshold(value)),
    b"semcache-namespace": lambda asked, value: replace(
        asked, namespace=_word(value, "Semcache-Namespace", _NAME_LIMIT)
    ),
    b"semcache-user": lambda asked, value: replace(asked, user=_word(value, "Semcache-User", _NAME_LIMIT)),
    b"semcache-domain": lambda asked, value: replace(
        asked, domain=_word(value, "Semcache-Domain", _WORD_LIMIT)
    ),
    b"semcache-tags": lambda asked, value: replace(asked, tags=_tags(value)),
    b"semcache-history": lambda asked, value: replace(asked, history=_history(value)),
    b"semcache-labels": lambda asked, value: replace(asked, labels=_labels(value)),
}
