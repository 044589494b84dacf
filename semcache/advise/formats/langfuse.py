"""Exports of Langfuse: observations from its pages, its API and its blob storage, as JSON or CSV. Pure.

Field names after its documentation ("Blob Storage Export Field Reference", API of observations): the pages and the API
write camel case, blob storage snake case.
"""

from __future__ import annotations

from typing import Any

from semcache.advise.formats.answers import answer_in
from semcache.advise.formats.bodies import Request, request_of
from semcache.advise.formats.fields import (
    Fields,
    count,
    first,
    labels_in,
    micro_usd,
    name_in,
    object_in,
    unpacked,
)
from semcache.advise.formats.usage import usage_in
from semcache.advise.rows import LogRow
from semcache.advise.times import moment, seconds, span
from semcache.records import Usage

NOT_A_CALL = "is no call of a model (a span, an event, a score)"
NO_INPUT = "its input is not exported, or in no shape that is known"
_TRACE = ("traceId", "trace_id", "Trace ID")
_OWN = (
    "usageDetails",
    "usage_details",
    "costDetails",
    "cost_details",
    "provided_model_name",
    "providedModelName",
    "parentObservationId",
    "parent_observation_id",
    "completionStartTime",
    "completion_start_time",
    "promptTokens",
    "calculatedTotalCost",
    "internalModelId",
    "statusMessage",
)
_CALLS = ("GENERATION", "LLM", "")
_KINDS = (
    "GENERATION",
    "SPAN",
    "EVENT",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
)
_PARAMETERS = (
    "tools",
    "tool_choice",
    "response_format",
    "temperature",
    "top_p",
    "max_tokens",
    "seed",
    "n",
    "stop",
)


def read_langfuse(value: Fields) -> tuple[str, LogRow | str] | None:
    """Read an observation; None for another's record."""
    return ("langfuse", _row(value)) if _is_observation(value) else None


def _is_observation(value: Fields) -> bool:
    """Tell by what belongs to a trace and is of one of the kinds, or has what only observations have."""
    if not any(name in value for name in _TRACE):
        return False
    return value.get("type") in _KINDS or any(name in value for name in _OWN)


def _row(value: Fields) -> LogRow | str:
    kind = value.get("type")
    if isinstance(kind, str) and kind.upper() not in _CALLS:
        return NOT_A_CALL
    model = name_in(value, "model", "provided_model_name", "providedModelName", "Model")
    request = _request(value, model)
    if isinstance(request, str):
        return request
    start = moment(first(value, "startTime", "start_time", "Start Time"))
    taken = span(start, moment(first(value, "endTime", "end_time", "End Time")))
    metadata = object_in(value, "metadata")
    return LogRow(
        body=request.body,
        beside=request.beside,
        file="",
        line=0,
        at=start,
        tenant=name_in(metadata, "tenant", "tenant_id", "team", "user_api_key_team_alias"),
        user=name_in(value, "userId", "user_id", "traceUserId"),
        session=name_in(value, "sessionId", "session_id", "traceSessionId") or name_in(value, *_TRACE),
        model=model,
        response=answer_in(unpacked(value.get("output"))),
        usage=_usage(value),
        cost=_cost(value),
        seconds=taken if taken is not None else seconds(value.get("latency")),
        labels=labels_in(metadata, value),
        failed=value.get("level") == "ERROR",
    )


def _request(value: Fields, model: str) -> Request | str:
    given = unpacked(value.get("input"))
    parameters = object_in(value, "modelParameters", "model_parameters")
    request: dict[str, Any] = {
        name: parameters[name] for name in _PARAMETERS if parameters.get(name) is not None
    }
    if isinstance(given, dict):
        request |= given
        if not isinstance(given.get("messages"), list) and isinstance(given.get("args"), list):
            return NO_INPUT
    elif isinstance(given, list) and given:
        request["messages"] = given
    elif isinstance(given, str) and given:
        request["messages"] = [{"role": "user", "content": given}]
    else:
        return NO_INPUT
    tools = object_in(value, "tool_definitions", "toolDefinitions")
    if tools and not request.get("tools"):
        request["tools"] = [unpacked(tool) for tool in tools.values()]
    request["model"] = model or request.get("model")
    found = request_of(request)
    return NO_INPUT if isinstance(found, str) else found


def _usage(value: Fields) -> Usage | None:
    found = usage_in(dict(object_in(value, "usageDetails", "usage_details")))
    found = found or usage_in(dict(object_in(value, "usage")))
    if found is not None:
        return found
    given = count(first(value, "promptTokens", "inputUsage", "inputTokens", "input_tokens"))
    made = count(first(value, "completionTokens", "outputUsage", "outputTokens", "output_tokens"))
    return Usage(given, made) if given and made is not None else None


def _cost(value: Fields) -> int | None:
    cost = micro_usd(first(value, "totalCost", "total_cost", "calculatedTotalCost"))
    if cost:
        return cost
    # A model without a price is exported with nothing, or with 0, which is no price.
    return micro_usd(object_in(value, "costDetails", "cost_details").get("total")) or None
