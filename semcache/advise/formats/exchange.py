"""Logs without a maker: request and response side by side, bodies alone, files for batches and for fine-tuning. Pure."""

from __future__ import annotations

from typing import Any

from semcache.advise.formats.answers import answer_in
from semcache.advise.formats.anthropic import is_anthropic
from semcache.advise.formats.bodies import body_of, without_answer
from semcache.advise.formats.fields import Fields, first, object_in
from semcache.advise.formats.responses import is_responses
from semcache.advise.formats.streams import is_stream, whole
from semcache.advise.formats.telling import ANSWERS, META, told
from semcache.advise.rows import LogRow

BATCH_OUTPUT = "is the output of a batch: answers without their prompts (name the input file instead)"
_REQUESTS = ("request", "request_body", "requestBody", "body", "params", "kwargs")
_RESPONSES = ("response", "response_body", "responseBody", *ANSWERS)
_CONTENTS = ("messages", "input", "prompt", "conversations")


def read_exchange(value: Fields) -> tuple[str, LogRow | str] | None:
    """Read a record that holds a request in one field, and perhaps the response in another."""
    request = object_in(value, *_REQUESTS)
    if not request:
        if "custom_id" in value and isinstance(value.get("response"), dict):
            return "batch", BATCH_OUTPUT
        return None
    request = object_in(request, "body") or request
    if not any(name in request for name in _CONTENTS):
        return None
    return _read(value, request, first(value, *_RESPONSES))


def read_body(value: Fields) -> tuple[str, LogRow | str] | None:
    """Read a record that is a request itself, with what a log may have written into it."""
    named = isinstance(value.get("messages"), list) or isinstance(value.get("conversations"), list)
    if not named and not is_responses(value):
        return None
    body = {name: field for name, field in value.items() if name not in META}
    return _read(value, body, first(value, *ANSWERS))


def _read(value: Fields, request: Fields, answer: Any) -> tuple[str, LogRow | str] | None:
    body = body_of(request)
    if isinstance(body, str):
        return "openai", body
    inner = _inner(answer)
    if is_stream(inner):
        inner = whole(inner)
        answer = {**answer, "body": inner} if isinstance(answer, dict) else inner
    response = answer_in(inner)
    if answer is None:
        body, said = without_answer(body)
        response = answer_in(said)
    return _dialect(request), told(value, body, answer, response)


def _inner(answer: Any) -> Any:
    """A response may be wrapped as an HTTP reply is."""
    return answer["body"] if isinstance(answer, dict) and "body" in answer else answer


def _dialect(request: Fields) -> str:
    if isinstance(request.get("messages"), list):
        return "anthropic" if is_anthropic(request) else "openai"
    return "responses" if is_responses(request) else "openai"
