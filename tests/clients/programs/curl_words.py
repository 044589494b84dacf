"""Requests and answers of five protocols as a person at a shell writes and reads them: path, headers, JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from talk import (
    PARAMETERS,
    SCHEMA,
    TOOL,
    TOOL_WORDS,
    Job,
    Seen,
    chat_messages,
    gemini_contents,
    message_turns,
    ollama_messages,
    response_items,
)

Json = dict[str, Any]
_FUNCTION = {"name": TOOL, "description": TOOL_WORDS, "parameters": PARAMETERS}
_NAMED = {"name": "fact", "schema": SCHEMA, "strict": True}


@dataclass(frozen=True)
class Words:
    """One protocol: how it is asked, how a whole answer and one event of a stream are read."""

    path: str
    key: str
    """Its header with the key."""
    ask: Callable[[Job], Json]
    whole: Callable[[Json, Seen], None]
    event: Callable[[Json, Seen], None]


def open_call(seen: Seen, name: str, arguments: Any = "") -> None:
    seen["calls"].append({"name": name, "arguments": arguments})


def more(seen: Seen, text: str) -> None:
    seen["calls"][-1]["arguments"] += text


def _head(job: Job) -> Json:
    return {"model": job.model, "stream": job.stream}


def _chat(job: Job) -> Json:
    body = {**_head(job), "messages": chat_messages(job)}
    if job.stream:
        body["stream_options"] = {"include_usage": True}
    if job.tools:
        body["tools"] = [{"type": "function", "function": _FUNCTION}]
    if job.schema:
        body["response_format"] = {"type": "json_schema", "json_schema": _NAMED}
    return body


def _chat_whole(body: Json, seen: Seen) -> None:
    message = body["choices"][0]["message"]
    seen["text"], seen["finish"] = message["content"] or "", body["choices"][0]["finish_reason"]
    for call in message.get("tool_calls") or ():
        open_call(seen, call["function"]["name"], call["function"]["arguments"])
    _chat_usage(body["usage"], seen)


def _chat_usage(usage: Json, seen: Seen) -> None:
    seen.used(usage["prompt_tokens"], usage["completion_tokens"], usage.get("semcache_saved"))


def _chat_event(event: Json, seen: Seen) -> None:
    if usage := event.get("usage"):
        _chat_usage(usage, seen)
    for choice in event["choices"]:
        seen.piece(choice["delta"].get("content"))
        seen["finish"] = choice["finish_reason"] or seen["finish"]
        for call in choice["delta"].get("tool_calls") or ():
            if call.get("id"):
                open_call(seen, call["function"]["name"])
            more(seen, call["function"].get("arguments") or "")


def _responses(job: Job) -> Json:
    body: Json = {"model": job.model, "stream": job.stream, "input": response_items(job), "store": False}
    if job.tools:
        body["tools"] = [{"type": "function", **_FUNCTION}]
    if job.schema:
        body["text"] = {"format": {"type": "json_schema", **_NAMED}}
    return body


def _responses_whole(body: Json, seen: Seen) -> None:
    messages = [item for item in body["output"] if item["type"] == "message"]
    seen["text"] = "".join(part["text"] for item in messages for part in item["content"])
    seen["finish"] = body["status"]
    for item in body["output"]:
        if item["type"] == "function_call":
            open_call(seen, item["name"], item["arguments"])
    usage = body["usage"]
    seen.used(usage["input_tokens"], usage["output_tokens"], usage.get("semcache_saved"))


def _responses_event(event: Json, seen: Seen) -> None:
    if event["type"] == "response.output_text.delta":
        seen.piece(event["delta"])
    if event["type"] == "response.completed":
        pieces = seen["pieces"]
        _responses_whole(event["response"], seen)
        seen["pieces"] = pieces


def _messages(job: Job) -> Json:
    body = {**_head(job), "messages": message_turns(job), "max_tokens": 2000}
    if job.tools:
        body["tools"] = [{"name": TOOL, "description": TOOL_WORDS, "input_schema": PARAMETERS}]
    if job.schema:
        body["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMA}}
    return body


def _messages_whole(body: Json, seen: Seen) -> None:
    seen["text"] = "".join(block.get("text", "") for block in body["content"])
    seen["finish"] = body["stop_reason"]
    for block in body["content"]:
        if block["type"] == "tool_use":
            open_call(seen, block["name"], block["input"])
    usage = body["usage"]
    seen.used(usage["input_tokens"], usage["output_tokens"], usage.get("semcache_saved"))


def _messages_event(event: Json, seen: Seen) -> None:
    match event["type"]:
        case "message_start":
            seen["usage"] = {"input": event["message"]["usage"]["input_tokens"]}
        case "content_block_start" if event["content_block"]["type"] == "tool_use":
            open_call(seen, event["content_block"]["name"])
        case "content_block_delta" if event["delta"]["type"] == "input_json_delta":
            more(seen, event["delta"]["partial_json"])
        case "content_block_delta":
            seen.piece(event["delta"].get("text"))
        case "message_delta":
            seen["finish"] = event["delta"]["stop_reason"]
            usage = event["usage"]
            given = usage.get("input_tokens", seen["usage"]["input"])
            seen.used(given, usage["output_tokens"], usage.get("semcache_saved"))


def _ollama(job: Job) -> Json:
    body = {**_head(job), "messages": ollama_messages(job)}
    if job.tools:
        body["tools"] = [{"type": "function", "function": _FUNCTION}]
    if job.schema:
        body["format"] = SCHEMA
    return body


def _ollama_part(body: Json, seen: Seen) -> None:
    seen.piece(body["message"].get("content"))
    for call in body["message"].get("tool_calls") or ():
        open_call(seen, call["function"]["name"], call["function"]["arguments"])
    if body["done"]:
        seen["finish"] = body["done_reason"]
        seen.used(body.get("prompt_eval_count", 0), body.get("eval_count", 0))


def _gemini(job: Job) -> Json:
    body: Json = {"contents": gemini_contents(job)}
    if job.tools:
        declared = {"name": TOOL, "description": TOOL_WORDS, "parametersJsonSchema": PARAMETERS}
        body["tools"] = [{"functionDeclarations": [declared]}]
    if job.schema:
        form = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
        body["generationConfig"] = form
    return body


def _gemini_part(body: Json, seen: Seen) -> None:
    candidate = body["candidates"][0]
    for part in candidate.get("content", {}).get("parts", []):
        seen.piece(part.get("text"))
        if call := part.get("functionCall"):
            open_call(seen, call["name"], call["args"])
    seen["finish"] = candidate.get("finishReason") or seen["finish"]
    usage = body.get("usageMetadata") or {}
    seen.used(usage.get("promptTokenCount", 0), usage.get("candidatesTokenCount", 0))


_BEARER = "authorization: Bearer {key}"
WORDS = {
    "chat": Words("/v1/chat/completions", _BEARER, _chat, _chat_whole, _chat_event),
    "responses": Words("/v1/responses", _BEARER, _responses, _responses_whole, _responses_event),
    "messages": Words("/v1/messages", "x-api-key: {key}", _messages, _messages_whole, _messages_event),
    "ollama": Words("/api/chat", _BEARER, _ollama, _ollama_part, _ollama_part),
    "gemini": Words(
        "/v1beta/models/{model}:{verb}", "x-goog-api-key: {key}", _gemini, _gemini_part, _gemini_part
    ),
}
