"""The anthropic SDK for Python."""

from __future__ import annotations

from typing import Any

import anthropic
from pydantic import BaseModel
from talk import PARAMETERS, TOOL, TOOL_WORDS, Job, Seen, message_turns, serve


class Fact(BaseModel):
    place: str
    days: int
    text: str


def ask(job: Job, seen: Seen) -> None:
    client = anthropic.Anthropic(
        base_url=job.origin,
        api_key=job.key,
        max_retries=job.retries,
        timeout=job.timeout,
        default_headers=job.headers,
    )
    with client:
        fields: dict[str, Any] = {
            "model": job.model,
            "max_tokens": 2000,
            "messages": message_turns(job),
        }
        if job.tools:
            fields["tools"] = [{"name": TOOL, "description": TOOL_WORDS, "input_schema": PARAMETERS}]
        if job.schema:
            fields["output_format"] = Fact
        if job.stream:
            _streamed(client, fields, job, seen)
            return
        if job.schema:
            _message(client.messages.parse(**fields), seen)
            return
        raw = client.messages.with_raw_response.create(**fields)
        seen.headed(raw.headers)
        _message(raw.parse(), seen)


def _streamed(client: anthropic.Anthropic, fields: dict[str, Any], job: Job, seen: Seen) -> None:
    with client.messages.stream(**fields) as stream:
        seen.headed(stream.response.headers)
        for event in stream:
            if event.type == "text":
                seen.piece(event.text)
            if seen.leaves(job):
                return
        _message(stream.get_final_message(), seen)


def _message(message: Any, seen: Seen) -> None:
    seen["text"] = "".join(block.text for block in message.content if block.type == "text")
    seen["finish"] = message.stop_reason
    for block in message.content:
        if block.type == "tool_use":
            seen.called(block.name, block.input)
    if parsed := getattr(message, "parsed_output", None):
        seen["parsed"] = parsed.model_dump()
    saved = (message.usage.model_extra or {}).get("semcache_saved")
    seen.used(message.usage.input_tokens, message.usage.output_tokens, saved)


serve(ask, "anthropic")
