"""Long texts: where two of them differ in more than filler, nothing says that one answer fits both.

An encoder condenses a text to its topics; two contracts, two patients, two bug reports may differ
in the one clause that matters. So two long texts must hold the same words in the same order,
fillers and spelling apart. Knows nothing of what the words mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.decide.order import stem
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

_LONG = 60.0
"""Words from which a text is long; a Han character counts as half a word."""
_FILLERS = frozenset(
    split(
        "please pls plz thanks thank thx you your hi hello hey dear sir madam so well okay ok just really very quite actually basically "
        "kindly could can would will may might do does did i me my we us our the a an of to in on at for and that this is "
        "are be was were it there here as by with also too then now would like want need help know let tell regards "
        "cheers appreciate advance much lot bit quick question"
    )
) | frozenset("请问您你好谢麻烦一下吗呢啊吧呀哦嗯的了地得我帮想要能可以就也都还")


def content(words: Sequence[str]) -> tuple[str, ...]:
    """Give the stems of a long text that are no fillers, in order; nothing for a shorter text."""
    size = 0.0
    for word in words:
        size += 0.5 if is_han(word) else 1.0
        if size > _LONG:
            return tuple(stem(word) for word in words if word not in _FILLERS)
    return ()


def conflict(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """True when two long texts differ in more than fillers."""
    return bool(one and other) and one != other
