"""Tiny lexicons, written out: a few words, vectors in three dimensions, senses by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semcache.decide.verify.lexicon import Lexicon
from semcache.decide.verify.traits import Lexica, Traits

Arrays = dict[str, NDArray[Any]]

ENGLISH: Mapping[str, tuple[tuple[int, int, int], Mapping[int, float]]] = {
    "buy": ((100, 10, 0), {0: 1.0}),
    "purchase": ((90, 20, 0), {0: 0.8, 1: 0.2}),
    "sell": ((80, 30, 0), {2: 1.0}),
    "cancel": ((0, 100, 0), {3: 1.0}),
    "cancellation": ((0, 90, 10), {4: 1.0}),
    "dog": ((0, 0, 100), {5: 1.0}),
    "cat": ((0, 5, 90), {6: 1.0}),
    "animal": ((0, 20, 80), {7: 1.0}),
    "poodle": ((0, 10, 95), {8: 1.0}),
    "big": ((50, 0, 50), {9: 1.0}),
    "huge": ((55, 0, 45), {10: 1.0}),
    "go": ((1, 1, 1), {11: 1.0}),
    "ticket": ((-100, 0, 0), {12: 1.0}),
    "berlin": ((0, -100, 0), {}),
}
"""Word: its vector, and the shares of its senses."""
UP = {5: [7], 6: [7], 8: [5]}
LIKE = {9: [10], 10: [9]}
OPPOSITE = {"buy": ["sell"]}
KIN = {"cancel": ["cancellation"]}


def ragged(rows: Sequence[Sequence[int]], name: str) -> Arrays:
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    flat = np.array([value for row in rows for value in row], np.int32)
    return {f"{name}_starts": starts, f"{name}_ids": flat}


def english_arrays() -> Arrays:
    words = list(ENGLISH)
    at = {word: i for i, word in enumerate(words)}
    senses = [list(shares) for _, shares in ENGLISH.values()]
    shares = [share for _, found in ENGLISH.values() for share in found.values()]
    count = 1 + max(sense for row in senses for sense in row)
    return {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "vectors": np.array([vector for vector, _ in ENGLISH.values()], np.int8),
        **ragged(senses, "sense"),
        "sense_shares": np.array([round(255 * share) for share in shares], np.uint8),
        **ragged([UP.get(sense, []) for sense in range(count)], "up"),
        **ragged([LIKE.get(sense, []) for sense in range(count)], "like"),
        **ragged([[at[w] for w in OPPOSITE.get(word, [])] for word in words], "opposite"),
        **ragged([[at[w] for w in KIN.get(word, [])] for word in words], "kin"),
        "irregular": np.frombuffer(b"went go\nbought buy", np.uint8),
    }


CHINESE = {
    "修改": (100, 0, 0),
    "更改": (95, 10, 0),
    "地址": (0, 100, 0),
    "收货地址": (0, 100, 10),
    "密码": (0, 0, 100),
}


def chinese_arrays() -> Arrays:
    return {
        "words": np.frombuffer("\n".join(CHINESE).encode(), np.uint8),
        "vectors": np.array(list(CHINESE.values()), np.int8),
    }


def english() -> Lexicon:
    return Lexicon(english_arrays())


def chinese() -> Lexicon:
    return Lexicon(chinese_arrays())


def traits() -> Traits:
    return Traits(Lexica(english(), chinese()))
