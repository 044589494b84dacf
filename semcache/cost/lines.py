"""The log line of a request: its record and its money as one JSON object. Pure."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Any

from semcache.core import RequestRecord, Usage
from semcache.cost.plain import dumped
from semcache.cost.savings import Costed

_FIELDS = tuple(field.name for field in fields(RequestRecord))
_values = attrgetter(*_FIELDS)
_TOKENS = tuple(field.name for field in fields(Usage))
_tokens = attrgetter(*_TOKENS)


def log_line(record: RequestRecord, money: Costed | None = None) -> bytes:
    """Give the canonical log line of a request: a JSON object, empty fields left away.

    Money of a request that used or saved tokens is there even where it is not known: as null.
    """
    told = {name: value for name, value in zip(_FIELDS, _values(record), strict=True) if value}
    line: dict[str, Any] = {"event": "request", **told}
    if record.labels:
        line["labels"] = dict(record.labels)
    if record.usage is not None:
        line["usage"] = _used(record.usage)
    if record.saved is not None:
        line["saved"] = _used(record.saved)
    if money is not None and (record.usage is not None or record.saved is not None or money.cost):
        _pay(line, money)
    return dumped(line)


def _used(usage: Usage) -> dict[str, int]:
    used = {name: count for name, count in zip(_TOKENS, _tokens(usage), strict=True) if count}
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens, **used}


def _pay(line: dict[str, Any], money: Costed) -> None:
    line["cost"] = money.cost
    line["embedding_cost"] = money.embedding
    line["without_caches"] = money.without_caches
    saved: dict[str, int | None] = {}
    if money.by_response != 0:
        saved["response"] = money.by_response
    if money.by_provider != 0:
        saved["provider"] = money.by_provider
    if money.by_local != 0:
        saved["local"] = money.by_local
    if saved:
        line["saved_by"] = saved
    line["charged"] = money.charged
    line["price_version"] = money.version
