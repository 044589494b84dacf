"""Logs without a maker: request and response side by side, bodies alone, files for batches and for fine-tuning. Pure."""

from __future__ import annotations

from typing import Any

from semcache.advise.formats.answers import answer_in
from semcache.advise.formats.bodies import Request, request_of, without_answer
from semcache.advise.formats.fields import Fields, first, name_in, object_in
from semcache.advise.formats.looks import is_request, path_in
from semcache.advise.formats.streams import stream_in
from semcache.advise.formats.telling import ANSWERS, META, told
from semcache.advise.rows import LogRow

BATCH_OUTPUT = "is the output of a batch: answers without their prompts (name the input file instead)"
_REQUESTS = ("request", "request_body", "requestBody", "body", "params", "kwargs")
_RESPONSES = ("response", "response_body", "responseBody", *ANSWERS)
_ANTHROPIC_BATCH = "/v1/messages"
_CONTENTS = ("messages", "input", "prompt", "conversations", "contents")


def read_exchange(value: Fields) -> tuple[str, LogRow | str] | None:
    """Read a record that holds a request in one field, and perhaps the response in another."""
    request = object_in(value, *_REQUESTS)
    if not request:
        if "custom_id" in value and isinstance(value.get("response"), dict):
            return "batch", BATCH_OUTPUT
        return None
    path = path_in(value) or path_in(request)
    request = object_in(request, "body") or request
    if not any(name in request for name in _CONTENTS):
        return None
    if not path and "custom_id" in value and isinstance(value.get("params"), dict):
        path = _ANTHROPIC_BATCH
    if "contents" in request and not request.get("model"):
        request = {**request, "model": name_in(value, "model")}
    return _read(value, request_of(request, path), first(value, *_RESPONSES))


def read_body(value: Fields) -> tuple[str, LogRow | str] | None:
    """Read a record that is a request itself, with what a log may have written into it."""
    if not is_request(value):
        return None
    body = {name: field for name, field in value.items() if name not in META}
    return _read(value, request_of(body, path_in(value)), first(value, *ANSWERS))


def _read(value: Fields, request: Request | str, answer: Any) -> tuple[str, LogRow | str] | None:
    if isinstance(request, str):
        return "openai", request
    body, usage = request.body, None
    inner = _inner(answer)
    said = stream_in(inner)
    if said is None:
        response = answer_in(inner)
    else:
        response, usage = said.text or None, said.usage
    if answer is None:
        body, last = without_answer(body)
        response = answer_in(last)
    return request.source, told(value, body, answer, response, usage, request.beside)


def _inner(answer: Any) -> Any:
    """A response may be wrapped as an HTTP reply is."""
    return answer["body"] if isinstance(answer, dict) and "body" in answer else answer
