"""The judge of whole chats: dictionary, judge of wording, and what was fitted on chats told twice.

Holds weights and nothing else: a forest over `comparing.NAMES`, a line of odds over `dropping.DROPPING`, and for each
encoder known by name a line over its vectors that tells small talk. Made by `scripts/verifier/chats`; see the card
beside them.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from math import exp, isfinite
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from semcache.decide.context.comparing import NAMES
from semcache.decide.context.dropping import DROPPING
from semcache.decide.verify.forest import Forest, forest_of
from semcache.decide.verify.lexicon import Relation
from semcache.errors import EncoderError

Row = NDArray[np.float32]
_BROKEN = (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)
_FILE = "chats.npz"
_TALK = "talk_"
_FARTHEST = 30.0


class Dictionary(Protocol):
    """Relations of single words, and scores of two short texts: the shipped verifier."""

    def relation(self, one: str, other: str) -> Relation:
        """Say how two single words stand to each other."""
        ...

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        """Give the probability that both ask the same; None: it cannot tell."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ChatJudge:
    """Implements `kin.Judge`. `drops` are weights with the constant last; `talk` such lines by encoder name."""

    dictionary: Dictionary
    forest: Forest
    drops: Row
    talk: Mapping[str, Row]

    def relation(self, one: str, other: str) -> Relation:
        """Say how two single words stand to each other."""
        return self.dictionary.relation(one, other)

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        """Give the probability that two short texts ask the same; None: it cannot tell."""
        return self.dictionary.score(asked, stored, similarity)

    def one_case(self, row: Row) -> float:
        """Give the probability that two chats are one case, from `comparing.row`."""
        return self.forest.probability(row) if np.isfinite(row).all() else 0.0

    def may_drop(self, row: Row) -> float:
        """Give the probability that a clause is talk by the way, from `dropping.dropping`."""
        return _odds(self.drops, row)

    def small_talk(self, encoder: str, vector: Row) -> float | None:
        """Give the log-odds that a text is small talk, by its vector; None for an encoder that is not known."""
        line = self.talk.get(encoder)
        if line is None or len(line) != len(vector) + 1:
            return None
        return float(line[:-1] @ vector + line[-1])


def open_judge(dictionary: Dictionary, folder: Path | None = None) -> ChatJudge:
    """Load the shipped weights, or those of a folder with the same file.

    Raises:
        EncoderError: the file is missing or broken, or was made for other numbers.
    """
    if folder is not None:
        return _open(dictionary, folder)
    with as_file(files("semcache.decide.context") / "weights") as shipped:
        return _open(dictionary, shipped)


def _open(dictionary: Dictionary, folder: Path) -> ChatJudge:
    try:
        with (folder / _FILE).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays: Mapping[str, NDArray[np.generic]] = {name: archive[name] for name in archive.files}
        forest = forest_of(arrays)
        _check(arrays, forest)
        return ChatJudge(
            dictionary,
            forest,
            arrays["drops"].astype(np.float32),
            {
                name[len(_TALK) :]: row.astype(np.float32)
                for name, row in arrays.items()
                if name.startswith(_TALK)
            },
        )
    except _BROKEN as error:
        message = f"The weights of chats in {folder} cannot be used ({type(error).__name__}). Install semcache again, or train them anew (scripts/verifier/chats)."
        raise EncoderError(message) from error


def _check(arrays: Mapping[str, NDArray[np.generic]], forest: Forest) -> None:
    made_for = arrays["names"].tobytes().decode().split("\n")
    if tuple(made_for) != (*NAMES, *DROPPING) or forest.feature.max() >= len(NAMES):
        message = "trained on other numbers"
        raise ValueError(message)
    _check_line(arrays["drops"], DROPPING)


def _check_line(line: NDArray[np.generic], names: Sequence[str]) -> None:
    if line.shape != (len(names) + 1,) or not np.isfinite(line.astype(np.float32)).all():
        message = "a line of odds that does not fit"
        raise ValueError(message)


def _odds(line: Row, row: Row) -> float:
    total = float(line[:-1] @ row + line[-1])
    if not isfinite(total):
        return 0.0
    return 1.0 / (1.0 + exp(-max(-_FARTHEST, min(_FARTHEST, total))))
