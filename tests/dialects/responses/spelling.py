"""One spelling for all requests of the responses API that are the same request, written apart from the code under test.

The named list: what cannot change an answer, and what is only written differently.
"""

from __future__ import annotations

from typing import Any

from semcache.embed.canonical import canonical_text
from tests.dialects.responses.asked import SAME

_NAMED = (
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
)
_ROLES = ("user", "assistant", "system", "developer")


def spelled(body: dict[str, Any]) -> dict[str, Any]:
    """Give the request without what is irrelevant, in one spelling."""
    out = {name: value for name, value in body.items() if name not in SAME and value is not None}
    given = out.pop("input", None)
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    out["input"] = [_item(item) for item in given] if isinstance(given, list) else given
    for name in ("tools", "include"):
        if out.get(name) == []:
            del out[name]
    out |= {name: _filled(out[name]) for name in ("text", "reasoning") if isinstance(out.get(name), dict)}
    out = {name: value for name, value in out.items() if value != {} or name not in ("text", "reasoning")}
    if isinstance(out.get("tools"), list):
        out["tools"] = [_filled(tool) if isinstance(tool, dict) else tool for tool in out["tools"]]
    if out.get("tool_choice") == "auto":
        del out["tool_choice"]
    return {
        name: int(value) if value == 1.0 and not isinstance(value, bool) else value
        for name, value in out.items()
    }


def _filled(value: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in value.items() if item is not None}


def _item(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    item = _filled(item)
    kind = item.setdefault("type", "message") if "role" in item else item.get("type")
    if kind in _NAMED and isinstance(item.get("id"), str):
        del item["id"]
    if kind in _NAMED and item.get("status") == "completed":
        del item["status"]
    for name in ("content", "output", "summary"):
        if isinstance(item.get(name), str) and name != "summary":
            text = "output_text" if item.get("role") == "assistant" else "input_text"
            item[name] = [{"type": text, "text": item[name]}]
        if isinstance(item.get(name), list):
            item[name] = [_part(part, item.get("role")) for part in item[name]]
    if kind == "reasoning":
        item = {name: value for name, value in item.items() if (name, value) != ("summary", [])}
    return item


def _part(part: Any, role: Any) -> Any:
    if not isinstance(part, dict):
        return part
    part = _filled(part)
    if role == "assistant":
        part.pop("logprobs", None)
        if part.get("annotations") == []:
            del part["annotations"]
    if isinstance(part.get("text"), str):
        part["text"] = canonical_text(part["text"])
    return part
