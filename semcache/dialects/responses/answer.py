"""Answers of the responses API in chat's words, and back. Pure.

What of a chat answer has no word travels in one field of our own, `semcache_chat`, so that nothing is lost and no field
of the API gets another meaning. What of a response chat cannot say is lost here: whoever keeps answers keeps both forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.chat.answer import DROPPED
from semcache.dialects.responses.saying import CHAT_FIELD, Said, plain_rest
from semcache.dialects.usage import read_usage

_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "mcp_call": "mcp",
}
_OF_THE_CALL = frozenset(
    (
        "metadata",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "prompt_cache_diagnostics",
        "input_transformations",
    )
)
"""What the answer repeats of its call without depending on it: it names who asked, and others may be told this answer."""
FRESH = frozenset(("id", "created_at", "completed_at"))
_ECHO: dict[str, Any] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": False,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
}
"""What a response repeats of its request, where the request is not known."""
_FINISHED = ("stop", "tool_calls", "function_call")
_KNOWN = frozenset(("object", "id", "created", "model", "choices", "usage", "service_tier", "error"))

Name = Callable[[str, str], Any]
"""Gives a name: of the prefix, and of what sets it apart from others in the same answer."""


def read_answer(answer: JsonObject) -> dict[str, Any]:
    """Give a response as a `chat.completion` without `id` and `created`.

    Raises:
        ValueError: it has not the protocol's shape.
    """
    output = answer.get("output")
    if answer.get("object", "response") != "response":
        raise ValueError("no response")
    usage = read_counts(answer.get("usage"))
    counted = {} if usage is None else {"usage": usage}
    if answer.get("error"):
        return {
            "object": "chat.completion",
            "model": answer.get("model"),
            "error": answer["error"],
            **counted,
        }
    if not isinstance(output, list):
        raise ValueError("output is no array")
    said = Said()
    for item in output:
        said.add(item)
    extras = _extras(answer)
    finish = _finish(answer, said)
    choice = {"index": 0, "message": said.message(), "logprobs": said.logprobs(), "finish_reason": finish}
    for name, more in extras.get("message", {}).items():
        choice["message"].setdefault(name, more)
    tier = answer.get("service_tier")
    return {
        **{name: more for name, more in extras.get("document", {}).items() if name not in _KNOWN},
        "object": "chat.completion",
        "model": answer.get("model"),
        "choices": [{**extras.get("choice", {}), **choice}],
        **counted,
        **({} if tier is None else {"service_tier": tier}),
    }


def write_answer(chat: JsonObject) -> dict[str, Any]:
    """Give a `chat.completion` as a response; its `id` says which names to give.

    Raises:
        ValueError: it says what a response has no word for.
    """
    own = str(chat.get("id") or "").rpartition("-")[2] or "0"
    return dressed(_written(chat), lambda prefix, suffix: f"{prefix}_{own}{suffix}", chat.get("created") or 0)


def dressed(bare: JsonObject, name: Name, created: Any) -> dict[str, Any]:
    """Give a response its names and times.

    Args:
        bare: as `bare` gives it.
        name: gives the names of the response and its items.
        created: Unix seconds, in whatever form they are written later.
    """
    done = created if bare.get("status") == "completed" else None
    first = {name: bare[name] for name in ("object", "status") if name in bare}
    whole = {"id": name("resp", ""), **first, "created_at": created, "completed_at": done, **bare}
    if isinstance(bare.get("output"), list):
        whole["output"] = [
            {"id": item_name(name, item.get("type"), number), **item} if isinstance(item, dict) else item
            for number, item in enumerate(bare["output"])
        ]
    return {**whole, "user": None, "metadata": None}


def item_name(name: Name, kind: Any, number: int) -> Any:
    """Give an output item its name: `kind` is its type, `number` its place."""
    return name(_PREFIXES.get(kind, "item") if isinstance(kind, str) else "item", f"{number:02x}")


def bare(answer: JsonObject) -> dict[str, Any]:
    """Leave names and times away, and what names the asker."""
    kept = {key: value for key, value in answer.items() if key not in FRESH and key not in _OF_THE_CALL}
    if isinstance(kept.get("output"), list):
        kept["output"] = [bare_item(item) for item in kept["output"]]
    return kept


def bare_item(item: Any) -> Any:
    """Leave an item's name away."""
    return {key: value for key, value in item.items() if key != "id"} if isinstance(item, dict) else item


def read_counts(usage: Any) -> dict[str, Any] | None:
    """Give a response's usage in chat's words; None where there is none."""
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("input_tokens"), usage.get("output_tokens")
    counts: dict[str, Any] = {"prompt_tokens": read, "completion_tokens": written}
    counts["total_tokens"] = usage.get("total_tokens")
    for mine, its, names in (
        ("prompt_tokens_details", "input_tokens_details", ("cached_tokens", "cache_write_tokens")),
        ("completion_tokens_details", "output_tokens_details", ("reasoning_tokens",)),
    ):
        details = usage.get(its)
        if isinstance(details, dict):
            counts[mine] = {name: details[name] for name in names if details.get(name) is not None}
    return counts


def write_counts(usage: Any) -> dict[str, Any] | None:
    """Give chat's usage in the words of responses; None where it is not sane."""
    found = read_usage(usage)
    if found is None:
        return None
    return {
        "input_tokens": found.prompt_tokens,
        "input_tokens_details": {
            "cache_write_tokens": found.written_tokens,
            "cached_tokens": found.cached_tokens,
        },
        "output_tokens": found.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": found.reasoning_tokens},
        "total_tokens": found.prompt_tokens + found.completion_tokens,
    }


def nothing_spent(usage: Any) -> dict[str, Any]:
    """Give the usage of a replay: zeros, and beside them what the first answer cost."""
    zeros = write_counts({"prompt_tokens": 0, "completion_tokens": 0}) or {}
    return zeros | {"semcache_saved": usage} if isinstance(usage, dict) else zeros


def _written(chat: JsonObject) -> dict[str, Any]:
    choices = chat.get("choices")
    if chat.get("error") or not isinstance(choices, list) or len(choices) != 1:
        raise ValueError("a response has one answer")
    choice = choices[0] if isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict) or choice.get("index", 0) != 0:
        raise ValueError("no answer")
    said = Said.of(message, choice.get("logprobs"))
    status, details = _status(choice.get("finish_reason"))
    extras = {
        "document": plain_rest(chat, _KNOWN | DROPPED),
        "choice": plain_rest(choice, frozenset(("index", "message", "logprobs", "finish_reason"))),
        "message": said.rest,
    }
    extras = {name: value for name, value in extras.items() if value}
    tier = chat.get("service_tier")
    return {
        "object": "response",
        "status": status,
        "error": None,
        "incomplete_details": details,
        "model": chat.get("model"),
        "output": said.items(None if status == "completed" else "incomplete"),
        **_ECHO,
        "usage": write_counts(chat.get("usage")),
        **({} if tier is None else {"service_tier": tier}),
        **({CHAT_FIELD: extras} if extras else {}),
    }


def _status(finish: Any) -> tuple[str, dict[str, Any] | None]:
    if finish in _FINISHED:
        return "completed", None
    return "incomplete", {"reason": "max_output_tokens" if finish == "length" else finish}


def _finish(answer: JsonObject, said: Said) -> Any:
    """Give why it ended; what did not complete never ends by one of chat's words for that."""
    status = answer.get("status")
    if status == "completed" and not said.is_unfinished:
        return "tool_calls" if said.calls else "stop"
    details = answer.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if status == "incomplete" and reason == "max_output_tokens":
        return "length"
    word = (reason or status) if status == "incomplete" else status
    return word if isinstance(word, str) and word not in (*_FINISHED, "completed") else "incomplete"


def _extras(answer: JsonObject) -> dict[str, dict[str, Any]]:
    found = answer.get(CHAT_FIELD)
    if not isinstance(found, dict):
        return {}
    return {
        name: found[name] for name in ("document", "choice", "message") if isinstance(found.get(name), dict)
    }
