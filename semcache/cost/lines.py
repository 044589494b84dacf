"""The log line of a request: its record and its money as one JSON object. Pure."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter

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
    line: dict[str, object] = {"event": "request"}
    line.update((name, value) for name, value in zip(_FIELDS, _values(record), strict=True) if value)
    for name in ("usage", "saved"):
        if name in line:
            line[name] = _used(getattr(record, name))
    if money is not None:
        line.update(_money(money, has_tokens=record.usage is not None or record.saved is not None))
    return dumped(line)


def _used(usage: Usage) -> dict[str, int]:
    return {
        name: count
        for name, count in zip(_TOKENS, _tokens(usage), strict=True)
        if count or name in ("prompt_tokens", "completion_tokens")
    }


def _money(money: Costed, *, has_tokens: bool) -> dict[str, object]:
    saved = {"response": money.by_response, "provider": money.by_provider, "local": money.by_local}
    told: dict[str, object] = {
        "cost": money.cost,
        "embedding_cost": money.embedding,
        "without_caches": money.without_caches,
        "saved_by": {by: value for by, value in saved.items() if value != 0},
        "charged": money.charged,
        "price_version": money.version,
    }
    if has_tokens:
        return {name: value for name, value in told.items() if value != {}}
    kept = {name: value for name, value in told.items() if value}
    # Nothing was used, so nothing is missing.
    return {} if kept.keys() <= {"price_version", "saved_by"} else kept
