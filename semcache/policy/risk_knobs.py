"""The knobs of a policy file about how sure an answer must be, what risk is allowed, and how hits are audited."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from semcache.core import UntilProven
from semcache.policy.parts import Knobs
from semcache.policy.values import Duration, Flag, Threshold

ShortName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
JudgeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(/[A-Za-z0-9._:/-]{1,128})?$")]
Share = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]


class VerifierKnobs(Knobs):
    """The model that says how likely a stored answer is right for another question."""

    enabled: Flag = Field(True, description="Whether it is asked. Without it the gate alone stands between.")
    min_score: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = Field(
        0.88, description="Least probability at which an answer is served, whatever the similarity."
    )


class Alone(Knobs):
    """Serving below the threshold where no other stored question is near."""

    threshold: Threshold = Field(description="Least similarity of one that stands alone.")
    margin: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = Field(
        0.1, description="By how much it must be nearer than every other stored question."
    )
    min_score: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = Field(
        0.88, description="Least probability, by the verifier, for serving it."
    )


class Audit(Knobs):
    """Asking the backend again about answers that were served, in the background."""

    enabled: Flag = Field(True, description="Whether hits are audited.")
    share_thin: Share = Field(0.5, description="Share of hits audited while evidence is thin.")
    share_proven: Share = Field(0.1, description="The same once the bound is well under the budget.")
    max_usd_per_day: Annotated[float, Field(strict=True, ge=0, le=1e6, allow_inf_nan=False)] = Field(
        1.0, description="Money that audits may cost the tenant a day."
    )
    max_calls_per_day: Annotated[int, Field(strict=True, ge=0, le=10**7)] = Field(
        200, description="Calls that audits may make a day."
    )
    judge: JudgeName | None = Field(
        None,
        description="Upstream (NAME, or NAME/MODEL) that decides where comparing both answers cannot. null: nobody does.",
    )
    passthrough: Flag = Field(
        False, description="Whether callers who bring their own key may be billed for audits."
    )


class Risk(Knobs):
    """The promise: of the answers served by meaning at most a stated share is wrong."""

    budget: Annotated[float, Field(strict=True, gt=0, le=0.5, allow_inf_nan=False)] = Field(
        0.01, description="Greatest share of wrong answers among hits by meaning."
    )
    confidence: Annotated[float, Field(strict=True, ge=0.5, lt=1, allow_inf_nan=False)] = Field(
        0.95, description="Confidence of the bound that must lie under the budget."
    )
    until_proven: UntilProven = Field(
        UntilProven.SERVE,
        description="Until the tenant's own evidence proves the bound: serve (on the shipped calibration, as far as"
        " prior_hits reach), draft, or shadow (serve nothing, and learn).",
    )
    prior_hits: Annotated[float, Field(strict=True, ge=0, le=1e6, allow_inf_nan=False)] = Field(
        5000.0, description="How many hits of evidence the shipped calibration counts for."
    )
    half_life: Duration = Field(10 * 86_400.0, description="Time in which evidence loses half its weight.")
    age_out: Annotated[Duration, Field(ge=86_400)] = Field(
        90 * 86_400.0, description="Age at which evidence counts nothing; a day at least."
    )
    feedback_weight: Share = Field(0.5, description="What a caller's complaint counts against a verdict.")
