"""What logs tell beside request and answer: when, how long, who, for what money. One set of names for logs without a maker. Pure."""

from __future__ import annotations

from typing import Any

from semcache.advise.formats.fields import Fields, first, labels_in, micro_usd, name_in, number, object_in
from semcache.advise.formats.usage import usage_in, usage_of_answer
from semcache.advise.rows import NOTHING, Beside, LogRow
from semcache.advise.times import moment, seconds, span
from semcache.records import Usage

TIMES = (
    "timestamp",
    "ts",
    "time",
    "at",
    "@timestamp",
    "start_time",
    "startTime",
    "started_at",
    "created_at",
    "createdAt",
    "request_time",
    "requested_at",
    "date",
    "created",
)
ENDS = ("end_time", "endTime", "ended_at", "completed_at", "finished_at")
SECONDS = ("seconds", "duration", "latency", "elapsed", "response_time", "duration_s", "latency_s")
MILLISECONDS = ("duration_ms", "latency_ms", "response_time_ms", "response_ms", "elapsed_ms", "total_ms")
COSTS = ("cost_usd", "cost", "response_cost", "total_cost", "totalCost", "price", "spend")
TENANTS = ("tenant", "tenant_id", "team", "team_id", "organization", "organization_id", "org", "org_id")
USERS = ("user", "user_id", "userId", "end_user", "customer", "customer_id", "safety_identifier")
SESSIONS = ("session", "session_id", "sessionId", "conversation_id", "thread_id", "chat_id", "trace_id")
ANSWERS = ("response", "answer", "output", "completion", "reply", "result")
OTHERS = (
    "id",
    "request_id",
    "custom_id",
    "method",
    "url",
    "status",
    "status_code",
    "error",
    "usage",
    "cache_hit",
    "labels",
    "environment",
    "env",
    "project",
    "prompt_tokens",
    "completion_tokens",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "level",
    "logger",
    "msg",
    "hostname",
    "pid",
)
META = frozenset(
    (*TIMES, *ENDS, *SECONDS, *MILLISECONDS, *COSTS, *TENANTS, *USERS, *SESSIONS, *ANSWERS, *OTHERS)
) - {"user", "safety_identifier"}
"""What a log may write into the very object of a request without its being a part of it."""


def told(
    value: Fields,
    body: dict[str, Any],
    answer: Any,
    response: str | None,
    usage: Usage | None = None,
    beside: Beside = NOTHING,
) -> LogRow:
    """Make a row of a log without a maker: everything is looked for under its usual names.

    Args:
        value: the record.
        body: the chat body.
        answer: the response as it was logged, of any shape.
        response: its text.
        usage: what a stream said that was used.
        beside: what the request says beside its chat body.
    """
    inner: Fields = answer if isinstance(answer, dict) else {}
    inner = object_in(inner, "body") or inner
    metadata = object_in(value, "metadata")
    start = moment(first(value, *TIMES))
    if start is None:
        start = moment(first(inner, "created_at", "created"))
    return LogRow(
        body=body,
        file="",
        line=0,
        at=start,
        tenant=name_in(value, *TENANTS) or name_in(metadata, *TENANTS),
        user=name_in(value, *USERS)
        or name_in(metadata, *USERS)
        or name_in(body, "safety_identifier", "user"),
        session=name_in(value, *SESSIONS) or name_in(metadata, *SESSIONS),
        model=model_in(body, inner, value),
        response=response,
        usage=usage_in(value.get("usage")) or usage or usage_of_answer(inner) or usage_in(value),
        cost=micro_usd(first(value, *COSTS)),
        seconds=duration(value, start),
        labels=labels_in(object_in(value, "labels"), value, metadata),
        failed=has_failed(value, answer),
        from_cache=is_true(value.get("cache_hit")),
        beside=beside,
    )


def model_in(*sources: Fields) -> str:
    """Give the first model's name that one of these has; the word for none is none."""
    names = (name_in(fields, "model") for fields in sources)
    return next((name for name in names if name and name != "unknown"), "")


def duration(value: Fields, start: float | None) -> float | None:
    """Give how long an answer took, in seconds."""
    taken = span(start, moment(first(value, *ENDS)))
    if taken is None:
        taken = seconds(first(value, *SECONDS))
    return seconds(first(value, *MILLISECONDS), 1000) if taken is None else taken


def has_failed(value: Fields, answer: Any) -> bool:
    """Tell by status and error whether there was no answer."""
    status = number(first(value, "status_code", "status"))
    inner = answer if isinstance(answer, dict) else {}
    code = number(first(inner, "status_code", "status"))
    refused = any(found is not None and found >= 400 for found in (status, code))
    return refused or bool(value.get("error")) or bool(inner.get("error")) or _says(value.get("status"))


def is_true(value: Any) -> bool:
    """Read a truth that may be a text."""
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


def _says(status: Any) -> bool:
    return isinstance(status, str) and status.strip().lower() in ("failure", "failed", "error")
