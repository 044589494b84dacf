"""What a policy says about risk per hit. Frozen values only; knows no evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from semcache.decide.risk.bound import Noise
from semcache.decide.risk.grid import BUCKET_SECONDS

_DAY = float(BUCKET_SECONDS)


class UntilProven(StrEnum):
    """What happens to a would-be hit while evidence is thin."""

    DRAFT = "draft"
    SHADOW = "shadow"
    SERVE = "serve"


@dataclass(frozen=True, slots=True)
class RiskRules:
    """One domain's rules.

    Attributes:
        budget: Greatest allowed wrong / hits, in (0, 0.5].
        confidence: Of the bound, in (0, 1).
        until_proven: What happens while evidence is thin; `serve` needs a prior.
        prior_strength: Pseudo-hits that the prior weighs at most; 0 means no prior.
        half_life: Seconds in which a label's weight halves.
        age_out: Seconds after which a label counts nothing.
        audit_unserved: Share of would-be hits labelled while none is served. The backend answers them
            anyway, so a label costs a comparison only.
        audit_thin: Share of hits, and of would-be hits alike, while the bound is not well under the budget.
        audit_proven: The same when it is; never 0, or drift would go unseen.
        noise: Errors of the comparer that judges audits and shadow answers.
        feedback_weight: What a caller's complaint counts, in (0, 1].
        margin: A looser cut is opened at (1 - margin) x budget only and kept up to the budget.
        run_length: Mean days with labels until a false alarm while the risk is within the budget, at least.

    Raises:
        ValueError: A value is outside its range. Policies are checked before they come here.
    """

    budget: float = 0.01
    confidence: float = 0.95
    until_proven: UntilProven = UntilProven.DRAFT
    prior_strength: float = 0.0
    half_life: float = 10 * _DAY
    age_out: float = 90 * _DAY
    audit_unserved: float = 1.0
    audit_thin: float = 0.5
    audit_proven: float = 0.1
    noise: Noise = field(default_factory=Noise)
    feedback_weight: float = 0.5
    margin: float = 0.1
    run_length: float = 100.0

    def __post_init__(self) -> None:
        ranges = {
            "budget": 0.0 < self.budget <= 0.5,
            "confidence": 0.0 < self.confidence < 1.0,
            "prior_strength": 0.0 <= self.prior_strength < 1e9,
            "half_life": self.half_life > 0.0,
            "age_out": _DAY <= self.age_out <= 400 * _DAY,
            "audit shares": 0.0 < self.audit_proven <= self.audit_thin <= self.audit_unserved <= 1.0,
            "feedback_weight": 0.0 < self.feedback_weight <= 1.0,
            "margin": 0.0 <= self.margin < 1.0,
            "run_length": 1.0 <= self.run_length < 1e12,
        }
        wrong = [name for name, holds in ranges.items() if not holds]
        if wrong:
            raise ValueError(f"out of range: {', '.join(wrong)}")

    @property
    def buckets(self) -> int:
        """Buckets that count, the present one included."""
        return max(1, int(self.age_out // BUCKET_SECONDS))
