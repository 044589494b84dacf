"""Whether a chat stream said of every choice why it ended. Pure.

An end mark alone proves that nothing follows, not that nothing is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Ending:
    """Hears the chunks of one stream."""

    def __init__(self) -> None:
        self._ended: dict[Any, bool] = {}

    @property
    def is_told(self) -> bool:
        """True once there was a choice, and every one that there was has said why it ended."""
        return bool(self._ended) and all(self._ended.values())

    def hear(self, chunk: Mapping[str, Any]) -> None:
        """Take the next chunk."""
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                index = str(choice.get("index", 0))
                told = choice.get("finish_reason") is not None
                self._ended[index] = told or self._ended.get(index, False)
