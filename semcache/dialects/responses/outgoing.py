"""A chat body as a request of the responses API. Pure.

What changes the answer and has no word there is refused by its name; what says nothing is left away.
"""

from __future__ import annotations

from typing import Any

from semcache.core import JsonObject
from semcache.dialects.dialect import Written
from semcache.dialects.responses.fields import write_choice, write_format, write_tool
from semcache.dialects.responses.request import LOGPROBS, SAME
from semcache.dialects.responses.writing import unsaid, write_items

PATH = "/v1/responses"


def write(chat: JsonObject) -> Written:
    """Write a chat body as a request that keeps nothing at the other side.

    Raises:
        RequestError: 400 with the name of what responses has no word for and that changes the answer.
    """
    items = write_items(chat.get("messages"))
    instructions = items[0].get("content") if items[0].get("role") == "system" and len(items) > 1 else None
    leading = (
        {"instructions": instructions, "input": items[1:]}
        if instructions and isinstance(instructions, str)
        else {}
    )
    body: dict[str, Any] = {"model": chat.get("model"), "input": items, **leading, "store": False}
    for name, value in chat.items():
        if value is not None and name not in ("model", "messages"):
            _write_field(body, name, value)
    if chat.get("logprobs"):
        body["include"] = [LOGPROBS]
    elif chat.get("top_logprobs"):
        raise unsaid("top_logprobs")
    return Written(PATH, body)


_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "stop": ([], ""),
    "modalities": (["text"],),
    "logprobs": (True, False),
    "functions": ([],),
}
"""Values of fields without a word here that ask for nothing, or are said otherwise."""


def _write_field(body: dict[str, Any], name: str, value: Any) -> None:
    match name:
        case "store" | "stream_options":
            pass
        case "metadata" | "top_logprobs" | "parallel_tool_calls":
            body[name] = value
        case "max_completion_tokens":
            body["max_output_tokens"] = value
        case "max_tokens":
            # The older name of the same.
            body.setdefault("max_output_tokens", value)
        case "reasoning_effort":
            body["reasoning"] = {"effort": value}
        case "tools" | "tool_choice" | "response_format" | "verbosity":
            _write_shaped(body, name, value)
        case _ if name in SAME:
            body[name] = value
        case _ if name not in _NEUTRAL or value not in _NEUTRAL[name]:
            raise unsaid(name)


def _write_shaped(body: dict[str, Any], name: str, value: Any) -> None:
    match name:
        case "tools":
            body[name] = [_said(name, write_tool(tool)) for tool in value]
        case "tool_choice":
            body[name] = _said(name, write_choice(value))
        case "response_format":
            body.setdefault("text", {})["format"] = _said(name, write_format(value))
        case "verbosity":
            body.setdefault("text", {})["verbosity"] = value


def _said(name: str, found: Any) -> Any:
    if found is None:
        raise unsaid(name)
    return found
