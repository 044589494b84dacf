"""What LiteLLM logs: its standard payload, and its spend logs. Pure.

Field names after its documentation ("StandardLoggingPayload Specification") and its table of spend logs.
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
from semcache.advise.formats.telling import is_true
from semcache.advise.formats.usage import usage_in
from semcache.advise.rows import LogRow
from semcache.advise.times import moment, seconds, span
from semcache.records import Usage

REDACTED = "LiteLLM redacted its prompt (turn_off_message_logging): there is nothing to compare"
NO_PROMPT = "LiteLLM kept no prompt (store_prompts_in_spend_logs is off)"
OTHER_CALL = "is no chat call"
_MARKS = ("response_cost", "model_group", "litellm_call_id", "model_map_information", "saved_cache_cost")
_CHAT = ("completion", "responses", "anthropic_messages", "generate_content")
_NOT_PARAMETERS = ("stream", "user", "metadata", "extra_headers", "extra_body", "max_retries")


def read_litellm(value: Fields) -> tuple[str, LogRow | str] | None:
    """Read a record of LiteLLM's; None for another's."""
    value = object_in(value, "standard_logging_object", "standard_logging_payload") or value
    spend = "spend" in value and "request_id" in value
    if not spend and not any(name in value for name in _MARKS):
        return None
    return "litellm", _row(value)


def _row(value: Fields) -> LogRow | str:
    kind = value.get("call_type")
    if isinstance(kind, str) and kind and not any(name in kind for name in _CHAT):
        return OTHER_CALL
    request = _request(value)
    if isinstance(request, str):
        return request
    metadata, response = object_in(value, "metadata"), unpacked(value.get("response"))
    start, end = moment(value.get("startTime")), moment(value.get("endTime"))
    taken = span(start, end)
    more = [object_in(metadata, name) for name in ("spend_logs_metadata", "requester_metadata")]
    return LogRow(
        body=request.body,
        beside=request.beside,
        file="",
        line=0,
        at=start,
        tenant=name_in(metadata, "user_api_key_team_alias", "user_api_key_team_id")
        or name_in(value, "team_id"),
        user=name_in(value, "end_user")
        or name_in(metadata, "user_api_key_end_user_id", "user_api_key_user_id"),
        session=name_in(value, "session_id", "trace_id") or name_in(metadata, "session_id"),
        model=name_in(value, "model", "model_group"),
        response=answer_in(response),
        usage=_usage(value, metadata, response),
        cost=micro_usd(first(value, "response_cost", "spend")),
        seconds=taken if taken is not None else seconds(value.get("response_time")),
        labels=labels_in(*more, metadata),
        failed=value.get("status") == "failure",
        from_cache=is_true(value.get("cache_hit")),
    )


def _request(value: Fields) -> Request | str:
    messages = unpacked(value.get("messages"))
    if isinstance(messages, dict):
        messages = messages.get("messages")
    sent = object_in(value, "proxy_server_request")
    sent = object_in(sent, "body") or sent
    if not messages and not sent:
        return NO_PROMPT
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    parameters = object_in(value, "model_parameters")
    kept = {name: field for name, field in parameters.items() if name not in _NOT_PARAMETERS}
    request = {**kept, "model": value.get("model"), "messages": messages} if messages else sent
    found = request_of(request)
    return REDACTED if isinstance(found, Request) and _is_redacted(found.body) else found


def _is_redacted(body: dict[str, Any]) -> bool:
    return all(message.get("content") == "redacted-by-litellm" for message in body["messages"])


def _usage(value: Fields, metadata: Fields, response: Any) -> Usage | None:
    inner = response.get("usage") if isinstance(response, dict) else None
    found = usage_in(metadata.get("usage_object")) or usage_in(inner)
    if found is not None:
        return found
    given, made = count(value.get("prompt_tokens")), count(value.get("completion_tokens"))
    # A call that failed, or that another cache answered, is logged with zeros.
    return Usage(given, made) if given and made is not None else None
