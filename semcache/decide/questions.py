"""What kind of question a text asks: who, when, where, why, how much, how to, what is.

Only kinds that no answer serves together conflict: `where do I reset` and `how do I reset` do
not. Knows nothing of what is asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from semcache.decide.text import Token, is_han
from semcache.decide.wordlist import split

_AUXILIARIES = frozenset(
    split(
        "do does did is are was were can could should would will shall may might must has have had to i we you"
    )
)
_QUANTITY = frozenset(split("much many old tall high long far often big large deep heavy fast"))
_HAN = (
    ("为什么", "why"), ("为何", "why"), ("什么原因", "why"), ("原因是什么", "why"), ("怎么引起", "why"), ("如何引起", "why"), ("怎么会", "why"), ("怎么了", ""), ("怎么样", ""),
    ("怎么回事", ""), ("什么时候", "when"), ("何时", "when"), ("几点", "when"), ("哪天", "when"), ("哪里", "where"), ("哪儿", "where"),
    ("在哪", "where"), ("何处", "where"), ("多少钱", "amount"), ("多少", "amount"), ("多久", "amount"), ("多长时间", "amount"),
    ("几天", "amount"), ("谁", "who"), ("哪位", "who"), ("怎么办", "howto"), ("怎么做", "howto"), ("怎么用", "howto"), ("怎么治", "howto"), ("如何", "howto"), ("怎样", "howto"), ("是什么意思", "define"),
    ("什么是", "define"), ("什么叫", "define"), ("啥是", "define"), ("怎么不", ""), ("怎么这么", ""), ("怎么还", ""), ("怎么没", ""), ("怎么", "how"),
)  # fmt: skip
_CONFLICTS = (
    ("who", "when"), ("who", "where"), ("who", "why"), ("who", "amount"), ("who", "howto"),
    ("why", "when"), ("why", "where"), ("why", "amount"), ("why", "howto"), ("why", "define"),
    ("when", "where"), ("when", "define"), ("when", "howto"), ("where", "amount"), ("where", "define"),
    ("amount", "howto"), ("amount", "define"), ("howto", "define"), ("how", "define"),
)  # fmt: skip
# Behind `what is the`, these ask for a procedure, a reason, a time, not for a definition.
_NOUNS = {
    "way": "howto", "ways": "howto", "procedure": "howto", "process": "howto", "steps": "howto", "method": "howto",
    "command": "howto", "reason": "why", "reasons": "why", "cause": "why", "causes": "why", "time": "when", "date": "when",
    "price": "amount", "cost": "amount", "number": "amount", "amount": "amount", "year": "when",
}  # fmt: skip
_DEFINITION_REACH, _BARE = 5, 2
# `what is docker` defines, `what is the fee`, `what is my balance`, `what is new` do not.
_NOT_DEFINED = frozenset(
    split(
        "the a an my your our his her their its this that these those it he she they you i we of for to in on at with about from by "
        "new wrong best better good bad next up going happening there so not name price cost fee best worst different important "
        "called meant considered required needed necessary available included covered like and or vs versus than between"
    )
)


def kinds(tokens: Sequence[Token]) -> frozenset[str]:
    """Give the kinds of question asked, none when the text asks none that is known."""
    words = [token.low for token in tokens]
    if any(is_han(word) for word in words):
        return _han_kinds("".join(words))
    found = {kind for i in range(len(words)) if (kind := _kind_at(words, tokens, i))}
    return frozenset(found)


def _han_kinds(text: str) -> frozenset[str]:
    found = set()
    for phrase, kind in _HAN:
        if phrase in text:
            text = text.replace(phrase, " ")
            found.add(kind)
    return frozenset(found - {""})


def _kind_at(words: Sequence[str], tokens: Sequence[Token], i: int) -> str:
    word = words[i]
    following = words[i + 1] if i + 1 < len(words) else ""
    asks = tokens[i].first or following in _AUXILIARIES
    if (
        word in ("who", "whom", "whose", "when", "where")
        and asks
        and (word != "when" or following not in ("i", "we", "you"))
    ):
        return "who" if word.startswith("who") else word
    if word == "why" or (word == "how" and following == "come"):
        return "why"
    if word == "how":
        return _how(following)
    return _what(words, i) if word == "what" else ""


def _how(following: str) -> str:
    if following in _QUANTITY:
        return "amount"
    return "howto" if following in ("do", "can", "to", "could", "should", "would", "i", "we", "you") else ""


def _what(words: Sequence[str], i: int) -> str:
    """`what is a kettle` defines; `what is the way to` asks how."""
    if words[i + 1 : i + 2] not in (["is"], ["are"]):
        return _NOUNS.get(words[i + 1], "") if i + 1 < len(words) else ""
    rest = words[i + 2 :]
    for word in rest[:4]:
        if word in _NOUNS:
            return _NOUNS[word]
    article = bool(rest) and rest[0] in ("a", "an")
    bare = 0 < len(rest) <= _BARE and _NOT_DEFINED.isdisjoint(rest)
    short = len(rest) <= _DEFINITION_REACH and not {"of", "for", "to", "in", "best"} & set(rest)
    return "define" if (article and short) or bare else ""


@lru_cache(maxsize=1)
def _conflicting() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(pair) for pair in _CONFLICTS)


def conflict(one: frozenset[str], other: frozenset[str]) -> bool:
    """True when both ask exactly one known kind and no answer serves both."""
    return len(one) == len(other) == 1 and one | other in _conflicting()
