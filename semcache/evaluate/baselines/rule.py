"""What a baseline is: asked a question, it serves the answer of an earlier one or takes in the new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from semcache.core import Embedding, EncoderId, Vector

Scale = Callable[[EncoderId, float], float]
"""From an encoder's raw cosine to the similarity that a peer compares."""


@dataclass(frozen=True, slots=True)
class Question:
    """The last user text as a vector (None: nothing could be embedded), and the answer a model would give.

    Answers are compared by equality only. System prompt and history are not here: no baseline
    looks at them.
    """

    embedding: Embedding | None
    answer: str


class Peer(Protocol):
    """A cache that is compared with ours; holds what it was asked."""

    def ask(self, question: Question) -> str | None:
        """Give the answer that is served from the cache, or None: the model answers, and is remembered."""
        ...


class Memory:
    """Answers by vector; finds the nearest of the same encoder. Grows by doubling.

    Args:
        scale: see `Scale`; rising, so that the nearest stays the nearest.
    """

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self._rows: dict[EncoderId, Vector] = {}
        self._answers: dict[EncoderId, list[str]] = {}

    def add(self, embedding: Embedding, answer: str) -> None:
        """Remember an answer."""
        answers = self._answers.setdefault(embedding.encoder, [])
        rows = self._rows.get(embedding.encoder)
        if rows is None or len(answers) == len(rows):
            grown = np.zeros((max(1, 2 * len(answers)), embedding.vector.size), np.float32)
            if rows is not None:
                grown[: len(rows)] = rows
            self._rows[embedding.encoder] = rows = grown
        rows[len(answers)] = embedding.vector
        answers.append(answer)

    def nearest(self, embedding: Embedding) -> tuple[int, str, float] | None:
        """Give place, answer and similarity of the nearest, the earliest of equals; None while there is none.

        The place counts from 0 within the encoder of the question.
        """
        answers = self._answers.get(embedding.encoder)
        if not answers:
            return None
        cosines = self._rows[embedding.encoder][: len(answers)] @ embedding.vector
        best = int(np.argmax(cosines))
        return best, answers[best], self._scale(embedding.encoder, float(cosines[best]))
