"""Finds the domain of a question by its vector: the mean of the three nearest exemplars of each class.

Pure numpy. Knows vectors, no texts and no encoder; cosines of two encoders never meet. Encoders
differ in where unrelated questions lie (around 0.1 in one, 0.8 in another), so likeness is stated
between two points that each encoder's own exemplars give: 0 is the mean cosine of exemplars of
different classes, 1 is equality.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semcache.core import Embedding, EncoderId, Vector
from semcache.policy.schema import OTHER

NEAREST = 3
"""Exemplars averaged: one alone is noise, many blur a class of several topics."""
MIN_EXEMPLARS = 4
"""Below this many exemplars of one encoder a class has no say there: they are an accident of routing."""


@dataclass(frozen=True, slots=True)
class _Table:
    """One encoder's exemplars: `rows` float32 [n, d], unit; `spans` the rows of each class; `floor` a cosine."""

    rows: NDArray[np.float32]
    spans: tuple[tuple[str, int, int], ...]
    floor: float


class Classifier:
    """Classes by exemplars, for each encoder that has seen at least two of them."""

    def __init__(
        self,
        exemplars: Mapping[EncoderId, Mapping[str, NDArray[np.float32]]],
        min_similarity: float,
        margin: float,
    ) -> None:
        """Take exemplars float32 [n, d] with unit rows by encoder and class.

        `min_similarity` and `margin` are likenesses as described above.
        """
        tables = {encoder: _table(classes) for encoder, classes in exemplars.items()}
        self._tables = {encoder: table for encoder, table in tables.items() if table is not None}
        self._min_similarity = min_similarity
        self._margin = margin

    @classmethod
    def from_embeddings(
        cls, items: Iterable[tuple[str, Embedding]], min_similarity: float, margin: float
    ) -> Classifier:
        """Build from pairs of class and embedding, as an encoder that routes by script gives them."""
        grouped: dict[EncoderId, dict[str, list[Vector]]] = {}
        for name, embedding in items:
            grouped.setdefault(embedding.encoder, {}).setdefault(name, []).append(embedding.vector)
        stacked = {
            encoder: {name: np.stack(vectors) for name, vectors in classes.items()}
            for encoder, classes in grouped.items()
        }
        return cls(stacked, min_similarity, margin)

    def domain_of(self, vector: Vector, encoder: EncoderId) -> str | None:
        """Give the domain that the question clearly belongs to, or None.

        None too for `other`, for an encoder without exemplars, and for a vector of the wrong
        dimension or not finite. Costs one product [n, d] x [d].
        """
        scores = self.scores(vector, encoder)
        if not scores:
            return None
        ranked = sorted(scores.items(), key=lambda item: item[1], reverse=True)
        (name, best), runner_up = ranked[0], ranked[1][1]
        clear = best >= self._min_similarity and best - runner_up >= self._margin
        return name if clear and name != OTHER else None

    def scores(self, vector: Vector, encoder: EncoderId) -> dict[str, float]:
        """Give the likeness to each class (0 unrelated, 1 equal); empty when nothing can be said."""
        table = self._tables.get(encoder)
        if table is None or vector.shape != (table.rows.shape[1],) or not np.isfinite(vector).all():
            return {}
        cosines = table.rows @ vector
        return {
            name: (_top_mean(cosines[start:end]) - table.floor) / (1.0 - table.floor)
            for name, start, end in table.spans
        }


def _top_mean(cosines: NDArray[np.float32]) -> float:
    nearest = np.partition(cosines, -NEAREST)[-NEAREST:]
    return float(nearest.mean(dtype=np.float64))


def _table(classes: Mapping[str, NDArray[np.float32]]) -> _Table | None:
    """Stack the classes with enough exemplars; None when fewer than two are left."""
    kept = {name: rows for name, rows in sorted(classes.items()) if len(rows) >= MIN_EXEMPLARS}
    if len(kept) < 2:
        return None
    spans: list[tuple[str, int, int]] = []
    start = 0
    for name, rows in kept.items():
        spans.append((name, start, start + len(rows)))
        start += len(rows)
    stacked = np.ascontiguousarray(np.concatenate(list(kept.values())), dtype=np.float32)
    return _Table(stacked, tuple(spans), _floor(stacked, spans))


def _floor(rows: NDArray[np.float32], spans: list[tuple[str, int, int]]) -> float:
    """Give the mean cosine between exemplars of different classes, kept away from 1."""
    labels = np.repeat(np.arange(len(spans)), [end - start for _, start, end in spans])
    across = labels[:, None] != labels[None, :]
    return min(float((rows @ rows.T)[across].mean(dtype=np.float64)), 0.99)
