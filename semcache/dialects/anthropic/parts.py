"""Content blocks of messages in chat's words.

Pure. A block that chat can say exactly becomes chat's part; any other stands in the content as it came, inside
`{"type": "anthropic", "block": ...}`, so that no part means two different blocks. Marks for the prompt cache and empty
fields are no part of a block. Knows nothing of roles or whole requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

WRAPPER = "anthropic"
_MEDIA = re.compile(r"image/[a-z0-9.+-]{1,40}")
_WEB = ("http://", "https://")
_TEXT = {"type", "text"}
_DEPTH = 8
"""Blocks within blocks; the API has three."""


def cleaned(block: Any, depth: int = _DEPTH) -> Any:
    """Give a block without marks for the prompt cache and without empty fields, in its nested blocks too."""
    if not isinstance(block, dict) or not depth:
        return block
    out = {name: value for name, value in block.items() if name != "cache_control" and value is not None}
    if isinstance(out.get("content"), list):
        out["content"] = [cleaned(inner, depth - 1) for inner in out["content"]]
    source = out.get("source")
    if isinstance(source, dict) and isinstance(source.get("content"), list):
        inside = [cleaned(inner, depth - 1) for inner in source["content"]]
        out["source"] = {**source, "content": inside}
    if out.get("citations") == [] and out.get("type") == "text":
        del out["citations"]
    return out


def part_of(block: Any) -> dict[str, Any] | None:
    """Give a cleaned block as chat's part; None where chat has no word for all of it."""
    match block:
        case {"type": "text", "text": str() as text} if block.keys() == _TEXT:
            return {"type": "text", "text": text}
        case {"type": "image", "source": dict() as source} if block.keys() == {"type", "source"}:
            url = _image_url(source)
            return None if url is None else {"type": "image_url", "image_url": {"url": url}}
        case _:
            return None


def wrapped(block: Any) -> dict[str, Any]:
    """Give a part that holds a block as it came."""
    return {"type": WRAPPER, "block": block}


def plain(parts: list[dict[str, Any]]) -> Any:
    """Give content: a lone text as a string."""
    if len(parts) == 1 and parts[0].keys() == _TEXT:
        return parts[0]["text"]
    return parts


def names_file(block: Any) -> bool:
    """Tell whether a file that the API holds is named anywhere inside."""
    waiting = [block]
    while waiting:
        match waiting.pop():
            case dict() as found:
                if isinstance(found.get("file_id"), str):
                    return True
                waiting += found.values()
            case list() as found:
                waiting += found
            case _:
                pass
    return False


def _image_url(source: Mapping[str, Any]) -> str | None:
    match source:
        case {"type": "url", "url": str() as url} if len(source) == 2 and url.startswith(_WEB):
            return url
        case {"type": "base64", "media_type": str() as media, "data": str() as data} if len(
            source
        ) == 3 and _MEDIA.fullmatch(media):
            return f"data:{media};base64,{data}"
        case _:
            return None


def block_of(part: Any) -> dict[str, Any] | None:
    """Give chat's part as a block; None where there is no word for it."""
    match part:
        case {"type": "text", "text": str() as text}:
            return {"type": "text", "text": text}
        case {"type": "refusal", "refusal": str() as text}:
            return {"type": "text", "text": text}
        case {"type": "image_url", "image_url": {"url": str() as url}}:
            return _image(url)
        case {"type": "anthropic", "block": dict() as block}:
            return dict(block)
        case _:
            return None


def _image(url: str) -> dict[str, Any] | None:
    if url.startswith(_WEB):
        return {"type": "image", "source": {"type": "url", "url": url}}
    head, comma, data = url.partition(",")
    media = head.removeprefix("data:").removesuffix(";base64")
    if not comma or head != f"data:{media};base64" or not _MEDIA.fullmatch(media):
        return None
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
