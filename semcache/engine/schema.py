"""The border of the chat API: which bodies are taken, and how the others are refused.

Fields that nobody here knows are ignored, as compatible servers do. Fields that would change
the answer and cannot be honoured are refused with their name, so that no client takes an
answer for something it is not. Messages of errors never contain what the client sent.
"""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import Field, ValidationError

from semcache.engine.fields import (
    Border,
    Key,
    Message,
    Prediction,
    PrefixCache,
    ResponseFormat,
    StreamOptions,
    Tool,
)
from semcache.errors import RequestError

MAX_CHOICES = 8
MAX_STOPS = 4

_UNSUPPORTED = ("functions", "function_call", "audio", "web_search_options")

Stop = Annotated[str, Field(min_length=1, max_length=512)]
Bias = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]


class ChatBody(Border):
    """The body of POST /v1/chat/completions, field for field as in the OpenAI API reference.

    Beyond it: `top_k` (0 and -1: all) and `min_p` as other servers of open models have them,
    `cache_salt` as vLLM has it, and `prefix_cache`.
    """

    model: str
    messages: list[Message] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    n: int | None = Field(None, ge=1, le=MAX_CHOICES)
    seed: int | None = Field(None, ge=-(1 << 63), lt=1 << 63)
    stop: Stop | list[Stop] | None = None
    presence_penalty: float | None = Field(None, ge=-2, le=2, allow_inf_nan=False)
    frequency_penalty: float | None = Field(None, ge=-2, le=2, allow_inf_nan=False)
    logit_bias: dict[str, Bias] | None = Field(None, max_length=1024)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    response_format: ResponseFormat | None = None
    prediction: Prediction | None = None
    modalities: list[str] | None = None
    top_k: int | None = Field(None, ge=-1, lt=1 << 31)
    min_p: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    cache_salt: Key | None = None
    prefix_cache: PrefixCache | None = None


def parse_chat(raw: bytes) -> ChatBody:
    """Read and check a request body.

    Raises:
        RequestError: 400; `param` names the field as a path such as `messages[0].content`.
    """
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise RequestError("the body is not valid JSON", code="invalid_json") from None
    if not isinstance(document, dict):
        raise RequestError("the body must be a JSON object", code="invalid_json")
    try:
        body = ChatBody.model_validate(document)
    except ValidationError as error:
        raise _refusal(error) from None
    for name in _UNSUPPORTED:
        if document.get(name):
            raise unsupported(name)
    _check_together(body)
    return body


def unsupported(param: str) -> RequestError:
    """Build the refusal of a feature that this server does not have."""
    return RequestError(
        f"{param}: this value is not supported by this server", code="unsupported_parameter", param=param
    )


def _check_together(body: ChatBody) -> None:
    """Check what one field alone cannot show.

    Raises:
        RequestError: 400.
    """
    _check_format(body.response_format)
    _check_prediction(body)
    _check_prefix(body)
    if body.modalities is not None and body.modalities != ["text"]:
        raise unsupported("modalities")
    if body.tool_choice not in (None, "auto", "none"):
        raise unsupported("tool_choice")
    if isinstance(body.stop, list) and len(body.stop) > MAX_STOPS:
        raise _invalid(f"at most {MAX_STOPS} stop strings", "stop")
    if body.top_logprobs and not body.logprobs:
        raise _invalid("top_logprobs needs logprobs to be true", "top_logprobs")
    if body.stream_options is not None and not body.stream:
        raise _invalid("stream_options needs stream to be true", "stream_options")


def _check_format(asked: ResponseFormat | None) -> None:
    if asked is None or asked.type in ("text", "json_object"):
        return
    if asked.type != "json_schema":
        raise unsupported("response_format")
    if asked.json_schema is None:
        raise RequestError(
            "response_format.json_schema: Field required",
            code="missing_required_parameter",
            param="response_format.json_schema",
        )


def _check_prediction(body: ChatBody) -> None:
    if body.prediction is None:
        return
    if (body.n or 1) > 1:
        raise _invalid("cannot be combined with n above 1", "prediction")
    if isinstance(body.prediction.content, list):
        for number, part in enumerate(body.prediction.content):
            if part.type != "text" or part.text is None:
                raise _invalid("only text can be read", f"prediction.content[{number}]")


def _check_prefix(body: ChatBody) -> None:
    asked = body.prefix_cache
    if asked is None:
        return
    for name in ("public_messages", "tenant_messages"):
        if getattr(asked, name) > len(body.messages):
            raise _invalid("there are fewer messages", f"prefix_cache.{name}")


def _invalid(message: str, param: str) -> RequestError:
    return RequestError(f"{param}: {message}", code="invalid_value", param=param)


def _refusal(error: ValidationError) -> RequestError:
    """Turn one complaint into a refusal; its words hold the rule, not the client's value.

    The innermost complaint is taken: a value of several allowed forms fails each of them, and the
    form that was meant is the one whose check got furthest.
    """
    complaints = error.errors(include_url=False, include_context=False, include_input=False)
    first = max(complaints, key=lambda complaint: len(complaint["loc"]))
    path = _path(first["loc"])
    code = "missing_required_parameter" if first["type"] == "missing" else "invalid_value"
    return RequestError(f"{path}: {first['msg']}", code=code, param=path)


def _path(location: tuple[int | str, ...]) -> str:
    """Write a location the way the protocol does, without the names of union members or a client's own keys."""
    path = ""
    for step in location[:1] if location[0] == "logit_bias" else location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step.isidentifier() and step not in ("str", "dict"):
            path += f".{step}" if path else step
    return path
