"""The google-genai SDK for Python, on the Gemini API."""

from __future__ import annotations

from typing import Any

from google import genai
from google.genai import types
from pydantic import BaseModel
from talk import GIVEN, PARAMETERS, RESULT, TOOL, TOOL_WORDS, Job, Seen, serve


class Fact(BaseModel):
    place: str
    days: int
    text: str


def ask(job: Job, seen: Seen) -> None:
    options = types.HttpOptions(
        base_url=job.origin,
        headers=job.headers,
        timeout=int(job.timeout * 1000),
        retry_options=types.HttpRetryOptions(attempts=1 + job.retries, initial_delay=0.05, jitter=0.01),
    )
    config: dict[str, Any] = {}
    if job.tools:
        function = types.FunctionDeclaration(
            name=TOOL, description=TOOL_WORDS, parameters_json_schema=PARAMETERS
        )
        config["tools"] = [types.Tool(function_declarations=[function])]
    if job.schema:
        config |= {"response_mime_type": "application/json", "response_schema": Fact}
    with genai.Client(api_key=job.key, vertexai=False, http_options=options) as client:
        fields: dict[str, Any] = {
            "model": job.model,
            "contents": _contents(job),
            "config": types.GenerateContentConfig(**config),
        }
        if not job.stream:
            answer = client.models.generate_content(**fields)
            _take(answer, seen)
            seen["pieces"] = 0
            if job.schema and answer.parsed is not None:
                seen["parsed"] = answer.parsed.model_dump()
            return
        stream = client.models.generate_content_stream(**fields)
        for part in stream:
            _take(part, seen)
            if seen.leaves(job):
                stream.close()
                return
        if job.schema:
            seen["parsed"] = Fact.model_validate_json(seen["text"]).model_dump()


def _contents(job: Job) -> Any:
    if not job.told:
        return job.question
    return [
        types.Content(role="user", parts=[types.Part(text=job.question)]),
        types.Content(role="model", parts=[types.Part.from_function_call(name=TOOL, args=GIVEN)]),
        types.Content(
            role="user", parts=[types.Part.from_function_response(name=TOOL, response={"result": RESULT})]
        ),
    ]


def _take(answer: types.GenerateContentResponse, seen: Seen) -> None:
    for candidate in answer.candidates or ():
        for part in (candidate.content and candidate.content.parts) or ():
            seen.piece(part.text)
            if part.function_call:
                seen.called(part.function_call.name, part.function_call.args)
        if candidate.finish_reason:
            seen["finish"] = candidate.finish_reason.value
    if usage := answer.usage_metadata:
        seen.used(usage.prompt_token_count or 0, usage.candidates_token_count or 0)
    if answer.sdk_http_response and answer.sdk_http_response.headers:
        seen.headed(answer.sdk_http_response.headers)


serve(ask, "google-genai")
