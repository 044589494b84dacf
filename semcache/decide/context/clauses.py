"""Sentences of a turn, and what kind of saying each is.

A clause here is a sentence or a line; a Chinese one ends at a full-width comma too where the
text behind it is long enough to stand alone. Knows nothing of chats.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semcache.decide.context.words import words_of
from semcache.decide.text import fold
from semcache.decide.wordlist import split

_ASKERS = frozenset(split("how what why where who which when whose whom"))
_AUXILIARIES = frozenset(
    split("is are was were do does did can could should would will may must has have shall am")
)
_HAN_ASKS = ("怎么", "如何", "吗", "什么", "哪", "能否", "多少", "怎样", "是否", "谁", "几点", "几天", "几个", "为何", "多久", "多长",
             "多大", "呢", "能不能", "可不可以", "是不是", "会不会", "有没有", "行不行", "好不好", "要不要")  # fmt: skip
_ORDERS = frozenset(
    split(
        "tell explain give show list write help describe compare summarize summarise translate calculate recommend suggest "
        "define name find convert generate create make draft outline provide solve teach walk rewrite plan design fix"
    )
)
_HAN_ORDERS = (
    "请",
    "帮我",
    "给我",
    "告诉我",
    "解释",
    "介绍",
    "推荐",
    "列出",
    "写",
    "翻译",
    "计算",
    "总结",
    "比较",
    "说明",
)


@lru_cache(maxsize=1)
def _ends() -> re.Pattern[str]:
    return re.compile(r"(?<=[.!?;])\s+|(?<=[。!?;！？；])|\n+|(?<=[一-鿿]),(?=[一-鿿])")


def sentences(text: str) -> tuple[str, ...]:
    """Give the sentences of a text, folded, blank ones left away."""
    return tuple(part.strip() for part in _ends().split(fold(text)) if part and part.strip(" .,!-*"))


def asks(sentence: str) -> bool:
    """True for a question or a request."""
    if sentence.rstrip().endswith(("?", "？")):
        return True
    words = words_of(sentence)
    if not words or words[:2] == ("what", "a"):
        return False
    text = "".join(words)
    if any(mark in text for mark in _HAN_ASKS) or text.startswith(_HAN_ORDERS):
        return True
    lead = [word for word in words[:3] if word not in ("please", "so", "and", "ok", "okay", "but", "just")]
    return bool(lead) and (lead[0] in _ASKERS or lead[0] in _AUXILIARIES or lead[0] in _ORDERS)
