"""LangChain's chat models; the kind is `openai`, `responses` or `anthropic`."""

from __future__ import annotations

from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from talk import GIVEN, PARAMETERS, RESULT, TOOL, TOOL_WORDS, Job, Seen, serve


class Fact(BaseModel):
    """What is known."""

    place: str
    days: int
    text: str


def ask(job: Job, seen: Seen) -> None:
    model: Any = _anthropic(job) if job.kind == "anthropic" else _openai(job)
    if job.tools:
        model = model.bind_tools([{"title": TOOL, "description": TOOL_WORDS, **PARAMETERS}])
    if job.schema:
        model = model.with_structured_output(Fact, method="json_schema", include_raw=True)
        found = model.invoke(job.question)
        _message(found["raw"], seen)
        if found["parsing_error"]:
            raise found["parsing_error"]
        seen["parsed"] = found["parsed"].model_dump()
        return
    if not job.stream:
        _message(model.invoke(_conversation(job)), seen)
        return
    whole = None
    stream = model.stream(_conversation(job))
    for chunk in stream:
        whole = chunk if whole is None else whole + chunk
        seen.piece(_text(chunk))
        if seen.leaves(job):
            stream.close()
            return
    _message(whole, seen)


def _conversation(job: Job) -> Any:
    if not job.told:
        return job.question
    call = {"name": TOOL, "args": GIVEN, "id": "call_1"}
    said = AIMessage(content="", tool_calls=[call])
    return [HumanMessage(job.question), said, ToolMessage(RESULT, tool_call_id="call_1")]


def _openai(job: Job) -> ChatOpenAI:
    return ChatOpenAI(
        model=job.model,
        base_url=f"{job.origin}/v1",
        api_key=job.key,
        max_retries=job.retries,
        timeout=job.timeout,
        default_headers=job.headers,
        stream_usage=True,
        include_response_headers=True,
        use_responses_api=job.kind == "responses",
        **({"store": False} if job.kind == "responses" else {}),
    )


def _anthropic(job: Job) -> ChatAnthropic:
    return ChatAnthropic(
        model=job.model,
        base_url=job.origin,
        api_key=job.key,
        max_retries=job.retries,
        timeout=job.timeout,
        default_headers=job.headers,
        max_tokens=2000,
    )


def _text(message: Any) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(part.get("text", "") for part in message.content if part.get("type") == "text")


def _message(message: Any, seen: Seen) -> None:
    seen["text"] = _text(message)
    told = message.response_metadata
    seen["finish"] = told.get("finish_reason") or told.get("stop_reason") or told.get("status")
    for call in message.tool_calls:
        seen.called(call["name"], call["args"])
    if usage := message.usage_metadata:
        seen.used(usage["input_tokens"], usage["output_tokens"])
    seen.headed(told.get("headers") or {})


serve(ask, "langchain-openai", "langchain-anthropic", "langchain-core", "openai", "anthropic")
