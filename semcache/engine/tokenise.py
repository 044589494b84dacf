"""Text to token ids, fast for texts that come again in parts, as prompts do.

The ids are always those of one tokenisation of the whole text: text is cut only at special
tokens, where the tokenizer itself cuts before it does anything else, and only when its own
description shows that nothing looks across such a cut. Knows no template and no model.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

MAX_REMEMBERED = 4 << 20
"""Characters of text whose ids are kept, the least recently used going first."""

_LEAST = 200
"""Shorter pieces are cheaper to tokenise than to remember."""

_PLAIN_STEPS = frozenset(("Sequence", "Digits", "ByteLevel", "Split", "Punctuation", "Whitespace"))
"""Pre-tokenizers that treat every piece alike, wherever it stands in the text."""


class Cutter:
    """Tokenises; not for several threads at once.

    Args:
        tokenizer: A fast tokenizer of transformers. Its truncation and padding are switched off.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._backend = tokenizer.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        description = json.loads(self._backend.to_str())
        added = description.get("added_tokens", [])
        self.special = frozenset(item["id"] for item in added if item.get("special"))
        self._marks = _marks(description)
        self._known: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._size = 0

    def ids(self, text: str) -> tuple[int, ...]:
        """Give the token ids of a text; special tokens in it count as such, none are added."""
        pieces = [text] if self._marks is None else self._marks.split(text)
        ids: list[int] = []
        for piece in pieces:
            ids += self._piece(piece) if piece else ()
        return tuple(ids)

    def _piece(self, piece: str) -> tuple[int, ...]:
        found = self._known.get(piece)
        if found is not None:
            self._known.move_to_end(piece)
            return found
        # The way without offsets, which nobody here needs; a quarter faster.
        encoding = self._backend.encode_batch_fast([piece], add_special_tokens=False)[0]
        ids = tuple(encoding.ids)
        if _LEAST <= len(piece) <= MAX_REMEMBERED // 4:
            self._remember(piece, ids)
        return ids

    def _remember(self, piece: str, ids: tuple[int, ...]) -> None:
        self._known[piece] = ids
        self._size += len(piece)
        while self._size > MAX_REMEMBERED:
            oldest, _ = self._known.popitem(last=False)
            self._size -= len(oldest)


def _marks(description: Mapping[str, Any]) -> re.Pattern[str] | None:
    """Give a pattern that finds what the tokenizer cuts out first; None when cutting there is not safe."""
    added = description.get("added_tokens", [])
    if not added or not _is_local(description):
        return None
    for item in added:
        if item.get("normalized") or item.get("lstrip") or item.get("rstrip") or item.get("single_word"):
            return None
    # The longest of those that begin at the same place wins, as in the tokenizer.
    texts = sorted((item["content"] for item in added), key=len, reverse=True)
    return re.compile("(" + "|".join(re.escape(text) for text in texts) + ")")


def _is_local(description: Mapping[str, Any]) -> bool:
    """Tell whether a piece between special tokens gets the same ids alone as in its place."""
    steps = _steps(description.get("pre_tokenizer"))
    plain = all(step["type"] in _PLAIN_STEPS and not step.get("add_prefix_space", False) for step in steps)
    model = description.get("model", {})
    return plain and bool(steps) and description.get("normalizer") is None and not model.get("dropout")


def _steps(step: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if step is None:
        return []
    return [step, *(found for inner in step.get("pretokenizers", ()) for found in _steps(inner))]
