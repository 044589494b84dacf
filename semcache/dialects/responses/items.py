"""Items of a responses request as chat messages. Pure.

Each item becomes its own message or is joined to the assistant message before it, in one way only, so that two inputs
with different meanings never become the same messages. What chat has no word for stays as it came: whole items under
`ITEM`, fields of an item under `FIELDS`, parts of a message inside a part of type `PART`, and its place is named.
Not told apart are: a text and a list of one text; ids of items whose content is there; the status "completed"; what is
null or empty; log probabilities of an earlier answer.
"""

from __future__ import annotations

from typing import Any

ITEM = "responses_item"
FIELDS = "responses_fields"
PART = "responses_part"

_ROLES = ("user", "assistant", "system", "developer")
_ELSEWHERE = frozenset(("file_id", "file_ids", "container_id", "vector_store_ids"))
"""Fields that name something kept outside the request."""
_BREAKPOINT = "prompt_cache_breakpoint"
_FILE = ("filename", "file_data", "file_id")


class Reading:
    """Reads items one after the other.

    Attributes:
        messages: what they say in chat.
        unsayable: places of what chat cannot say.
        is_stateful: something in them is kept elsewhere.
    """

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.unsayable: list[str] = []
        self.is_stateful = False
        self._customs: set[str] = set()

    def read(self, given: Any) -> None:
        """Take the `input` of a request: a text, or a list of items."""
        if isinstance(given, str):
            self.messages.append({"role": "user", "content": given})
            return
        self.is_stateful = self.is_stateful or _names_elsewhere(given)
        for number, item in enumerate(given):
            self._item(item, f"input[{number}]")

    def _item(self, item: Any, where: str) -> None:
        kind = item.get("type", "message" if "role" in item else None) if isinstance(item, dict) else None
        match kind:
            case "message" if _is_message(item):
                self._message(item, where)
            case "function_call" if _are_texts(item, "call_id", "name", "arguments"):
                function = {"name": item["name"], "arguments": item["arguments"]}
                self._call(item, "function", function, where)
            case "custom_tool_call" if _are_texts(item, "call_id", "name", "input"):
                self._customs.add(item["call_id"])
                self._call(item, "custom", {"name": item["name"], "input": item["input"]}, where)
            case "function_call_output" | "custom_tool_call_output" if _is_output(item):
                self._output(item, where)
            case "reasoning" if (text := _reasoning(item)) is not None:
                self.messages.append({"role": "assistant", "content": None, "reasoning_content": text})
            case _:
                self._whole(item, where)

    def _message(self, item: dict[str, Any], where: str) -> None:
        role, content = item["role"], item["content"]
        if isinstance(content, list):
            content = [self._part(part, role, f"{where}.content[{n}]") for n, part in enumerate(content)]
        message = {"role": role, "content": content, **self._rest(item, ("role", "content"), where)}
        if role == "assistant" and self._is_only_reasoning():
            self.messages[-1].update(message)
        else:
            self.messages.append(message)

    def _call(self, item: dict[str, Any], kind: str, called: dict[str, Any], where: str) -> None:
        used = ("call_id", *called)
        call = {"id": item["call_id"], "type": kind, kind: called, **self._rest(item, used, where)}
        if not self.messages or self.messages[-1]["role"] != "assistant" or ITEM in self.messages[-1]:
            self.messages.append({"role": "assistant", "content": None})
        self.messages[-1].setdefault("tool_calls", []).append(call)

    def _output(self, item: dict[str, Any], where: str) -> None:
        output, call = item["output"], item["call_id"]
        rest = self._rest(item, ("call_id", "output"), where)
        if (item["type"] == "custom_tool_call_output") != (call in self._customs):
            # The answer to another kind of call than was made.
            rest.setdefault(FIELDS, {})["type"] = item["type"]
            self.unsayable.append(f"{where}.type")
        if isinstance(output, list):
            output = [self._part(part, "tool", f"{where}.output[{n}]") for n, part in enumerate(output)]
        self.messages.append({"role": "tool", "tool_call_id": call, "content": output, **rest})

    def _whole(self, item: Any, where: str) -> None:
        self.unsayable.append(where)
        if isinstance(item, dict):
            kind = item.get("type")
            if kind == "reasoning" and item.get("encrypted_content"):
                item = {
                    name: value for name, value in item.items() if name != "id" or not isinstance(value, str)
                }
            elif kind in (None, "item_reference", "reasoning"):
                # Only its name is here: what it says is looked up.
                self.is_stateful = True
        self.messages.append({"role": "assistant", "content": None, ITEM: item})

    def _is_only_reasoning(self) -> bool:
        return (
            bool(self.messages)
            and self.messages[-1].keys() == {"role", "content", "reasoning_content"}
            and (self.messages[-1]["content"] is None)
        )

    def _rest(self, item: dict[str, Any], used: tuple[str, ...], where: str) -> dict[str, Any]:
        rest = {
            name: value for name, value in item.items() if name not in ("type", *used) and value is not None
        }
        if isinstance(rest.get("id"), str):
            del rest["id"]
        if rest.get("status") == "completed":
            del rest["status"]
        self.unsayable += [f"{where}.{name}" for name in rest]
        return {FIELDS: rest} if rest else {}

    def _part(self, part: Any, role: str, where: str) -> dict[str, Any]:
        said = read_part(part, role) if isinstance(part, dict) else None
        if said is None or (role == "tool" and said["type"] != "text"):
            self.unsayable.append(where)
        return {"type": PART, "part": part} if said is None else said


def read_part(part: dict[str, Any], role: str) -> dict[str, Any] | None:
    """Give one part of a message as chat has it; None: chat cannot say it."""
    part = {name: value for name, value in part.items() if value is not None}
    mark = {_BREAKPOINT: part.pop(_BREAKPOINT)} if _BREAKPOINT in part else {}
    kind = part.pop("type", None)
    if role == "assistant":
        return _read_said(kind, part, mark)
    match kind:
        case "input_text" if part.keys() == {"text"} and isinstance(part["text"], str):
            return {"type": "text", "text": part["text"], **mark}
        case "input_image" if {"image_url"} <= part.keys() <= {"image_url", "detail"}:
            detail = {"detail": part["detail"]} if "detail" in part else {}
            return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}, **mark}
        case "input_file" if part and part.keys() <= set(_FILE):
            return {"type": "file", "file": part, **mark}
        case "input_audio" if part.keys() == {"input_audio"}:
            return {"type": "input_audio", "input_audio": part["input_audio"], **mark}
    return None


def _read_said(kind: Any, part: dict[str, Any], mark: dict[str, Any]) -> dict[str, Any] | None:
    part.pop("logprobs", None)
    if part.get("annotations") == []:
        del part["annotations"]
    if kind == "output_text" and part.keys() == {"text"} and isinstance(part["text"], str):
        return {"type": "text", "text": part["text"], **mark}
    if kind == "refusal" and part.keys() == {"refusal"} and isinstance(part["refusal"], str):
        return {"type": "refusal", "refusal": part["refusal"], **mark}
    return None


def _is_message(item: dict[str, Any]) -> bool:
    return item.get("role") in _ROLES and isinstance(item.get("content"), str | list)


def _is_output(item: dict[str, Any]) -> bool:
    return isinstance(item.get("call_id"), str) and isinstance(item.get("output"), str | list)


def _are_texts(item: dict[str, Any], *names: str) -> bool:
    return all(isinstance(item.get(name), str) for name in names)


def _reasoning(item: dict[str, Any]) -> str | None:
    """Give reasoning that lies open and is one text."""
    idle = {"type": "reasoning", "summary": [], "status": "completed"}
    rest = {
        name: value
        for name, value in item.items()
        if not (value is None or idle.get(name) == value or (name == "id" and isinstance(value, str)))
    }
    match rest:
        case {"content": [{"type": "reasoning_text", "text": str(text), **more}], **others} if (
            not more and not others
        ):
            return text
    return None


def _names_elsewhere(given: Any) -> bool:
    """Look for names of what is kept outside the request; without recursion, since depth is the client's choice."""
    left = [given]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if any(value.get(name) for name in _ELSEWHERE):
                return True
            left += [item for item in value.values() if isinstance(item, dict | list)]
        else:
            left += [item for item in value if isinstance(item, dict | list)]
    return False
