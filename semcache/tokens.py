"""Tokens of a text, guessed: for estimates made before or without a tokenizer. Pure."""

from __future__ import annotations

_LETTERS = 4
"""Characters of a token in English prose; of other scripts about one."""


def tokens_of(text: str) -> int:
    """Guess how many tokens a text has; at least one."""
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return max(1, plain // _LETTERS + len(text) - plain)
