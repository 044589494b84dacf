"""What a domain's rules become for one request, beyond what every room knows as `CachePolicy`.

Values only; how they come about is in `effective` (from files) and `match` (by tightening).
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.core import CachePolicy

NEVER = 2.0
"""A threshold above every cosine: nothing is served by meaning."""


@dataclass(frozen=True, slots=True)
class EncoderThresholds:
    """Raw cosines for one encoder without a calibration table; `draft <= threshold`, `verified <= threshold`."""

    encoder: str
    threshold: float
    verified: float
    draft: float


@dataclass(frozen=True, slots=True)
class DomainPolicy(CachePolicy):
    """A `CachePolicy` with the knobs that only storing and uncalibrated encoders ask for.

    `store_tool_calls`: whether an answer that calls tools may be kept. `encoder_bands`: the
    full bands behind `encoder_thresholds`, sorted by encoder name.
    """

    store_tool_calls: bool = False
    encoder_bands: tuple[EncoderThresholds, ...] = ()


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
