"""LiteLLM as a client; the kind is the provider word in front of the model's name."""

from __future__ import annotations

import json
from typing import Any

import litellm
from pydantic import BaseModel
from talk import PARAMETERS, TOOL, TOOL_WORDS, Job, Seen, chat_messages, serve


class Fact(BaseModel):
    place: str
    days: int
    text: str


litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.drop_params = False


def ask(job: Job, seen: Seen) -> None:
    fields: dict[str, Any] = {
        "model": f"{job.kind}/{job.model}",
        "messages": chat_messages(job),
        "api_base": job.origin + {"openai": "/v1", "gemini": "/v1beta"}.get(job.kind, ""),
        "api_key": job.key,
        "extra_headers": job.headers,
        "timeout": job.timeout,
    }
    # Where LiteLLM calls another SDK that SDK repeats; else LiteLLM does, when told to by another name.
    fields["max_retries" if job.kind == "openai" else "num_retries"] = job.retries
    if job.tools:
        function = {"name": TOOL, "description": TOOL_WORDS, "parameters": PARAMETERS}
        fields["tools"] = [{"type": "function", "function": function}]
    if job.schema:
        fields["response_format"] = Fact
    if job.stream:
        _streamed(fields, job, seen)
    else:
        answer = litellm.completion(**fields)
        seen.headed(
            {
                name.removeprefix("llm_provider-"): value
                for name, value in (answer._hidden_params.get("additional_headers") or {}).items()
            }
        )
        _whole(answer, seen)
    if job.schema:
        seen["parsed"] = json.loads(seen["text"])


def _whole(answer: Any, seen: Seen) -> None:
    (choice,) = answer.choices
    seen["text"], seen["finish"] = choice.message.content or "", choice.finish_reason
    for call in choice.message.tool_calls or ():
        seen.called(call.function.name, call.function.arguments)
    usage = answer.usage
    seen.used(usage.prompt_tokens, usage.completion_tokens)


def _streamed(fields: dict[str, Any], job: Job, seen: Seen) -> None:
    stream = litellm.completion(stream=True, stream_options={"include_usage": True}, **fields)
    chunks = []
    for chunk in stream:
        chunks.append(chunk)
        for choice in chunk.choices:
            seen.piece(choice.delta.content)
        if seen.leaves(job):
            _close(stream)
            return
    pieces = seen["pieces"]
    _whole(litellm.stream_chunk_builder(chunks), seen)
    seen["pieces"] = pieces


def _close(stream: Any) -> None:
    """LiteLLM's synchronous stream has no close of its own; what it reads from has."""
    inner = stream.completion_stream
    (getattr(inner, "close", None) or inner.response.close)()


serve(ask, "litellm")
