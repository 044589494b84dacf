"""Whole answers of Gemini in chat's words, and back.

Pure. A candidate is a list of parts; chat is told its texts, thoughts and calls. Signatures of thoughts, citations, grounding
and media have no word there: such an answer is kept in Gemini's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.dialect import UsageMode
from semcache.dialects.plain import Call, Said, chat_call, said
from semcache.dialects.usage import read_gemini

FRESH = frozenset(("responseId", "createTime"))
"""Fresh in every replay."""
_TO_CHAT = {"STOP": "stop", "MAX_TOKENS": "length"}
_FILTERED = frozenset(
    (
        "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR",
    )
)  # fmt: skip
_FROM_CHAT = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "function_call": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}
_COUNTS = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")


def read_answer(answer: JsonObject) -> dict[str, Any]:
    """Give an answer as a `chat.completion` without `id` and `created`.

    Raises:
        ValueError: it has not the shape of one.
    """
    blocked = is_blocked(answer)
    candidates = answer.get("candidates") or ([{}] if blocked else [])
    if not isinstance(candidates, list) or not all(isinstance(one, dict) for one in candidates):
        raise ValueError("candidates")
    document = {
        "object": "chat.completion",
        "model": answer.get("modelVersion"),
        "choices": [_choice(one, blocked=blocked) for one in candidates],
    }
    if answer.get("error"):
        document["error"] = answer["error"]
    usage = chat_usage(answer.get("usageMetadata"))
    return document if usage is None else {**document, "usage": usage}


def is_blocked(answer: JsonObject) -> bool:
    """Tell whether the question itself was refused."""
    feedback = answer.get("promptFeedback")
    return isinstance(feedback, dict) and bool(feedback.get("blockReason"))


def _choice(candidate: JsonObject, *, blocked: bool) -> dict[str, Any]:
    parts = parts_of(candidate)
    calls = read_calls(parts, 0)
    message: dict[str, Any] = {"role": "assistant", "content": text_of(parts)}
    if thoughts := thoughts_of(parts):
        message["reasoning_content"] = thoughts
    if calls:
        message["tool_calls"] = calls
    reason = "PROHIBITED_CONTENT" if blocked else candidate.get("finishReason")
    return {
        "index": candidate.get("index", 0),
        "message": message,
        "logprobs": chat_logprobs(candidate.get("logprobsResult")),
        "finish_reason": finish_of(reason, has_calls=bool(calls)),
    }


def parts_of(candidate: JsonObject) -> list[dict[str, Any]]:
    """Give the parts of a candidate.

    Raises:
        ValueError: they have not the shape of parts.
    """
    content = candidate.get("content") or {}
    if not isinstance(content, dict):
        raise ValueError("candidates.content")
    parts = content.get("parts") or []
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError("candidates.content.parts")
    return parts


def text_of(parts: list[dict[str, Any]]) -> str | None:
    """Give the text that is no thought; None: there is none."""
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    return "".join(texts) or None


def thoughts_of(parts: list[dict[str, Any]]) -> str:
    """Give the thoughts."""
    return "".join(
        part["text"] for part in parts if isinstance(part.get("text"), str) and part.get("thought")
    )


def read_calls(parts: list[dict[str, Any]], first: int) -> list[dict[str, Any]]:
    """Give tool calls in chat's words; those without an id are counted from `first`.

    Raises:
        ValueError: they have not the shape of calls.
    """
    calls = [part["functionCall"] for part in parts if part.get("functionCall") is not None]
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        raise ValueError("functionCall")
    return [
        chat_call(call.get("id") or f"call_{number}", call["name"], call.get("args") or {})
        for number, call in enumerate(calls, first)
    ]


def finish_of(reason: Any, *, has_calls: bool) -> str | None:
    """Give why a candidate ended, in chat's words; those chat has not are written small."""
    if not isinstance(reason, str) or not reason:
        return None
    if reason in _FILTERED:
        return "content_filter"
    finish = _TO_CHAT.get(reason, reason.lower())
    return "tool_calls" if finish == "stop" and has_calls else finish


def chat_usage(usage: Any) -> dict[str, Any] | None:
    """Give the token counts in chat's words."""
    counts = read_gemini(usage)
    if counts is None:
        return None
    out: dict[str, Any] = {
        "prompt_tokens": counts.prompt_tokens,
        "completion_tokens": counts.completion_tokens,
        "total_tokens": counts.prompt_tokens + counts.completion_tokens,
    }
    if counts.cached_tokens:
        out["prompt_tokens_details"] = {"cached_tokens": counts.cached_tokens}
    if counts.reasoning_tokens:
        out["completion_tokens_details"] = {"reasoning_tokens": counts.reasoning_tokens}
    return out


def chat_logprobs(result: Any) -> dict[str, Any] | None:
    """Give log probabilities in chat's words.

    Raises:
        ValueError: they have not the shape of any.
    """
    chosen = result.get("chosenCandidates") if isinstance(result, dict) else None
    if not chosen:
        return None
    tops = result.get("topCandidates") or []
    if not isinstance(chosen, list) or not isinstance(tops, list):
        raise ValueError("logprobsResult")
    ranked = [one.get("candidates") or [] if isinstance(one, dict) else None for one in tops]
    if not all(isinstance(one, list) for one in ranked):
        raise ValueError("logprobsResult")
    content: list[dict[str, Any]] = []
    for number, token in enumerate(chosen):
        others = ranked[number] or [] if number < len(ranked) else []
        content.append({**_token(token), "top_logprobs": [_token(one) for one in others]})
    return {"content": content, "refusal": None}


def _token(value: Any) -> dict[str, Any]:
    token = value.get("token", "") if isinstance(value, dict) else None
    if not isinstance(token, str):
        raise ValueError("logprobsResult")
    return {"token": token, "logprob": value.get("logProbability", 0.0), "bytes": list(token.encode())}


def write_answer(chat: JsonObject) -> dict[str, Any]:
    """Give a `chat.completion` as an answer.

    Raises:
        ValueError: it says what Gemini has no word for.
    """
    answer: dict[str, Any] = {"candidates": [_candidate(*one) for one in enumerate(said(chat))]}
    usage = own_usage(chat.get("usage"))
    if usage is not None:
        answer["usageMetadata"] = usage
    answer["modelVersion"] = chat.get("model")
    return answer if chat.get("id") is None else {**answer, "responseId": chat["id"]}


def _candidate(index: int, one: Said) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if one.reasoning:
        parts.append({"text": one.reasoning, "thought": True})
    if one.text:
        parts.append({"text": one.text})
    parts += write_calls(one.calls)
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}}
    if one.finish is not None:
        candidate["finishReason"] = own_finish(one.finish)
    candidate["index"] = index
    if one.logprobs is not None:
        candidate["logprobsResult"] = own_logprobs(one.logprobs)
    return candidate


def write_calls(calls: tuple[Call, ...]) -> Iterator[dict[str, Any]]:
    """Give tool calls as parts."""
    for call in calls:
        yield {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}


def own_finish(finish: str) -> str:
    """Give why a choice ended, in Gemini's words."""
    return _FROM_CHAT.get(finish, finish.upper())


def own_usage(usage: Any) -> dict[str, Any] | None:
    """Give chat's token counts in Gemini's words; None where there are none."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    thoughts = min(_detail(usage, "completion_tokens_details", "reasoning_tokens"), completion)
    out = dict(zip(_COUNTS, (prompt, completion - thoughts, prompt + completion), strict=True))
    if cached:
        out["cachedContentTokenCount"] = cached
    return out if not thoughts else {**out, "thoughtsTokenCount": thoughts}


def _detail(usage: JsonObject, group: str, name: str) -> int:
    details = usage.get(group)
    value = details.get(name) if isinstance(details, dict) else None
    return value if isinstance(value, int) else 0


def own_logprobs(tokens: list[Any]) -> dict[str, Any]:
    """Give chat's log probabilities in Gemini's words.

    Raises:
        ValueError: a token is a piece of a character, or says more than its probability.
    """
    chosen = [_own_token(token, frozenset(("top_logprobs",))) for token in tokens]
    ranked = [[_own_token(one) for one in _others(token)] for token in tokens]
    out: dict[str, Any] = {"chosenCandidates": chosen}
    return {**out, "topCandidates": [{"candidates": one} for one in ranked]} if any(ranked) else out


def _others(token: JsonObject) -> list[Any]:
    others = token.get("top_logprobs") or []
    if not isinstance(others, list):
        raise ValueError("logprobs.top_logprobs")
    return others


def _own_token(token: Any, more: frozenset[str] = frozenset()) -> dict[str, Any]:
    if not isinstance(token, dict) or token.keys() - {"token", "logprob", "bytes"} - more:
        raise ValueError("logprobs")
    text = token.get("token")
    if not isinstance(text, str) or token.get("bytes") not in (None, list(text.encode())):
        raise ValueError("logprobs.bytes")
    return {"token": text, "logProbability": token.get("logprob")}


def bare(answer: JsonObject) -> dict[str, Any]:
    """Leave id and time away."""
    return {name: value for name, value in answer.items() if name not in FRESH}


def replayed(answer: JsonObject, usage: UsageMode) -> dict[str, Any]:
    """Give the usage of a replay: nothing was spent unless the first counts are wanted."""
    if usage == "original":
        return dict(answer)
    first = answer.get("usageMetadata")
    kept = {"semcache_saved": first} if isinstance(first, dict) else {}
    return {**answer, "usageMetadata": {**dict.fromkeys(_COUNTS, 0), **kept}}
