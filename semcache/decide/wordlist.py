"""Word tables written as running text, which reads and reviews better than quoted lists."""

from __future__ import annotations


def split(words: str) -> tuple[str, ...]:
    """Give the blank-separated words of a table."""
    return tuple(words.split())
