"""What a domain's rules become for one request, beyond what every room knows as `CachePolicy`.

Values only; how they come about is in `effective` (from files) and `match` (by tightening).
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.core import CachePolicy

NEVER = 2.0
"""A threshold above every cosine: nothing is served by meaning."""


Curve = tuple[tuple[float, float], ...]
"""Points (raw cosine, similarity on the reference scale), both rising; between them the way is straight."""


@dataclass(frozen=True, slots=True)
class EncoderScale:
    """How an encoder without a calibration table is read: the least of what all curves give."""

    encoder: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class DomainPolicy(CachePolicy):
    """A `CachePolicy` with the knobs that only storing and uncalibrated encoders ask for.

    `store_tool_calls`: whether an answer that calls tools may be kept. `encoder_scales`: sorted
    by encoder name; `encoder_thresholds` is what fits of them into pairs, and empty once a
    client's wish has moved the threshold that the pairs refer to.
    """

    store_tool_calls: bool = False
    encoder_scales: tuple[EncoderScale, ...] = ()

    def curves_of(self, encoder: str) -> tuple[Curve, ...]:
        """Give the curves of an encoder by its name; none means the policy states nothing for it."""
        return next((scale.curves for scale in self.encoder_scales if scale.encoder == encoder), ())


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a tenant may keep; None is no limit. `max_bytes` counts stored answers."""

    max_entries: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ClassifierSpec:
    """What a tenant's classifier is made from; hashable, so equal ones can be built once.

    `exemplars` are pairs of class and texts, sorted by class; the class `other` is ordinary
    questions. `min_similarity` and `margin` are in the classifier's own unit: 0 is unrelated,
    1 is equal.
    """

    exemplars: tuple[tuple[str, tuple[str, ...]], ...]
    min_similarity: float
    margin: float
