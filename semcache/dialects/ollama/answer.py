"""Whole answers of Ollama in chat's words, and back.

Pure. Works on the shape of `/api/chat`; an answer of `/api/generate` is brought into it first: there text, thinking and
calls stand at the top, with no message around them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.dialect import UsageMode
from semcache.dialects.plain import EMPTY, Call, Said, chat_call, said
from semcache.dialects.usage import read_ollama

DURATIONS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
COUNTS = ("prompt_eval_count", "eval_count")
NO_TIME = dict.fromkeys(DURATIONS, 1)
"""Nanoseconds of what took none: clients divide by these."""
FRESH = frozenset(("created_at", *DURATIONS))
"""Of the call alone."""
_AT_THE_TOP = {"response": "content", "thinking": "thinking", "tool_calls": "tool_calls"}


def to_message(answer: JsonObject) -> dict[str, Any]:
    """Give an answer of generate, or a line of its stream, in the shape of chat's.

    Raises:
        ValueError: it already has a message.
    """
    if "message" in answer:
        raise ValueError("an answer of generate with a message")
    message = {word: answer[name] for name, word in _AT_THE_TOP.items() if name in answer}
    rest = {name: value for name, value in answer.items() if name not in _AT_THE_TOP}
    return {**rest, "message": {"role": "assistant", **message}}


def from_message(answer: JsonObject) -> dict[str, Any]:
    """Undo `to_message`."""
    message = answer["message"]
    top = {name: message[word] for name, word in _AT_THE_TOP.items() if word in message}
    out: dict[str, Any] = {}
    for name, value in answer.items():
        out |= top if name == "message" else {name: value}
    return out


def read_answer(answer: JsonObject) -> dict[str, Any]:
    """Give an answer as a `chat.completion` without `id` and `created`.

    Raises:
        ValueError: it has not the shape of one.
    """
    message = answer.get("message")
    if not isinstance(message, dict):
        raise ValueError("an answer without a message")
    calls = read_calls(message.get("tool_calls"), 0)
    content = message.get("content")
    told: dict[str, Any] = {"role": "assistant", "content": (content or None) if calls else content}
    if message.get("thinking"):
        told["reasoning_content"] = message["thinking"]
    if calls:
        told["tool_calls"] = calls
    choice = {
        "index": 0,
        "message": told,
        "logprobs": chat_logprobs(answer.get("logprobs")),
        "finish_reason": finish_of(answer, has_calls=bool(calls)),
    }
    document = {"object": "chat.completion", "model": answer.get("model"), "choices": [choice]}
    if answer.get("error"):
        document["error"] = answer["error"]
    usage = chat_usage(answer)
    return document if usage is None else {**document, "usage": usage}


def read_calls(calls: Any, first: int) -> list[dict[str, Any]]:
    """Give tool calls in chat's words; those without an id are counted from `first`.

    Raises:
        ValueError: they have not the shape of calls.
    """
    if calls in EMPTY:
        return []
    if not isinstance(calls, list):
        raise ValueError("tool_calls")
    return [_read_call(call, number) for number, call in enumerate(calls, first)]


def _read_call(call: Any, number: int) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise ValueError("tool_calls")
    return chat_call(call.get("id") or f"call_{number}", function["name"], function.get("arguments") or {})


def chat_logprobs(tokens: Any) -> dict[str, Any] | None:
    """Give log probabilities in chat's words."""
    return {"content": tokens, "refusal": None} if tokens else None


def finish_of(answer: JsonObject, *, has_calls: bool) -> str | None:
    """Give why the model ended; None while it has not, or did not say."""
    reason = answer.get("done_reason") if answer.get("done") is True else None
    if not isinstance(reason, str) or not reason:
        return None
    return "tool_calls" if reason == "stop" and has_calls else reason


def chat_usage(answer: JsonObject) -> dict[str, Any] | None:
    """Give the token counts in chat's words."""
    usage = read_ollama(answer)
    if usage is None:
        return None
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def own_usage(usage: Any) -> dict[str, Any]:
    """Give chat's token counts in Ollama's words; counts of 0 are left out."""
    names = ("prompt_tokens", "completion_tokens")
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else [None, None]
    return {own: count for own, count in zip(COUNTS, counts, strict=True) if isinstance(count, int) and count}


def write_answer(chat: JsonObject) -> dict[str, Any]:
    """Give a `chat.completion` as an answer.

    Raises:
        ValueError: it says what Ollama has no word for.
    """
    told = said(chat)
    if len(told) != 1:
        raise ValueError("no word for several choices")
    (one,) = told
    answer = {
        "model": chat.get("model"),
        "created_at": time_of(chat.get("created") or 0),
        "message": _message(one),
        "done": True,
        "done_reason": done_reason(one.finish),
        **NO_TIME,
        **own_usage(chat.get("usage")),
    }
    return answer if one.logprobs is None else {**answer, "logprobs": one.logprobs}


def _message(one: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": one.text or ""}
    if one.reasoning:
        message["thinking"] = one.reasoning
    if one.calls:
        message["tool_calls"] = write_calls(one.calls)
    return message


def write_calls(calls: tuple[Call, ...]) -> list[dict[str, Any]]:
    """Give tool calls in Ollama's words."""
    return [
        {"id": call.id, "function": {"index": number, "name": call.name, "arguments": call.arguments}}
        for number, call in enumerate(calls)
    ]


def done_reason(finish: str | None) -> str | None:
    """Give why the model ended, in Ollama's words; those it has not stay as they are."""
    return "stop" if finish in ("tool_calls", "function_call") else finish


def bare(answer: JsonObject) -> dict[str, Any]:
    """Leave time and durations away."""
    return {name: value for name, value in answer.items() if name not in FRESH}


def time_of(created: int) -> str:
    """Give Unix seconds as Ollama writes times (RFC 3339)."""
    return datetime.fromtimestamp(created, UTC).isoformat().removesuffix("+00:00") + "Z"


def replayed(answer: JsonObject, usage: UsageMode) -> dict[str, Any]:
    """Give the last object of a replay: it took no time, and nothing was spent unless the first counts are wanted."""
    if usage == "original":
        return {**answer, **NO_TIME}
    counted = {name: answer[name] for name in COUNTS if name in answer}
    zero: dict[str, Any] = {**NO_TIME, **dict.fromkeys(COUNTS, 0)}
    return {**answer, **zero, **({"semcache_saved": counted} if counted else {})}
