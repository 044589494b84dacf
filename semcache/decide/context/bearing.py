"""What one clause of a user is to a chat, in numbers: talk by the way, or something that bears on what is asked.

Two rows: for a clause that only one of two tellers has (may it be dropped?), and for a clause said
before a question that is whole by itself (does it bear on it?). Knows neither weights nor verdicts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from semcache.decide.context import last, reach
from semcache.decide.context.clauses import asks
from semcache.decide.context.matter import CORRECTION
from semcache.decide.context.saying import figure, is_figure, saying
from semcache.decide.context.smalltalk import topics
from semcache.decide.context.standing import Standing, standing
from semcache.decide.context.words import units, words_of
from semcache.decide.wordlist import split

Row = NDArray[np.float32]

DROPPING = ("talk", "shared", "social", "person", "rule", "figure", "correction", "topic", "asks", "points")
BEARING = (
    "talk", "asks", "told", "person", "body", "rule", "shared", "cosine", "personal", "worldly", "serving", "question_units",
    "figure", "correction", "points", "talk_asks", "cosine_asks", "units",
)  # fmt: skip
_POINTERS = frozenset(split("it this that them those these 它 这 那"))
_ORDINALS = frozenset(split("first second"))
_SHARED = 2
_MANY, _MORE = 6, 8
Cosine = Callable[[str, str], float]


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


def bearing(text: str, question: str, talk: float, cosine: float) -> Row:
    """Give the numbers of a clause said before a question that is whole by itself, float32 [len(BEARING)].

    Args:
        text: the clause.
        question: the last text.
        talk: log-odds that the clause is small talk.
        cosine: of clause and question, on the reference scale.
    """
    own = last.meant(question)
    reached = reach.standing_of(text)
    asked, said = frozenset(units(own.body)) - reach.COMMON, frozenset(units(text))
    near, asking = max(0.0, cosine), asks(text)
    return np.array(
        [
            talk,
            asking,
            reached is Standing.TOLD,
            reached is Standing.PERSON,
            reached is Standing.BODY,
            reached is Standing.RULE,
            min(_SHARED, len(asked & said)),
            near,
            own.personal,
            reach.is_worldly(own.body),
            reach.is_to_who_serves(own.body),
            min(_MANY, len(asked)),
            has_figure(text),
            is_correction(text),
            _points(text),
            talk if asking else 0.0,
            near if asking else 0.0,
            min(_MORE, len(said)),
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
