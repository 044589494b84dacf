"""The shipped verifier: may the answer stored for one question be reused for another?

Gives a calibrated probability from the wording of both questions and the similarity of their
vectors. Cannot judge long texts. It was trained on public pairs of questions (see the card beside the
weights), so it may only take away; what it lets through must have passed everything else.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from importlib.resources import as_file, files
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semcache.decide.risk.prior import Prior
from semcache.decide.verify.forest import Forest, forest_of
from semcache.decide.verify.lexicon import Relation, read_lexicon
from semcache.decide.verify.traits import NAMES, Lexica, Traits
from semcache.errors import EncoderError

_WEIGHTS = "weights"
_BROKEN = (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)
"""What reading a file raises that is missing, cut short or another one."""
_HELP = "Install semcache again, or train them anew (scripts/verifier/train.py)."


class ForestVerifier:
    """Implements the port `Verifier`. One forest for pairs without Chinese, one for those with."""

    def __init__(self, traits: Traits, plain: Forest, chinese: Forest) -> None:
        self._traits = traits
        self._plain = plain
        self._chinese = chinese

    def relation(self, one: str, other: str) -> Relation:
        """Say how two single words stand to each other, by the lexicon of their script."""
        return self._traits.relation(one, other)

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        """Give the probability that the stored answer is right, in [0, 1]; None: it cannot tell.

        0 where one question says more than the other, whatever a model of natural paraphrases makes of it.

        Args:
            asked: The question now.
            stored: The question that the stored answer answered.
            similarity: Of their vectors, on the reference scale.
        """
        found = self.likeness(asked, stored, similarity)
        return 0.0 if found is not None and self._traits.says_more(asked, stored) else found

    def likeness(self, asked: str, stored: str, similarity: float) -> float | None:
        """Give the forest's own word, whatever one question says beside the other; for measuring what that rule does."""
        one, other = self._traits.words(asked), self._traits.words(stored)
        if not (one.whole and other.whole and one.forms and other.forms and isfinite(similarity)):
            return None
        forest = self._chinese if one.has_han or other.has_han else self._plain
        return forest.probability(self._traits.row(asked, stored, similarity))


def open_verifier(folder: Path | None = None) -> ForestVerifier:
    """Load the shipped weights, or those of a folder with the same files. Takes about half a second.

    Raises:
        EncoderError: a file is missing or broken, or the forests were made for other traits.
    """
    if folder is not None:
        return _open(folder)
    with as_file(files("semcache.decide.verify") / _WEIGHTS) as shipped:
        return _open(shipped)


def open_prior(folder: Path | None = None) -> Prior:
    """Give what the held-out pairs say of the scores: evidence for a domain that has none of its own.

    Raises:
        EncoderError: a file is missing or broken.
    """
    with as_file(files("semcache.decide.verify") / _WEIGHTS) as shipped:
        path = (folder or shipped) / "prior.json"
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            return Prior(tuple(map(float, told["hits"])), tuple(map(float, told["wrong"])))
        except _BROKEN as error:
            message = f"The verifier's calibration in {path} cannot be used ({type(error).__name__}). {_HELP}"
            raise EncoderError(message) from error


def _open(folder: Path) -> ForestVerifier:
    try:
        lexica = Lexica(read_lexicon(folder / "lexicon_en.npz"), read_lexicon(folder / "lexicon_zh.npz"))
        return ForestVerifier(
            Traits(lexica), _forest(folder / "forest_en.npz"), _forest(folder / "forest_zh.npz")
        )
    except _BROKEN as error:
        message = f"The verifier's weights in {folder} cannot be used ({type(error).__name__}). {_HELP}"
        raise EncoderError(message) from error


def _forest(path: Path) -> Forest:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays: Mapping[str, NDArray[np.generic]] = {name: archive[name] for name in archive.files}
    made_for = arrays["names"].tobytes().decode().split("\n")
    if tuple(made_for) != NAMES:
        message = f"{path.name} was trained on other traits"
        raise ValueError(message)
    forest = forest_of(arrays)
    if forest.feature.max() >= len(NAMES):
        message = f"{path.name} asks for traits that there are not"
        raise ValueError(message)
    return forest
