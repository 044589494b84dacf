"""The items of a list that an assistant gave: what `the second one` points at. Knows nothing of questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from semcache.decide.text import fold

_FEWEST = 2


@lru_cache(maxsize=1)
def _marker() -> re.Pattern[str]:
    return re.compile(
        r"(?:^|\n|(?<=[\s:;,.。，；：]))(?:\(?(\d{1,2}|[A-Ea-e])[.)、:](?=\s|[^\d\s])|[-*•](?=\s))\s*"
    )


@lru_cache(maxsize=1)
def _comma() -> re.Pattern[str]:
    return re.compile(r"[,;、]|(?<=\s)(?:and|or)(?=\s)|或者|以及|还是|和|或")


def item(heard: Sequence[str], place: int) -> str:
    """Give the item at a place (from 1; -1 the last) of the newest list heard, "" when there is none."""
    for text in reversed(heard):
        found = items(text)
        if len(found) >= _FEWEST:
            at = place - 1 if place > 0 else len(found) - 1
            return found[at] if at < len(found) else ""
    return ""


def items(text: str) -> tuple[str, ...]:
    """Give the items of a marked list, or of the longest run of commas in one sentence."""
    folded = fold(text)
    marks = list(_marker().finditer(folded))
    if len(marks) >= _FEWEST:
        ends = [mark.start() for mark in marks[1:]] + [len(folded)]
        return tuple(folded[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True))
    runs = [
        tuple(bare for part in _comma().split(line) if (bare := part.strip()))
        for line in re.split(r"[.!?。！？:：\n]", folded)
    ]
    return max(runs, key=len, default=())
