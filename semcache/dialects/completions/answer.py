"""Answers of text completions in chat's words, and back: a choice's `text` is what the assistant says. Pure.

What a message holds beside its text (reasoning, say) stands in an object `message` of the choice, where clients of text
completions do not look and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semcache.core import JsonObject
from semcache.dialects.completions import logprobs as scores

_OBJECT = "text_completion"
_NO_TEXT = ("tool_calls", "function_call", "audio")
_OF_A_MESSAGE = frozenset(("role", "content"))


def read_answer(answer: JsonObject) -> dict[str, Any]:
    """Give an answer as a `chat.completion`.

    Raises:
        ValueError: it has not the protocol's shape.
    """
    document = lifted(answer)
    for choice in document.get("choices", ()):
        try:
            choice["logprobs"] = scores.in_chat(choice["logprobs"])
        except ValueError:
            choice["logprobs"] = None  # kept in the answer's own words
    return document


def lifted(answer: JsonObject) -> dict[str, Any]:
    """Give an answer in chat's shape, log probabilities as they are.

    Raises:
        ValueError: it has not the protocol's shape.
    """
    if answer.get("error"):
        return {"error": answer["error"]}
    choices = answer.get("choices")
    if answer.get("object", _OBJECT) != _OBJECT or not isinstance(choices, list):
        raise ValueError("this is no text completion")
    top = {
        name: value for name, value in answer.items() if name not in ("id", "created", "object", "choices")
    }
    return {
        "object": "chat.completion",
        "choices": [lifted_choice(choice, "message") for choice in choices],
        **top,
    }


def lifted_choice(choice: Any, place: str) -> dict[str, Any]:
    """Give one choice, or its part in a stream, in chat's shape; `place` is `message` or `delta`.

    Raises:
        ValueError: it has not the protocol's shape.
    """
    if (
        not isinstance(choice, dict)
        or not isinstance(choice.get("text", ""), str | None)
        or "delta" in choice
    ):
        raise ValueError("this is no choice of a text completion")
    more = choice.get("message") or {}
    if not isinstance(more, dict) or any(name in more for name in (*_OF_A_MESSAGE, *_NO_TEXT)):
        raise ValueError("this is no choice of a text completion")
    said = {"content": choice.get("text"), **more}
    rest = {
        name: value
        for name, value in choice.items()
        if name not in ("index", "text", "message", "logprobs", "finish_reason")
    }
    return {
        "index": choice.get("index", 0),
        place: {"role": "assistant", **said} if place == "message" else said,
        "logprobs": choice.get("logprobs"),
        "finish_reason": choice.get("finish_reason"),
        **rest,
    }


def write_answer(chat: JsonObject) -> dict[str, Any]:
    """Give a `chat.completion` as a text completion.

    Raises:
        ValueError: it says more than texts can.
    """
    document = {**chat, "choices": [dict(choice) for choice in chat["choices"]]}
    for choice in document["choices"]:
        choice["logprobs"] = scores.in_lists(choice.get("logprobs"))
    return lowered(document)


def lowered(chat: JsonObject) -> dict[str, Any]:
    """Give an answer in chat's shape as a text completion, log probabilities as they are.

    Raises:
        ValueError: it says more than texts can.
    """
    choices = [lowered_choice(choice, "message") for choice in chat["choices"]]
    top = {name: value for name, value in chat.items() if name not in ("id", "object", "choices")}
    own = str(chat.get("id", "")).rpartition("-")[2]
    named = {"id": f"cmpl-{own}"} if own else {}
    return {**named, "object": _OBJECT, **top, "choices": choices}


def lowered_choice(choice: JsonObject, place: str) -> dict[str, Any]:
    """Give a choice in chat's shape, or its part in a stream, as one of a text completion.

    Raises:
        ValueError: it says more than texts can.
    """
    message: Mapping[str, Any] = choice.get(place) or {}
    finish = choice.get("finish_reason")
    if any(message.get(name) for name in _NO_TEXT) or finish in ("tool_calls", "function_call"):
        raise ValueError("calls and sounds are no text")
    text = message.get("content")
    if not isinstance(text, str | None):
        raise ValueError("content in parts is no text")
    more = {name: value for name, value in message.items() if name not in _OF_A_MESSAGE and value}
    refusal = more.pop("refusal", None)
    if refusal:
        text = (text or "") + str(refusal)
    rest = {
        name: value
        for name, value in choice.items()
        if name not in ("index", place, "logprobs", "finish_reason")
    }
    if rest.keys() & {"text", "message", "delta"}:
        raise ValueError("a choice with fields that mean something else here")
    return {
        "text": text or "",
        "index": choice.get("index", 0),
        "logprobs": choice.get("logprobs"),
        # The old API has no refusals; what it has is a filter that ended the text.
        "finish_reason": "content_filter" if refusal and finish else finish,
        **({"message": more} if more else {}),
        **rest,
    }
