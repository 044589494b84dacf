"""What a row of the ledger's files holds: one flat row a request, or a model call beside requests.

Rows are mappings from these names, the same in JSON lines and in Parquet, since they leave for other tools. No prompt text.
Values that are a column's default are left away in JSON lines; money is always there, null where it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Row = Mapping[str, str | int | float | bool | None]


class Kind(StrEnum):
    """What a column holds. Money is micro-USD, null where it is not known; other numbers are null where there is none."""

    TEXT = "text"
    INTEGER = "integer"
    FLAG = "flag"
    NUMBER = "number"
    MONEY = "money"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, what it holds, and what that means."""

    name: str
    kind: Kind
    text: str

    @property
    def default(self) -> str | int | bool | None:
        """What a row without this column says."""
        match self.kind:
            case Kind.TEXT:
                return ""
            case Kind.INTEGER:
                return 0
            case Kind.FLAG:
                return False
            case Kind.NUMBER | Kind.MONEY:
                return None


COLUMNS = (
    Column("kind", Kind.TEXT, "`request`, or work beside requests: `audit`, `judge`, `summary`"),
    Column("id", Kind.TEXT, "id of the request (of work beside it: of the request that caused it)"),
    Column("at", Kind.NUMBER, "when, in Unix seconds"),
    Column("tenant", Kind.TEXT, "whose"),
    Column("key", Kind.TEXT, "name of the API key"),
    Column("project", Kind.TEXT, "label"),
    Column("environment", Kind.TEXT, "label"),
    Column("business_line", Kind.TEXT, "label"),
    Column("task", Kind.TEXT, "label"),
    Column("labels", Kind.TEXT, "all other labels, as a JSON object"),
    Column("model", Kind.TEXT, "the model"),
    Column("backend", Kind.TEXT, "the upstream that was asked"),
    Column("local", Kind.FLAG, "that was the engine here"),
    Column("domain", Kind.TEXT, "the kind of question"),
    Column(
        "route",
        Kind.TEXT,
        "which kind of API: `chat`, `completions`, `responses`, `messages`, `generate` (Ollama's and Gemini's), `embeddings`, `images`, `audio`, `rerank`, or `other`",
    ),
    Column("stream", Kind.FLAG, "the answer was streamed"),
    Column("outcome", Kind.TEXT, "`exact`, `semantic`, `draft`, `miss`, `bypass` or `error`"),
    Column("reason", Kind.TEXT, "why"),
    Column("status", Kind.INTEGER, "HTTP status"),
    Column("seconds", Kind.NUMBER, "whole time of the request"),
    Column("overhead", Kind.NUMBER, "time in the proxy itself, in seconds"),
    Column("waited", Kind.NUMBER, "time of the original call, in seconds, where an answer was reused"),
    Column("similarity", Kind.NUMBER, "of the stored question, on the reference scale"),
    Column("score", Kind.NUMBER, "the verifier's probability"),
    Column("entry", Kind.TEXT, "id of the stored answer"),
    Column("vetoes", Kind.TEXT, "what the gate found, with spaces between"),
    Column("stored", Kind.FLAG, "the answer was stored"),
    Column("collapsed", Kind.FLAG, "it shared another request's call"),
    Column("shadow", Kind.TEXT, "the hit that shadow mode kept back: `exact` or `semantic`"),
    Column("faults", Kind.TEXT, "cache faults, with spaces between"),
    Column("retry", Kind.FLAG, "the same was asked moments ago"),
    Column("repetition", Kind.NUMBER, "how much the answer repeats itself, from 0 to 1"),
    Column("trimmed", Kind.INTEGER, "tokens of history that were left away"),
    Column("embedded", Kind.INTEGER, "tokens that were embedded (guessed)"),
    Column("estimated", Kind.FLAG, "the upstream did not say what it used; tokens are guessed"),
    Column("odd", Kind.FLAG, "the upstream's counts did not fit each other, and were cut"),
    Column("input", Kind.INTEGER, "tokens of input that were billed, all of them"),
    Column("cached", Kind.INTEGER, "of them read from a prompt cache (the provider's, or the engine's)"),
    Column("written", Kind.INTEGER, "of them written to it"),
    Column("written_long", Kind.INTEGER, "of those, for a longer life"),
    Column("output", Kind.INTEGER, "tokens of output, all of them"),
    Column("reasoning", Kind.INTEGER, "of them reasoning"),
    Column("saved_input", Kind.INTEGER, "tokens of input of the original call that a hit saved"),
    Column("saved_cached", Kind.INTEGER, "of them read from a prompt cache"),
    Column("saved_written", Kind.INTEGER, "of them written to it"),
    Column("saved_output", Kind.INTEGER, "its tokens of output"),
    Column("saved_reasoning", Kind.INTEGER, "of them reasoning"),
    Column("draft_way", Kind.TEXT, "how a near answer helped"),
    Column("draft_result", Kind.TEXT, "what became of it"),
    Column("draft_input", Kind.INTEGER, "tokens of input of revising it"),
    Column("draft_output", Kind.INTEGER, "tokens of output of revising it"),
    Column("cost", Kind.MONEY, "what was paid for the answer, or for the work beside"),
    Column("embedding_cost", Kind.MONEY, "what embedding the question cost"),
    Column("without_caches", Kind.MONEY, "what it would have cost without any cache"),
    Column("by_response", Kind.MONEY, "what stored or shared answers and drafts saved (negative: lost)"),
    Column("by_provider", Kind.MONEY, "what the provider's prompt cache saved"),
    Column("by_local", Kind.MONEY, "what the engine's prefix cache saved"),
    Column("charged", Kind.MONEY, "what the tenant is charged"),
    Column("price_version", Kind.TEXT, "edition of the prices"),
)
NAMES = tuple(column.name for column in COLUMNS)
_TYPES: Mapping[Kind, tuple[type, ...]] = {
    Kind.TEXT: (str,),
    Kind.INTEGER: (int,),
    Kind.FLAG: (bool,),
    Kind.NUMBER: (float, type(None)),
    Kind.MONEY: (int, type(None)),
}
_SHAPES = tuple((column.name, column.default, _TYPES[column.kind], column.kind) for column in COLUMNS)
_LARGEST = (1 << 63) - 1
_HUGE = 1e300


def filled(found: Mapping[str, Any]) -> Row:
    """Give a row with every column, from one that left defaults away, or came from another release or another hand."""
    row: dict[str, str | int | float | bool | None] = {}
    for name, default, types, kind in _SHAPES:
        value = found.get(name, default)
        fits = type(value) in types and (type(value) is not int or -_LARGEST <= value <= _LARGEST)
        row[name] = value if fits else _fit(value, kind)
    return row


def _fit(value: Any, kind: Kind) -> str | int | float | bool | None:
    """Give a value as its column takes it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _HUGE
    whole = max(-_LARGEST, min(_LARGEST, int(value))) if is_number else None
    match kind:
        case Kind.TEXT:
            return ""
        case Kind.FLAG:
            return value is True
        case Kind.NUMBER:
            return float(value) if is_number else None
        case Kind.INTEGER:
            return whole or 0
        case Kind.MONEY:
            return whole
