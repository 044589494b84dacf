"""What the verifier looks at in a pair of questions: a fixed row of numbers, each with a name.

Which words are left over when the common ones are taken away, what those mean to each other, the
shape of the edit that leads from one text to the other, and which rules of the gate see a
difference. Symmetric in the two texts. Knows neither weights nor probabilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from semcache.core import Effect, GateRules
from semcache.decide.gate import compare, features
from semcache.decide.reasons import Veto
from semcache.decide.rereading import remembered
from semcache.decide.text import is_han
from semcache.decide.verify.lexicon import Lexicon, Relation
from semcache.decide.verify.surplus import Said, says_more
from semcache.decide.verify.words import Words, said_of, words_of
from semcache.decide.wordlist import split

Row = NDArray[np.float32]

_SAME = 0.25
"""From here up a relation counts as: these words may stand for each other."""
_MOST_LEFT = 24
"""Left-over words of a text that are compared with those of the other."""
_NOTHING = Relation(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@lru_cache(maxsize=1)
def _groups() -> dict[str, frozenset[str]]:
    """Give small closed classes of words whose exchange may change a question."""
    return {
        "asking": frozenset(
            split(
                "what how why when where who which whose can could does do did is are was will would should may must much many "
                "long often far old 怎么 如何 怎样 为什么 为何 什么 哪里 哪儿 谁 几 多少 多久 什么时候 何时 能 可以 是否 吗 哪个 哪些"
            )
        ),
        "relating": frozenset(
            split(
                "before after with without from to for against under over in on at by during until till since between into out off "
                "through than as about near inside outside behind 从 到 向 对 给 被 把 在 之前 之后 前 后 以前 以后 比 和 跟"
            )
        ),
        "limiting": frozenset(
            split(
                "only all any every each some most least more less few several both either neither or and but if unless except "
                "instead never always still yet already again once also too not no none nobody nothing 只 都 所有 每 全部 任何 有些 "
                "部分 至少 最多 如果 除了 除非 不 没 没有 别 未 从不 总是 还 已经 也"
            )
        ),
        "persons": frozenset(
            split(
                "i me my mine we us our you your he him his she her they them their it its who 我 你 您 他 她 它 我们 你们 他们"
            )
        ),
    }


@dataclass(frozen=True, slots=True)
class Lexica:
    """The two lexicons."""

    english: Lexicon
    chinese: Lexicon

    def relation(self, one: str, other: str) -> Relation:
        """Say how two words stand to each other; words of two scripts do not."""
        first, second = is_han(one[0]), is_han(other[0])
        if first != second:
            return _NOTHING
        return (self.chinese if first else self.english).relation(one, other)

    def vector(self, word: str) -> Row | None:
        """Give the vector of a word, if there is one."""
        return (self.chinese if is_han(word[0]) else self.english).vector(word)


class Traits:
    """Gives the row of a pair. Reads each text once and remembers it, but for long ones."""

    def __init__(self, lexica: Lexica) -> None:
        self._lexica = lexica
        chinese = lexica.chinese

        @remembered(len)
        def words(text: str) -> Words:
            return words_of(text, chinese, chinese.longest)

        @remembered(len)
        def said(text: str) -> Said:
            return said_of(text, chinese, chinese.longest)

        self._words, self._said = words, said
        self._all = GateRules.all(Effect.RAISE)

    def words(self, text: str) -> Words:
        """Give the words of a text."""
        return self._words(text)

    def relation(self, one: str, other: str) -> Relation:
        """Say how two single words stand to each other."""
        return self._lexica.relation(one, other)

    def says_more(self, one: str, other: str) -> bool:
        """True when either text says something that the other has nothing of (see `surplus`)."""
        return says_more(self._said(one), self._said(other), self._alike)

    def _alike(self, one: str, other: str) -> bool:
        relation = self._lexica.relation(one, other)
        return max(relation.same, relation.similar) >= _SAME

    def row(self, one: str, other: str, similarity: float) -> Row:
        """Give the numbers of a pair, float32 [len(NAMES)], in the order of `NAMES`.

        Args:
            one: One question.
            other: The other; which is which does not matter.
            similarity: Of their vectors, on the reference scale.
        """
        a, b = self._words(one), self._words(other)
        left, right, common = _left_over(a, b)
        values = [
            similarity,
            *self._meanings(left.content, right.content),
            *_sizes(a, b, left, right, common),
            *self._edits(a, b),
            *_exchanges(a, b),
            *self._objections(one, other),
        ]
        return np.array(values, dtype=np.float32)

    def _meanings(self, left: Sequence[str], right: Sequence[str]) -> list[float]:
        """Say what the left-over content words of one side find on the other: least and greatest of both sides."""
        sides = [self._side(left, right), self._side(right, left)]
        found = [pick(pair) for pair in zip(*sides, strict=True) for pick in (min, max)]
        return [*found, self._phrase(left, right)]

    def _side(self, words: Sequence[str], others: Sequence[str]) -> tuple[float, ...]:
        if not words:
            return (1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
        best = [
            max((self._lexica.relation(w, o) for o in others), key=_fitness, default=_NOTHING) for w in words
        ]
        same = [max(relation.same, relation.similar) for relation in best]
        cosines = [relation.cosine for relation in best]
        return (
            min(cosines),
            sum(cosines) / len(cosines),
            min(same),
            sum(same) / len(same),
            max(relation.broader for relation in best),
            max(relation.sibling for relation in best),
            max(relation.antonym for relation in best),
            float(sum(share < _SAME for share in same)),
        )

    def _phrase(self, left: Sequence[str], right: Sequence[str]) -> float:
        """Cosine of the sums of the left-over words' vectors: a phrase against a word."""
        one, other = self._sum(left), self._sum(right)
        if one is None or other is None:
            return 1.0 if not left and not right else 0.0
        return float(one @ other / max(1e-6, float(np.linalg.norm(one) * np.linalg.norm(other))))

    def _sum(self, words: Sequence[str]) -> Row | None:
        rows = [vector for word in words if (vector := self._lexica.vector(word)) is not None]
        total: Row | None = np.sum(rows, axis=0) if rows else None
        return total

    def _edits(self, a: Words, b: Words) -> list[float]:
        """Describe the shortest way from one text to the other, word by word."""
        first, second = sorted((a.forms, b.forms))
        matcher = SequenceMatcher(None, first, second, autojunk=False)
        steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
        swaps = [step for step in steps if step[0] == "replace"]
        touched = sum(max(step[2] - step[1], step[4] - step[3]) for step in steps)
        alike = [self._phrase(first[step[1] : step[2]], second[step[3] : step[4]]) for step in swaps]
        single = len(steps) == 1 and len(swaps) == 1 and touched == 1
        return [
            float(len(steps)),
            float(len(swaps)),
            touched / max(1, len(first), len(second)),
            float(single),
            min(alike, default=1.0),
            float(a.forms[:1] == b.forms[:1]),
            float(a.forms[-1:] == b.forms[-1:]),
        ]

    def _objections(self, one: str, other: str) -> list[float]:
        seen = set(compare(features(one), features(other), self._all).raised)
        return [float(name in seen) for name in _RULES]


@dataclass(frozen=True, slots=True)
class _Left:
    """What one text has that the other has not."""

    content: tuple[str, ...]
    function: tuple[str, ...]


def _left_over(a: Words, b: Words) -> tuple[_Left, _Left, int]:
    shared = Counter(a.stems) & Counter(b.stems)
    return _rest(a, shared.copy()), _rest(b, shared.copy()), sum(shared.values())


def _rest(words: Words, shared: Counter[str]) -> _Left:
    content: list[str] = []
    function: list[str] = []
    for form, stem, carries in zip(words.forms, words.stems, words.content, strict=True):
        if shared[stem] > 0:
            shared[stem] -= 1
        elif carries:
            content.append(form)
        else:
            function.append(form)
    return _Left(tuple(content[:_MOST_LEFT]), tuple(function))


def _fitness(relation: Relation) -> float:
    return (
        relation.cosine
        + relation.same
        + 0.5 * relation.similar
        + 0.3 * (relation.broader + relation.prefix)
        - relation.antonym
    )


def _sizes(a: Words, b: Words, left: _Left, right: _Left, common: int) -> list[float]:
    carried, other = sum(a.content), sum(b.content)
    kept = carried - len(left.content)
    lengths = sorted((len(a.forms), len(b.forms)))
    contents = sorted((len(left.content), len(right.content)))
    functions = sorted((len(left.function), len(right.function)))
    grams, others = _trigrams(a), _trigrams(b)
    return [
        *map(float, lengths),
        *map(float, contents),
        *map(float, functions),
        float(common),
        float(kept),
        common / max(1, len(a.forms) + len(b.forms) - common),
        kept / max(1, carried + other - kept),
        kept / max(1, min(carried, other)),
        len(grams & others) / max(1, len(grams | others)),
    ]


def _trigrams(words: Words) -> set[str]:
    run = " ".join(words.forms)
    return {run[i : i + 3] for i in range(len(run) - 2)}


def _exchanges(a: Words, b: Words) -> list[float]:
    """Count words of closed classes that one text has and the other has not, and what is written as a name."""
    one, other = set(a.forms), set(b.forms)
    found = [
        float(pick((len(group & one - other), len(group & other - one))))
        for group in _groups().values()
        for pick in (min, max)
    ]
    digits = {w for w in one if w[0].isdigit()} ^ {w for w in other if w[0].isdigit()}
    return [*found, float(len(digits)), float(len(a.named ^ b.named)), _inversions(a, b)]


def _inversions(a: Words, b: Words) -> float:
    """Share of pairs of common content words that stand in the other order, in [0, 1]."""
    once, other = Counter(a.stems), Counter(b.stems)
    where = {stem: i for i, stem in enumerate(b.stems)}
    places = [
        where[stem]
        for stem, carries in zip(a.stems, a.content, strict=True)
        if carries and once[stem] == 1 and other[stem] == 1
    ]
    turned = sum(places[i] > places[j] for i in range(len(places)) for j in range(i + 1, len(places)))
    return turned / max(1, len(places) * (len(places) - 1) // 2)


_RULES = tuple(veto.value for veto in Veto if veto is not Veto.UNREAD)
_SIDES = (
    "least_cosine",
    "mean_cosine",
    "least_same",
    "mean_same",
    "broader",
    "sibling",
    "antonym",
    "unlike",
)
NAMES: tuple[str, ...] = (
    "similarity",
    *(f"{name}_{end}" for name in _SIDES for end in ("low", "high")),
    "phrase",
    *(f"{name}_{end}" for name in ("words", "left_content", "left_function") for end in ("low", "high")),
    "common", "common_content", "jaccard", "content_jaccard", "content_cover", "trigrams",
    "edits", "replacements", "touched", "single_swap", "least_swap", "same_first", "same_last",
    *(f"{name}_{end}" for name in ("asking", "relating", "limiting", "persons") for end in ("low", "high")),
    "digits", "names", "inversions",
    *(f"gate_{name}" for name in _RULES),
)  # fmt: skip
"""What each number of a row is, in order."""
