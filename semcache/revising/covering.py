"""Which differences of two questions a revised answer takes up. Pure.

Where the new question says `Japan` for `Norway`, an answer that speaks of Japan and no more of Norway has taken that up;
one that still speaks of Norway, or never spoke of either, has not. The old question with what was taken up put
in is the question that the revised answer is an answer to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_WORD = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7a3]|[^\W_]+(?:[.'’-][^\W_]+)*|[^\w\s]")
_CLOSE = re.compile(r"[\u3400-\u9fff\u3040-\u30ff]")
"""Scripts written without spaces."""
_MOST_WORDS = 2000


def answered_question(asked: str, stored: str, before: str, answer: str) -> str:
    """Give the question that a revised answer answers.

    Args:
        asked: the new question.
        stored: the one that the old answer was given to.
        before: the old answer.
        answer: the revised one.
    """
    old, new = _WORD.findall(stored), _WORD.findall(asked)
    if len(old) + len(new) > _MOST_WORDS:
        return stored
    texts = before.casefold(), answer.casefold()
    words: list[str] = []
    complete = True
    ours = [word.casefold() for word in old], [word.casefold() for word in new]
    for kind, i, j, k, m in SequenceMatcher(None, *ours, autojunk=False).get_opcodes():
        taken = kind != "equal" and _is_taken_up(old[i:j], new[k:m], *texts)
        words += new[k:m] if taken or kind == "equal" else old[i:j]
        complete = complete and (taken or kind == "equal")
    # Put together again, the whole is the very question, with its own spaces.
    return asked if complete else stored if words == old else _joined(words)


def _is_taken_up(old: Sequence[str], new: Sequence[str], before: str, answer: str) -> bool:
    """True when the revision made the answer say what only the new question says, and nothing of what only the old one did.

    A word that stood there all along proves nothing.
    """
    if not new or not _stands_in(new, answer) or (old and _stands_in(old, answer)):
        return False
    return not _stands_in(new, before) or (bool(old) and _stands_in(old, before))


def _stands_in(words: Sequence[str], answer: str) -> bool:
    text = _joined(words).casefold()
    found = re.escape(text)
    if not _CLOSE.match(text[0]):
        found = rf"(?<!\w){found}(?!\w)"
    return re.search(found, answer) is not None


def _joined(words: Sequence[str]) -> str:
    text = ""
    for word in words:
        apart = text and not (_CLOSE.match(word) and _CLOSE.match(text[-1]))
        text += f" {word}" if apart else word
    return text
