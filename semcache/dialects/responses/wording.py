"""Errors inside a stream of typed events, both ways. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAST = 2**31 - 1
"""The number of an event after which nothing can come, where nobody counted the ones before."""


def error_event(error: Any) -> dict[str, Any]:
    """Give the event of an error in OpenAI's words, or of a mere message.

    Its fields stand there twice: as the API documents the event, and under `error`, which is what makes clients raise.
    """
    told = error if isinstance(error, Mapping) else {"message": str(error)}
    kind = str(told.get("type") or "upstream_error")
    words = {
        "message": str(told.get("message") or "The upstream broke off."),
        "code": str(told.get("code") or kind),
        "param": told.get("param"),
    }
    return {"type": "error", **words, "error": {"type": kind, **words}}


def read_error_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Give the error of an event, or of a failed response, in OpenAI's words."""
    response = event.get("response")
    inner = event.get("error") or (response.get("error") if isinstance(response, Mapping) else None)
    told = inner if isinstance(inner, Mapping) else event
    message = told.get("message") if inner is None or isinstance(inner, Mapping) else inner
    return {
        "message": str(message or "The upstream could not answer."),
        "type": str(told.get("type") if isinstance(inner, Mapping) and told.get("type") else "server_error"),
        "param": told.get("param"),
        "code": told.get("code"),
    }
