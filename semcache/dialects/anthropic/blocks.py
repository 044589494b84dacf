"""Put the deltas of one streamed content block together. Pure; judges nothing but what it cannot hold."""

from __future__ import annotations

from typing import Any

import orjson

from semcache.dialects.anthropic.stream import STREAMED_INPUT
from semcache.dialects.halves import mended

_GROWING = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}
_PROGRESS = frozenset(("estimated_tokens",))
"""How far thinking has come, for those who wait; no part of an answer."""


class BlockMerge:
    """One content block: texts and the JSON of its input grow, citations gather, the rest is set.

    Args:
        start: the block as it was opened.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        self._block = dict(start)
        self._texts: dict[str, list[str]] = {}
        self._json: list[str] = []
        self.lossy = False

    def add(self, delta: Any) -> None:
        """Take one delta; one that cannot be put into the block makes it `lossy`."""
        if not isinstance(delta, dict) or not self._added(delta):
            self.lossy = True

    def result(self) -> dict[str, Any]:
        """Give the block as it stands.

        Raises:
            ValueError: the parts of its input are no JSON object.
        """
        texts = {name: self._block[name] + "".join(parts) for name, parts in self._texts.items()}
        given: dict[str, Any] = {}
        told = "".join(self._json)
        if told.strip():
            given["input"] = orjson.loads(mended(told))
            if not isinstance(given["input"], dict):
                raise ValueError("the input of a tool is no object")
        return {**self._block, **texts, **given}

    def _added(self, delta: dict[str, Any]) -> bool:
        block_type = self._block.get("type")
        match delta:
            case {"type": ("text_delta" | "thinking_delta") as kind}:
                name, owner = _GROWING[kind]
                return block_type == owner and self._grow(name, delta)
            case {"type": "input_json_delta", "partial_json": str() as part}:
                self._json.append(part)
                fits = isinstance(block_type, str) and block_type in STREAMED_INPUT
                return fits and delta.keys() == {"type", "partial_json"}
            case {"type": "signature_delta", "signature": str() as signature}:
                fits = block_type == "thinking" and self._block.get("signature") in (None, "", signature)
                return fits and self._set(delta)
            case {"type": "citations_delta", "citation": citation}:
                self._block["citations"] = [*(self._block.get("citations") or ()), citation]
                return block_type == "text" and delta.keys() == {"type", "citation"}
            case {"type": "compaction_delta"}:
                known = delta.keys() <= {"type", "content", "encrypted_content"}
                return block_type == "compaction" and known and self._set(delta)
            case _:
                return False

    def _grow(self, name: str, delta: dict[str, Any]) -> bool:
        part = delta.get(name)
        if not isinstance(part, str) or not isinstance(self._block.get(name), str):
            return False
        self._texts.setdefault(name, []).append(part)
        return delta.keys() - _PROGRESS == {"type", name}

    def _set(self, delta: dict[str, Any]) -> bool:
        self._block |= {name: value for name, value in delta.items() if name != "type"}
        return delta["type"] == "compaction_delta" or delta.keys() == {"type", "signature"}
