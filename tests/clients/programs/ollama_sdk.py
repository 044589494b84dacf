"""The ollama library for Python."""

from __future__ import annotations

import json

import ollama
from talk import PARAMETERS, SCHEMA, TOOL, TOOL_WORDS, Job, Seen, ollama_messages, serve


def ask(job: Job, seen: Seen) -> None:
    headers = {"authorization": f"Bearer {job.key}", **job.headers}
    client = ollama.Client(host=job.origin, headers=headers, timeout=job.timeout)
    function = {"name": TOOL, "description": TOOL_WORDS, "parameters": PARAMETERS}
    answer = client.chat(
        model=job.model,
        messages=ollama_messages(job),
        tools=[{"type": "function", "function": function}] if job.tools else None,
        format=SCHEMA if job.schema else None,
        stream=job.stream,
    )
    if not job.stream:
        _take(answer, seen)
        seen["pieces"] = 0
    else:
        for part in answer:
            _take(part, seen)
            if seen.leaves(job):
                answer.close()
                return
    if job.schema:
        seen["parsed"] = json.loads(seen["text"])


def _take(part: ollama.ChatResponse, seen: Seen) -> None:
    seen.piece(part.message.content)
    for call in part.message.tool_calls or ():
        seen.called(call.function.name, dict(call.function.arguments))
    if part.done:
        seen["finish"] = part.done_reason
        seen.used(part.prompt_eval_count, part.eval_count)


serve(ask, "ollama")
