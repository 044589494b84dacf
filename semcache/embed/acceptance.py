"""What a freshly loaded model must show before it may serve: that it works, and which table fits it.

Knows nothing of threads, scripts or routing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semcache.core import Vector
from semcache.embed.calibration import CalibrationTable, Scale, scale_of
from semcache.embed.spec import TextModel
from semcache.embed.vectors import cosine
from semcache.errors import EncoderError

MAX_ANCHOR_DEVIATION = 0.02
"""Largest difference between an anchor's cosine and the table's; other processors move int8 by less."""

MAX_UNRELATED = 0.95
"""A model that finds unrelated sentences closer than this (reference, or raw) is broken."""

_UNRELATED_PAIRS = (
    ("How do I bake sourdough bread at home?", "Which court hears appeals in tax cases?"),
    ("怎样在家里做面包？", "税务案件由哪个法院审理上诉？"),
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What came of looking for a table: `scale` is None without one that fits, `note` says why."""

    scale: Scale | None
    note: str
    deviation: float | None = None


def calibrate(model: TextModel, tables: Sequence[CalibrationTable]) -> Calibration:
    """Choose the table whose anchors the model reproduces best, if any does well enough.

    Raises:
        EncoderError: the model fails on an anchor.
    """
    spec = model.spec
    fitting = [
        table
        for table in tables
        if (table.encoder, table.dim, table.prefix) == (spec.name, spec.dim, spec.prefix)
    ]
    if not fitting:
        return Calibration(
            None, f"no calibration table for {spec.name}: policies need explicit thresholds for it"
        )
    vectors = _embed_anchors(model, fitting)
    deviation, best = min(
        ((_deviation(table, vectors), table) for table in fitting), key=lambda pair: pair[0]
    )
    if deviation > MAX_ANCHOR_DEVIATION:
        note = f"the calibration table of {spec.name} was made with other weights (off by {deviation:.3f}): refused"
        return Calibration(None, note, deviation)
    return Calibration(scale_of(best), "calibrated", deviation)


def self_test(model: TextModel, scale: Scale | None) -> None:
    """Refuse a model to which unrelated sentences look alike.

    Raises:
        EncoderError: they do, or the model can read none of them.
    """
    read = 0
    for pair in _UNRELATED_PAIRS:
        vectors = [_one(model, text) for text in pair]
        if any(vector is None for vector in vectors):
            continue
        read += 1
        raw = _cosine_of(vectors)
        near = raw if scale is None else scale.to_reference(raw)
        if near > MAX_UNRELATED:
            raise EncoderError(
                f"{model.spec.name} finds two unrelated sentences {near:.3f} alike: not usable"
            )
    if not read:
        raise EncoderError(f"{model.spec.name} can read none of the test sentences: not usable")


def _embed_anchors(model: TextModel, tables: Sequence[CalibrationTable]) -> dict[str, Vector]:
    texts = sorted({text for table in tables for anchor in table.anchors for text in (anchor.a, anchor.b)})
    vectors = {text: _one(model, text) for text in texts}
    return {text: vector for text, vector in vectors.items() if vector is not None}


def _deviation(table: CalibrationTable, vectors: dict[str, Vector]) -> float:
    """Largest difference over the anchors; an anchor that the model refuses counts as 2."""
    return max(
        abs(cosine(vectors[anchor.a], vectors[anchor.b]) - anchor.cosine)
        if anchor.a in vectors and anchor.b in vectors
        else 2.0
        for anchor in table.anchors
    )


def _one(model: TextModel, text: str) -> Vector | None:
    """Embed one text as a request would; None when the model refuses it."""
    (result,) = model.embed([text])
    if not isinstance(result, EncoderError):
        return result
    if result.is_refusal:
        return None
    raise result


def _cosine_of(vectors: Sequence[Vector | None]) -> float:
    left, right = (vector for vector in vectors if vector is not None)
    return cosine(left, right)
