"""What a clause that only one of two tellers has is, in numbers: talk by the way, or something that bears on the case.

Knows neither weights nor verdicts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semcache.decide.context.clauses import asks
from semcache.decide.context.matter import CORRECTION
from semcache.decide.context.saying import figure, is_figure, saying
from semcache.decide.context.smalltalk import topics
from semcache.decide.context.standing import Standing, standing
from semcache.decide.context.words import words_of
from semcache.decide.wordlist import split

Row = NDArray[np.float32]

DROPPING = ("talk", "shared", "social", "person", "rule", "figure", "correction", "topic", "asks", "points")
_POINTERS = frozenset(split("it this that them those these 它 这 那"))
_ORDINALS = frozenset(split("first second"))
_SHARED = 2


def dropping(text: str, talk: float, others: frozenset[str], social: bool) -> Row:
    """Give the numbers of a clause that the other teller lacks, float32 [len(DROPPING)].

    Args:
        text: the clause, or all of a turn that holds nothing else.
        talk: log-odds that it is small talk.
        others: the units of everything else that both users said.
        social: the assistant answered its turn with small talk.
    """
    own = frozenset(unit for unit in saying(0, text).units if not is_figure(unit))
    reach_of = standing(text)
    return np.array(
        [
            talk,
            min(_SHARED, len(own & others)),
            social,
            reach_of is Standing.PERSON,
            reach_of > Standing.PERSON,
            has_figure(text),
            is_correction(text),
            bool(topics(text)),
            asks(text),
            _points(text),
        ],
        dtype=np.float32,
    )


def is_correction(text: str) -> bool:
    """True for a clause that takes something back."""
    return CORRECTION.search(" ".join(words_of(text))) is not None


def has_figure(text: str) -> bool:
    """True for a clause with a figure in it."""
    return any(figure(word) and word not in _ORDINALS for word in words_of(text))


def _points(text: str) -> bool:
    return not _POINTERS.isdisjoint(words_of(text))
