"""What a policy says about wrong answers per hit, and about checking hits afterwards: frozen values.

Part of the shared vocabulary (`core` hands the names on). Knows no evidence and no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class UntilProven(StrEnum):
    """What happens to a would-be hit while a tenant's own evidence is too thin to bound its risk."""

    SHADOW = "shadow"
    DRAFT = "draft"
    SERVE = "serve"

    @property
    def strictness(self) -> int:
        """Greater is stricter."""
        return {"shadow": 2, "draft": 1, "serve": 0}[self.value]


CLOSED = 2.0
"""A threshold above every similarity."""


@dataclass(frozen=True, slots=True)
class AloneRule:
    """When the nearest stored question may be served below the threshold: no other one is near.

    Where many stored questions lie close together, small differences have mattered before; one that stands
    alone by `margin` is judged by `threshold` and by the verifier's `min_score` for it instead.
    """

    threshold: float = CLOSED
    margin: float = 0.1
    min_score: float = 0.88


@dataclass(frozen=True, slots=True)
class RiskPolicy:
    """What a domain says about wrong answers per hit; see docs/risk.md.

    `budget` is the greatest allowed wrong / hits, `confidence` that of its bound; `prior_hits` is how many hits
    the shipped calibration counts for while `until_proven` is serve; lifetimes of evidence are in seconds,
    audit shares in (0, 1], `feedback_weight` is what a caller's complaint counts.
    """

    budget: float = 0.01
    confidence: float = 0.95
    until_proven: UntilProven = UntilProven.SERVE
    prior_hits: float = 5000.0
    half_life: float = 10 * 86_400.0
    age_out: float = 90 * 86_400.0
    audit_thin: float = 0.5
    audit_proven: float = 0.1
    feedback_weight: float = 0.5


@dataclass(frozen=True, slots=True)
class AuditPolicy:
    """What asking the backend again about served hits may cost: micro-USD and calls a day.

    `judge` names the upstream that decides where the comparison of both answers cannot; "" for none.
    `passthrough`: whether callers who bring their own key may be billed for audits of their hits.
    """

    enabled: bool = True
    max_money: int = 1_000_000
    max_calls: int = 200
    judge: str = ""
    passthrough: bool = False
