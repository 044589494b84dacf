"""Records become rows (see `row_fields`). Pure, and quick: each request costs the writer's thread as much again elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any

from semcache.core import RequestRecord
from semcache.cost.plain import dumped
from semcache.cost.row_fields import Row
from semcache.cost.savings import Costed, is_reuse
from semcache.cost_rules import LABELS, Labels
from semcache.records import SideRecord

_PLAIN = {
    "id": "request_id",
    "tenant": "tenant",
    "key": "key_name",
    "model": "model",
    "backend": "backend",
    "local": "is_local",
    "domain": "domain",
    "route": "route",
    "stream": "stream",
    "outcome": "outcome",
    "reason": "reason",
    "status": "status",
    "entry": "entry_id",
    "stored": "stored",
    "collapsed": "collapsed",
    "shadow": "shadow",
    "retry": "retry",
    "trimmed": "trimmed",
    "embedded": "embedded",
    "estimated": "estimated",
}
"""Columns that are left away where they are empty, 0 or false, and the record's name for them."""
_NUMBERS = {
    "at": "at",
    "seconds": "duration",
    "overhead": "overhead",
    "waited": "waited",
    "similarity": "similarity",
    "score": "score",
    "repetition": "repetition",
}
"""Columns that are left away where there is no number: 0 is one."""
_SIDE = {
    "id": "request_id",
    "tenant": "tenant",
    "key": "key_name",
    "model": "model",
    "backend": "backend",
    "local": "is_local",
    "domain": "domain",
}
_USED = {
    "input": "prompt_tokens",
    "cached": "cached_tokens",
    "written": "written_tokens",
    "written_long": "written_long_tokens",
    "output": "completion_tokens",
    "reasoning": "reasoning_tokens",
    "odd": "is_odd",
}
_SAVED = {
    "saved_input": "prompt_tokens",
    "saved_cached": "cached_tokens",
    "saved_written": "written_tokens",
    "saved_output": "completion_tokens",
    "saved_reasoning": "reasoning_tokens",
}
_plain = attrgetter(*_PLAIN.values())
_numbers = attrgetter(*_NUMBERS.values())
_side = attrgetter(*_SIDE.values())
_used = attrgetter(*_USED.values())
_saved = attrgetter(*_SAVED.values())


def row_of(record: RequestRecord, money: Costed | None) -> Row:
    """Give the row of a request; `money` None: it could not be priced."""
    row = _full("request", _PLAIN, _plain(record))
    for name, value in zip(_NUMBERS, _numbers(record), strict=True):
        if value is not None:
            row[name] = value
    if record.labels:
        row.update(_labels(record.labels))
    if record.vetoes:
        row["vetoes"] = " ".join(record.vetoes)
    if record.faults:
        row["faults"] = " ".join(record.faults)
    if record.usage is not None:
        _count(row, _USED, _used(record.usage))
    if record.saved is not None and is_reuse(record):
        _count(row, _SAVED, _saved(record.saved))
    if record.draft is not None:
        draft = record.draft
        tokens = {"draft_input": draft.input, "draft_output": draft.output}
        row.update(draft_way=draft.way, draft_result=draft.result, **tokens)
    _pay(row, money)
    return row


def side_row_of(record: SideRecord, money: int | None, version: str) -> Row:
    """Give the row of work beside requests; `money` in micro-USD, None: not known."""
    row = _full(record.kind.value, _SIDE, _side(record))
    row["at"] = record.at
    if record.labels:
        row.update(_labels(record.labels))
    if record.usage is not None:
        _count(row, _USED, _used(record.usage))
    _pay(row, None)
    row["cost"] = money
    row["price_version"] = version
    return row


def _full(kind: str, names: Mapping[str, str], values: tuple[Any, ...]) -> dict[str, Any]:
    row = {name: value for name, value in zip(names, values, strict=True) if value}
    row["kind"] = kind
    return row


def _count(row: dict[str, Any], names: Mapping[str, str], values: tuple[int, ...]) -> None:
    row.update({name: value for name, value in zip(names, values, strict=True) if value})


@lru_cache(4096)
def _labels(labels: Labels) -> Mapping[str, str]:
    """Give the columns of labels; few requests have labels of their own."""
    row = {name: value for name, value in labels if name in LABELS and value}
    others = {name: value for name, value in labels if name not in LABELS}
    if others:
        row["labels"] = dumped(others).decode().rstrip()
    return row


def _pay(row: dict[str, Any], money: Costed | None) -> None:
    if money is None:
        row["cost"] = row["embedding_cost"] = row["without_caches"] = row["charged"] = None
        row["by_response"] = row["by_provider"] = row["by_local"] = None
        return
    row["cost"] = money.cost
    row["embedding_cost"] = money.embedding
    row["without_caches"] = money.without_caches
    row["by_response"] = money.by_response
    row["by_provider"] = money.by_provider
    row["by_local"] = money.by_local
    row["charged"] = money.charged
    row["price_version"] = money.version
