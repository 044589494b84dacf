"""The openai SDK for Python; the kind is `chat` or `responses`."""

from __future__ import annotations

from typing import Any

import openai
from pydantic import BaseModel
from talk import PARAMETERS, TOOL, TOOL_WORDS, Job, Seen, chat_messages, response_items, serve


class Fact(BaseModel):
    place: str
    days: int
    text: str


def chat(job: Job, seen: Seen) -> None:
    with _client(job) as client:
        fields: dict[str, Any] = {"model": job.model, "messages": chat_messages(job)}
        if job.tools:
            function = {"name": TOOL, "description": TOOL_WORDS, "parameters": PARAMETERS}
            fields["tools"] = [{"type": "function", "function": function}]
        if job.schema:
            fields["response_format"] = Fact
        if job.stream:
            fields["stream_options"] = {"include_usage": True}
            (_chat_events if job.schema else _chat_chunks)(client, fields, job, seen)
            return
        way = client.chat.completions.with_raw_response
        raw = (way.parse if job.schema else way.create)(**fields)
        seen.headed(raw.headers)
        _completion(raw.parse(), seen)


def _completion(answer: Any, seen: Seen) -> None:
    (choice,) = answer.choices
    seen["text"], seen["finish"] = choice.message.content or "", choice.finish_reason
    if parsed := getattr(choice.message, "parsed", None):
        seen["parsed"] = parsed.model_dump()
    for call in choice.message.tool_calls or ():
        seen.called(call.function.name, call.function.arguments)
    _usage(answer.usage, seen)


def _usage(usage: Any, seen: Seen) -> None:
    if usage is not None:
        saved = (usage.model_extra or {}).get("semcache_saved")
        given = usage.prompt_tokens if hasattr(usage, "prompt_tokens") else usage.input_tokens
        made = usage.completion_tokens if hasattr(usage, "completion_tokens") else usage.output_tokens
        seen.used(given, made, saved)


def _chat_chunks(client: openai.OpenAI, fields: dict[str, Any], job: Job, seen: Seen) -> None:
    """The plain stream, put together by hand as most programs do."""
    calls: dict[int, list[str]] = {}
    raw = client.chat.completions.with_raw_response.create(stream=True, **fields)
    seen.headed(raw.headers)
    with raw.parse() as stream:
        for chunk in stream:
            _usage(chunk.usage, seen)
            for choice in chunk.choices:
                seen.piece(choice.delta.content)
                seen["finish"] = choice.finish_reason or seen["finish"]
                for call in choice.delta.tool_calls or ():
                    parts = calls.setdefault(call.index, ["", ""])
                    parts[0] += call.function.name or ""
                    parts[1] += call.function.arguments or ""
            if seen.leaves(job):
                return
    for name, arguments in calls.values():
        seen.called(name, arguments)


def _chat_events(client: openai.OpenAI, fields: dict[str, Any], job: Job, seen: Seen) -> None:
    """The SDK's own helper, which parses as it streams."""
    with client.chat.completions.stream(**fields) as stream:
        for event in stream:
            if event.type == "content.delta":
                seen["pieces"] += 1
        _completion(stream.get_final_completion(), seen)


def responses(job: Job, seen: Seen) -> None:
    with _client(job) as client:
        fields: dict[str, Any] = {
            "model": job.model,
            "input": response_items(job) if job.told else job.question,
            "store": False,
        }
        if job.tools:
            fields["tools"] = [
                {"type": "function", "name": TOOL, "description": TOOL_WORDS, "parameters": PARAMETERS}
            ]
        if job.schema:
            fields["text_format"] = Fact
        if job.stream:
            with client.responses.stream(**fields) as stream:
                for event in stream:
                    if event.type == "response.output_text.delta":
                        seen.piece(event.delta)
                    if seen.leaves(job):
                        return
                _response(stream.get_final_response(), seen)
            return
        way = client.responses.with_raw_response
        raw = (way.parse if job.schema else way.create)(**fields)
        seen.headed(raw.headers)
        _response(raw.parse(), seen)


def _response(answer: Any, seen: Seen) -> None:
    seen["text"], seen["finish"] = answer.output_text, answer.status
    for item in answer.output:
        if item.type == "function_call":
            seen.called(item.name, item.arguments)
    if parsed := getattr(answer, "output_parsed", None):
        seen["parsed"] = parsed.model_dump()
    _usage(answer.usage, seen)


def _client(job: Job) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=f"{job.origin}/v1",
        api_key=job.key,
        max_retries=job.retries,
        timeout=job.timeout,
        default_headers=job.headers,
    )


def ask(job: Job, seen: Seen) -> None:
    (chat if job.kind == "chat" else responses)(job, seen)


serve(ask, "openai")
