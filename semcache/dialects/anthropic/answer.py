"""Whole answers: Anthropic's message and chat's completion, each in the other's words.

Pure. Reading keeps what chat has words for: joined text, joined thinking, calls of the client's tools, why it stopped,
what was used. Blocks in another order, signatures, citations and the blocks of server tools are lost in it, and
`keeping` then keeps the message itself too. Writing refuses what a message cannot say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from semcache.core import JsonObject
from semcache.dialects.anthropic.counts import chat_usage, native_usage
from semcache.dialects.halves import dumped

_FRESH = frozenset(("id", "diagnostics"))
"""Fresh in every replay, or about the one call's prompt."""
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "refusal": "content_filter"}
"""Any other reason, known (`max_tokens`, `pause_turn`, a full context) or not, ends an answer that is not whole."""
_STOP = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    None: None,
}
_TOP = frozenset(("object", "id", "created", "model", "choices", "usage"))
_UNSAID = frozenset(("system_fingerprint", "service_tier", "prefix"))
"""About the call and not the answer."""
_CHOICE = frozenset(("index", "message", "finish_reason", "stop_reason", "logprobs"))
_MESSAGE = frozenset(("role", "content", "refusal", "reasoning_content", "reasoning", "tool_calls"))


def bare_answer(answer: JsonObject) -> dict[str, Any]:
    """Give an answer without what belongs to the call alone."""
    return {name: value for name, value in answer.items() if name not in _FRESH}


def finish_of(stop_reason: Any) -> str | None:
    """Give chat's finish reason; `length` for every answer that did not come to its own end."""
    if stop_reason is None:
        return None
    return _FINISH.get(stop_reason, "length") if isinstance(stop_reason, str) else "length"


def read_answer(answer: JsonObject) -> dict[str, Any]:
    """Give a message as a `chat.completion` without `id` and `created`.

    Raises:
        ValueError: it has not the protocol's shape.
    """
    blocks = answer.get("content")
    if answer.get("type", "message") != "message" or not isinstance(blocks, list):
        raise ValueError("not a message")
    if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks):
        raise ValueError("a block of content without a type")
    message: dict[str, Any] = {"role": "assistant", "content": _joined(blocks, "text")}
    thought = _joined(blocks, "thinking")
    if thought:
        message["reasoning_content"] = thought
    calls = [call_of(block) for block in blocks if block["type"] == "tool_use"]
    if calls:
        message["tool_calls"] = calls
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": finish_of(answer.get("stop_reason")),
    }
    if isinstance(answer.get("stop_sequence"), str):
        choice["stop_reason"] = answer["stop_sequence"]
    document = {"object": "chat.completion", "model": answer.get("model"), "choices": [choice]}
    usage = chat_usage(answer.get("usage"))
    return document if usage is None else {**document, "usage": usage}


def call_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """Give a `tool_use` block as a call.

    Raises:
        ValueError: its input is no object.
    """
    given = block.get("input")
    if not isinstance(given, dict):
        raise ValueError("a tool_use block without an input")
    function = {"name": block.get("name"), "arguments": dumped(given).decode()}
    return {"id": block.get("id"), "type": "function", "function": function}


def write_answer(chat: JsonObject) -> dict[str, Any]:
    """Give a `chat.completion` as a message.

    Raises:
        ValueError: it says what a message has no word for.
    """
    _only(chat, _TOP | _UNSAID, "the answer")
    choices = chat.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ValueError("a message has one choice")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
        raise ValueError("a choice without a message of the assistant's")
    _only(choice, _CHOICE, "a choice")
    _only(message, _MESSAGE, "a message")
    logprobs = choice.get("logprobs") or {}
    if not isinstance(logprobs, dict) or any(logprobs.values()):
        raise ValueError("a message has no word for logprobs")
    content = list(_blocks(message))
    stopped, sequence = stop_of(choice, message)
    named = {"id": "msg_" + str(chat["id"]).removeprefix("chatcmpl-")} if chat.get("id") else {}
    return {
        **named,
        "type": "message",
        "role": "assistant",
        "model": chat.get("model"),
        "content": content,
        "stop_reason": stopped,
        "stop_sequence": sequence,
        "usage": native_usage(chat.get("usage")),
    }


def stop_of(choice: Mapping[str, Any], message: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Give why a message stopped, and the stop sequence that did it, if a server told (vLLM's `stop_reason`).

    Raises:
        ValueError: nobody knows the finish reason.
    """
    finish, sequence = choice.get("finish_reason"), choice.get("stop_reason")
    if not isinstance(finish, str | None) or finish not in _STOP:
        raise ValueError("a finish reason that a message has no word for")
    if message.get("refusal"):
        return "refusal", None
    if finish == "stop" and message.get("tool_calls"):
        # A call that was forced ends with `stop` in chat; here clients wait for this word before they run it.
        return "tool_use", None
    if finish == "stop" and isinstance(sequence, str):
        return "stop_sequence", sequence
    return _STOP[finish], None


def thought_of(message: Mapping[str, Any]) -> str:
    """Give the reasoning of a message or delta, under either of its names.

    Raises:
        ValueError: it stands under both and differs.
    """
    one, other = message.get("reasoning_content") or "", message.get("reasoning") or ""
    if not isinstance(one, str) or not isinstance(other, str) or (one and other and one != other):
        raise ValueError("two different reasonings")
    return one or other


def call_id(given: Any, number: int) -> str:
    """Give the id of a call; one without gets its number."""
    return given if isinstance(given, str) and given else f"toolu_{number}"


def _blocks(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    thought = thought_of(message)
    if thought:
        # Nobody signed it.
        yield {"type": "thinking", "thinking": thought, "signature": ""}
    for text in (_text(message.get("content")), message.get("refusal")):
        if text:
            yield {"type": "text", "text": text}
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise ValueError("calls that are no list")
    for number, call in enumerate(calls):
        yield _tool_use(call, number)


def _tool_use(call: Any, number: int) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or call.get("type", "function") != "function":
        raise ValueError("a message has words for calls of functions alone")
    _only(call, frozenset(("id", "type", "function", "index")), "a call")
    _only(function, frozenset(("name", "arguments")), "a function")
    given = read_arguments(function.get("arguments"))
    return {
        "type": "tool_use",
        "id": call_id(call.get("id"), number),
        "name": function.get("name"),
        "input": given,
    }


def read_arguments(arguments: Any) -> dict[str, Any]:
    """Give the arguments of a call as an object; blank ones are none.

    Raises:
        ValueError: they are no JSON object.
    """
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    given = orjson.loads(arguments) if isinstance(arguments, str) else None
    if not isinstance(given, dict):
        raise ValueError("the arguments of a call are no JSON object")
    return given


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(map(_is_text, content)):
        raise ValueError("content that is no text")
    return "".join(part["text"] for part in content)


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.keys() == {"type", "text"} and isinstance(part["text"], str)


def _joined(blocks: list[Any], kind: str) -> str | None:
    texts = [block.get(kind) for block in blocks if block["type"] == kind]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"a block of {kind} without its text")
    return "".join(texts) or None


def _only(found: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    for name, value in found.items():
        if name not in known and value not in (None, "", [], {}, False):
            raise ValueError(f"{where} has a field that a message has no word for: {name}")
