"""What a tenant's rules hold beside the `CachePolicy` of its domains. Values only."""

from __future__ import annotations

from dataclasses import dataclass

NEVER = 2.0
"""A threshold above every cosine: nothing is served by meaning."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a tenant may keep; None is no limit. `max_bytes` counts stored answers.

    `max_share` is the share of it above which one key or end user gives way first; `max_near` how many answers of one
    author may lie near each other (`crowding`).
    """

    max_entries: int | None = None
    max_bytes: int | None = None
    max_share: float | None = None
    max_near: int | None = None


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How many calls of a tenant may be under way at once (None: any number), and wait (how many, how many seconds)."""

    concurrent: int | None = None
    queue: int = 100
    seconds: float = 5.0


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
