"""What words mean to each other: vectors of single words, and relations of a dictionary.

A lexicon is a file of plain arrays (scripts/verifier/lexicon.py makes it): for each word an int8
vector, for English also its senses in WordNet 3.1 with the relations between them. Words that
are not in it are compared letter by letter only. Knows nothing of texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SENSES = 4
"""So many of a word's most frequent senses take part in relations that lead over broader ones."""
_STEPS = 3
_KIN_SYNONYM = 0.5
"""What a derivation (`cancel`, `cancellation`) counts as, between unlike (0) and synonym (1)."""
_ENDINGS = (
    ("ies", "y"), ("ves", "f"), ("es", ""), ("es", "e"), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"),
    ("er", ""), ("er", "e"), ("est", ""), ("est", "e"),
)  # fmt: skip
_DOUBLING = frozenset(("ing", "ed", "er", "est"))

Senses = Mapping[int, float]
"""Sense number -> share of the word's uses that have this sense, in [0, 1]."""


class Relation(NamedTuple):
    """How two words stand to each other; all but `cosine` in [0, 1], 0 for not at all."""

    synonym: float
    similar: float
    broader: float
    sibling: float
    antonym: float
    cosine: float
    typo: float
    prefix: float

    @property
    def same(self) -> float:
        """How far they may stand for each other."""
        return max(self.synonym, self.typo)


@dataclass(frozen=True, slots=True)
class _Ragged:
    """Lists of ints by row: `flat[starts[i]:starts[i + 1]]`."""

    starts: NDArray[np.int32]
    flat: NDArray[np.int32]

    def row(self, i: int) -> Sequence[int]:
        """Give one list."""
        found: list[int] = self.flat[self.starts[i] : self.starts[i + 1]].tolist()
        return found


class Lexicon:
    """The words of one language.

    Args:
        arrays: `words` (uint8, UTF-8, one a line), `vectors` int8 [n, d], and either nothing more or `sense_starts`,
            `sense_ids`, `sense_shares` (uint8 of 255), `up_*`, `like_*` (by sense), `opposite_*`, `kin_*` (by word),
            `irregular` (uint8, UTF-8, `form lemma` a line).

    Raises:
        KeyError, ValueError: an array is missing or does not fit the others.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        names = arrays["words"].tobytes().decode().split("\n")
        self._index = {word: i for i, word in enumerate(names)}
        self._vectors = arrays["vectors"].astype(np.int8, copy=False)
        if self._vectors.ndim != 2 or len(self._vectors) != len(names):
            message = "a lexicon needs as many vectors as words"
            raise ValueError(message)
        self.longest = max(map(len, names))
        self._has_senses = "sense_starts" in arrays
        if self._has_senses:
            self._senses_of = _ragged(arrays, "sense")
            self._shares = arrays["sense_shares"].astype(np.float32) / 255.0
            self._up = _ragged(arrays, "up")
            self._like = _ragged(arrays, "like")
            self._opposite = _ragged(arrays, "opposite")
            self._kin = _ragged(arrays, "kin")
            lines = arrays["irregular"].tobytes().decode().split("\n")
            self._irregular = {form: lemma for form, _, lemma in (line.partition(" ") for line in lines)}
        self._relation = lru_cache(maxsize=65_536)(self._find)
        self._lemmas = lru_cache(maxsize=16_384)(self._find_lemmas)
        self._senses = lru_cache(maxsize=16_384)(self._find_senses)
        self._likes = lru_cache(maxsize=16_384)(self._find_likes)
        self._foremost = lru_cache(maxsize=16_384)(self._find_foremost)
        self._opposites = lru_cache(maxsize=16_384)(lambda word: self._links(self._opposite, word))
        self._relatives = lru_cache(maxsize=16_384)(lambda word: self._links(self._kin, word))
        self._reach = lru_cache(maxsize=16_384)(self._find_reach)
        self._above = lru_cache(maxsize=16_384)(self._find_above)
        self._unit = lru_cache(maxsize=16_384)(self._find_unit)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def vector(self, word: str) -> NDArray[np.float32] | None:
        """Give the word's vector, float32 [d] of unit length; None for a word that is not here."""
        return self._unit(word)

    def relation(self, one: str, other: str) -> Relation:
        """Say how two different words stand to each other. Symmetric."""
        return self._relation(min(one, other), max(one, other))

    def _find(self, one: str, other: str) -> Relation:
        typo = float(not (self._known(one) and self._known(other)) and _is_typo(one, other))
        prefix = float(min(len(one), len(other)) > 4 and one[:5] == other[:5])
        cosine = self._cosine(one, other)
        lemmas, others = self._lemmas(one), self._lemmas(other)
        if not lemmas.isdisjoint(others):
            return Relation(1.0, 0.0, 0.0, 0.0, 0.0, cosine, typo, prefix)
        if not self._has_senses:
            return Relation(0.0, 0.0, 0.0, 0.0, 0.0, cosine, typo, prefix)
        senses, other_senses = self._senses(one), self._senses(other)
        synonym = max(
            (min(senses[s], other_senses[s]) for s in senses.keys() & other_senses.keys()), default=0.0
        )
        if not (others.isdisjoint(self._relatives(one)) and lemmas.isdisjoint(self._relatives(other))):
            synonym = max(synonym, _KIN_SYNONYM)
        likes = self._likes(one)
        similar = max(
            (min(likes[t], other_senses[t]) for t in likes.keys() & other_senses.keys()), default=0.0
        )
        broader, sibling = self._kinship(one, other)
        antonym = float(
            not (others.isdisjoint(self._opposites(one)) and lemmas.isdisjoint(self._opposites(other)))
        )
        return Relation(synonym, similar, broader, sibling, antonym, cosine, typo, prefix)

    def _kinship(self, one: str, other: str) -> tuple[float, float]:
        """Say how far one is a kind of the other, and how far both are kinds of one thing."""
        if self._reach(one).isdisjoint(self._reach(other)):
            return 0.0, 0.0
        senses, others = self._senses(one), self._senses(other)
        broader = sibling = 0.0
        for s in self._foremost(one):
            above = self._above(s)
            for t in self._foremost(other):
                beyond, weight = self._above(t), min(senses[s], others[t])
                if s == t:
                    broader = max(broader, weight)
                elif t in above or s in beyond:
                    broader = max(broader, weight / max(1, above.get(t, beyond.get(s, 1))))
                else:
                    steps = [above[x] + beyond[x] for x in above.keys() & beyond.keys()]
                    sibling = max(sibling, 2.0 * weight / min(steps)) if steps else sibling
        return broader, sibling

    def _find_reach(self, word: str) -> frozenset[int]:
        """Give the foremost senses of a word, and all broader ones in reach of them."""
        return frozenset(t for sense in self._foremost(word) for t in self._above(sense))

    def _find_above(self, sense: int) -> dict[int, int]:
        """Give sense -> steps for the sense itself and all broader ones in reach."""
        seen, front = {sense: 0}, [sense]
        for step in range(1, _STEPS + 1):
            front = [t for s in front for t in self._up.row(s) if t not in seen]
            seen |= dict.fromkeys(front, step)
        return seen

    def _find_senses(self, word: str) -> Senses:
        found: dict[int, float] = {}
        for i in self._lemmas(word):
            start, end = self._senses_of.starts[i], self._senses_of.starts[i + 1]
            for k in range(start, end):
                sense, share = int(self._senses_of.flat[k]), float(self._shares[k])
                found[sense] = max(found.get(sense, 0.0), share)
        return found

    def _find_lemmas(self, word: str) -> frozenset[int]:
        """Give the numbers of the words that this one may be a form of, itself included."""
        forms = {word}
        if self._has_senses:
            forms |= _regular(word)
            if word in self._irregular:
                forms.add(self._irregular[word])
        return frozenset(self._index[form] for form in forms if self._is_lemma(form))

    def _is_lemma(self, form: str) -> bool:
        i = self._index.get(form)
        if i is None:
            return False
        return not self._has_senses or self._senses_of.starts[i] != self._senses_of.starts[i + 1]

    def _known(self, word: str) -> bool:
        return bool(self._lemmas(word))

    def _links(self, links: _Ragged, word: str) -> frozenset[int]:
        return frozenset(t for i in self._lemmas(word) for t in links.row(i))

    def _find_likes(self, word: str) -> Senses:
        """Give the senses that are like one of the word's, each with the share of the most frequent such."""
        found: dict[int, float] = {}
        for s, share in self._senses(word).items():
            for t in self._like.row(s):
                found[t] = max(found.get(t, 0.0), share)
        return found

    def _find_foremost(self, word: str) -> tuple[int, ...]:
        senses = self._senses(word)
        return tuple(sorted(senses, key=lambda sense: (-senses[sense], sense))[:_SENSES])

    def _cosine(self, one: str, other: str) -> float:
        a, b = self._unit(one), self._unit(other)
        return 0.0 if a is None or b is None else float(a @ b)

    def _find_unit(self, word: str) -> NDArray[np.float32] | None:
        i = self._index.get(word)
        if i is None and self._has_senses:
            i = min(self._lemmas(word), default=None)
        if i is None:
            return None
        vector: NDArray[np.float32] = self._vectors[i].astype(np.float32)
        vector /= np.float32(max(1e-6, float(np.linalg.norm(vector))))
        return vector


def read_lexicon(path: Path) -> Lexicon:
    """Read a lexicon file.

    Raises:
        OSError, ValueError, KeyError: it is not there or not one.
    """
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return Lexicon({name: arrays[name] for name in arrays.files})


def _ragged(arrays: Mapping[str, NDArray[np.generic]], name: str) -> _Ragged:
    starts, flat = arrays[f"{name}_starts"], arrays[f"{name}_ids"]
    return _Ragged(starts.astype(np.int32, copy=False), flat.astype(np.int32, copy=False))


def _regular(word: str) -> set[str]:
    forms = set()
    for ending, rest in _ENDINGS:
        stem = word[: -len(ending)]
        if word.endswith(ending) and len(stem) >= 2:
            forms.add(stem + rest)
            if ending in _DOUBLING and len(stem) > 2 and stem[-1] == stem[-2]:
                forms.add(stem[:-1])
    return forms


def _is_typo(one: str, other: str) -> bool:
    """True for words one slip apart (two in long ones): a letter more, less, other, or two turned round."""
    shorter, longer = sorted((len(one), len(other)))
    if shorter < 4 or longer - shorter > 2:
        return False
    return _distance(one, other) <= (1 if longer < 7 else 2)


def _distance(one: str, other: str) -> int:
    """Optimal string alignment distance."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before = above
    return row[-1]
