"""Chat messages as items of a responses request. Pure.

What changes the answer and has no word is refused by its place; marks for prompt caches go without saying.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semcache.errors import RequestError

_IDLE = frozenset(("cache_control", "annotations", "reasoning"))
"""Fields of messages that tell the next answer nothing."""
_ASSISTANT = frozenset(("role", "content", "refusal", "tool_calls", "reasoning_content"))
_BREAKPOINT = "prompt_cache_breakpoint"


def write_items(messages: Any) -> list[dict[str, Any]]:
    """Give the items that say what these messages say.

    Raises:
        RequestError: 400 with the place of what no item can say.
    """
    if not isinstance(messages, list) or not messages:
        raise RequestError("'messages' must be a non-empty array.", param="messages")
    items: list[dict[str, Any]] = []
    customs: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role") if isinstance(message, dict) else None
        match role:
            case "system" | "developer" | "user":
                _only(message, ("role", "content"), where)
                items.append({"role": role, "content": _content(message.get("content"), "input_text", where)})
            case "assistant":
                _only(message, _ASSISTANT, where)
                items += _assistant(message, where, number)
                calls = message.get("tool_calls") or ()
                customs.update(call["id"] for call in calls if call.get("type") == "custom")
            case "tool":
                _only(message, ("role", "content", "tool_call_id"), where)
                call = message.get("tool_call_id")
                kind = "custom_tool_call_output" if call in customs else "function_call_output"
                output = _content(message.get("content"), "input_text", where)
                items.append({"type": kind, "call_id": call, "output": output})
            case _:
                raise unsaid(f"{where}.role")
    return items


def unsaid(param: str) -> RequestError:
    """Give the refusal of what responses has no word for."""
    return RequestError(
        f"'{param}' cannot be said in a responses request.", code="unsupported_parameter", param=param
    )


def _only(message: dict[str, Any], names: Any, where: str) -> None:
    for name, value in message.items():
        if name not in names and name not in _IDLE and value not in (None, [], {}):
            raise unsaid(f"{where}.{name}")


def _assistant(message: dict[str, Any], where: str, number: int) -> Iterator[dict[str, Any]]:
    reasoning, content, calls = (
        message.get("reasoning_content"),
        message.get("content"),
        message.get("tool_calls"),
    )
    if reasoning is not None:
        part = {"type": "reasoning_text", "text": reasoning}
        yield {"type": "reasoning", "id": f"rs_{number}", "summary": [], "content": [part]}
    if message.get("refusal"):
        said = [{"type": "refusal", "refusal": message["refusal"]}]
        yield {"role": "assistant", "content": [*_parts(content, where), *said]}
    elif content or (content is not None and not calls):
        yield {"role": "assistant", "content": _content(content, "output_text", where)}
    for place, call in enumerate(calls or ()):
        yield _call(call, f"{where}.tool_calls[{place}]")


def _parts(content: Any, where: str) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}] if content else []
    found = _content(content, "output_text", where) if content else []
    return found if isinstance(found, list) else []


def _call(call: Any, where: str) -> dict[str, Any]:
    match call:
        case {"id": str(id), "type": "function", "function": {"name": name, "arguments": arguments}}:
            return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
        case {"id": str(id), "type": "custom", "custom": {"name": name, "input": given}}:
            return {"type": "custom_tool_call", "call_id": id, "name": name, "input": given}
    raise unsaid(where)


def _content(content: Any, text: str, where: str) -> Any:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise unsaid(f"{where}.content")
    return [_part(part, text, f"{where}.content[{number}]") for number, part in enumerate(content)]


def _part(part: Any, text: str, where: str) -> dict[str, Any]:
    given = part if isinstance(part, dict) else {}
    mark = {_BREAKPOINT: given[_BREAKPOINT]} if _BREAKPOINT in given else {}
    match {name: value for name, value in given.items() if name not in ("cache_control", _BREAKPOINT)}:
        case {"type": "text", "text": str(said), **rest} if not rest:
            return {"type": text, "text": said, **mark}
        case {"type": "refusal", "refusal": str(said), **rest} if not rest and text == "output_text":
            return {"type": "refusal", "refusal": said, **mark}
        case {"type": "image_url", "image_url": dict(image), **rest} if not rest and (
            text == "input_text" and {"url"} <= image.keys() <= {"url", "detail"}
        ):
            detail = {"detail": image["detail"]} if "detail" in image else {}
            return {"type": "input_image", "image_url": image["url"], **detail, **mark}
        case {"type": "file", "file": dict(file), **rest} if not rest and text == "input_text":
            return {"type": "input_file", **file, **mark}
        case {"type": "input_audio", "input_audio": audio, **rest} if not rest and text == "input_text":
            return {"type": "input_audio", "input_audio": audio, **mark}
    raise unsaid(where)
