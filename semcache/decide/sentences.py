"""Which part of a text asks and which only tells what happened.

`It failed twice since Monday. How do I cancel?` asks about cancelling. How often and since when
it failed seldom changes the answer, so such details in an aside count as soft. Who somebody is
and what somebody has does change it: names, ages and amounts stay hard everywhere. Knows
nothing of what the rules do with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from semcache.decide.text import Token, is_han
from semcache.decide.wordlist import split

_TELLERS = frozenset((*split("i we my our it he she they this there you your"), *"我了他她它过们"))
# A tale of so many tokens, or of fewer but in several sentences, is a story.
_LONG_TALE, _TALE, _MANY = 16, 12, 2
# Words before the question in one sentence from which it is a tale.
_RUN_ON = 7
# Words from which a sentence without anybody in it tells something too.
_CLAUSE = 5
_CONDITIONS = frozenset(
    split("if when with suppose given while after before without unless once since because for in as at on")
)
_STOPS = frozenset(".?!;。\n")
_QUESTION_WORDS = frozenset(split("how what why where who which when whose"))
_AUXILIARIES = frozenset(
    split("is are was were do does did can could should would will may must has have shall am")
)
_OPENERS = frozenset(
    split("please tell explain give show list write help need want if unless when while suppose assuming")
)
_HAN_ASKS = (
    "怎么", "如何", "吗", "什么", "哪", "能否", "多少", "怎样", "请", "是否", "谁", "几", "咋", "为何", "如果", "要是", "若",
    "假如", "多久", "呢", "能不能", "可不可以", "是不是", "会不会", "帮", "我想", "我要", "需要",
)  # fmt: skip


def asides(tokens: Sequence[Token]) -> frozenset[int]:
    """Give the places of the tokens in sentences that do not ask, when another sentence does."""
    spans = list(_spans(tokens))
    clauses = [[token.low for token in tokens[start:end]] for start, end in spans]
    asking = [asks(words) for words in clauses]
    if not any(asking):
        return frozenset()
    told = [_tells(words) and not wants for words, wants in zip(clauses, asking, strict=True)]
    return frozenset(
        i for (start, end), tells in zip(spans, told, strict=True) if tells for i in range(start, end)
    )


def is_story(tokens: Sequence[Token], told: frozenset[int]) -> bool:
    """True for a text that tells much before (or after) it asks; `told` are its asides."""
    return len(told) >= _LONG_TALE or (len(told) >= _TALE and _sentences_in(tokens, told) >= _MANY)


def _sentences_in(tokens: Sequence[Token], told: frozenset[int]) -> int:
    return sum(1 for start, _ in _spans(tokens) if start in told)


def glosses(tokens: Sequence[Token]) -> frozenset[int]:
    """Give the places of the tokens in parentheses and of the word before them: two names of one thing."""
    inside, places = False, set()
    for i, token in enumerate(tokens):
        for mark in token.gap:
            if mark in "()":
                inside = mark == "("
                places |= {i - 1} if inside else set()
        if inside:
            places.add(i)
    return frozenset(places)


def _spans(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    start = 0
    for i, token in enumerate(tokens):
        # A Chinese writer parts sentences with commas.
        stop = not _STOPS.isdisjoint(token.gap) or ("," in token.gap and _opens(token.low))
        stop = stop or _turns(tokens, start, i)
        if stop and i > start:
            yield start, i
            start = i
    if start < len(tokens):
        yield start, len(tokens)


def _turns(tokens: Sequence[Token], start: int, i: int) -> bool:
    """True where a tale turns into a question without a stop: `it broke and I want to know how to ...`."""
    if i - start < _RUN_ON or tokens[i].low not in _QUESTION_WORDS or i + 1 >= len(tokens):
        return False
    goes_on = tokens[i + 1].low in _AUXILIARIES or tokens[i + 1].low in ("to", "i", "much", "many", "long")
    if not goes_on or tokens[start].low in _CONDITIONS:
        return False
    return any(tokens[k].low in ("i", "my", "we") for k in range(start, min(i, start + 4)))


def _tells(words: Sequence[str]) -> bool:
    """True for a clause of some length or with somebody in it; `After 18:00,` belongs to what follows."""
    return len(words) >= _CLAUSE or not _TELLERS.isdisjoint(words)


def _opens(word: str) -> bool:
    """True for a word behind a comma that begins a clause of its own."""
    return is_han(word) or word in _QUESTION_WORDS or word in _AUXILIARIES or word in ("so", "but", "please")


def asks(words: Sequence[str]) -> bool:
    """True for the words of a clause that asks for something, by its own form."""
    if any(is_han(word) for word in words):
        text = "".join(words)
        return any(mark in text for mark in _HAN_ASKS)
    if (
        words[:1] == ["i"]
        and words[2:3]
        and words[1] in ("want", "need", "would")
        and words[2] in ("to", "like")
    ):
        return True
    if not words or words[0] in _QUESTION_WORDS or words[0] in _AUXILIARIES or words[0] in _OPENERS:
        return True
    return any(
        (word in _QUESTION_WORDS and after in (*_AUXILIARIES, "to", "much", "many", "long"))
        or (word in ("can", "could", "should", "do") and after in ("i", "you", "we"))
        for word, after in pairwise(words)
    )
