"""The knobs of a policy file about drafts (a near answer helps to make the new one) and about human review."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from semcache.policy.parts import Knobs
from semcache.policy.risk_knobs import JudgeName
from semcache.policy.values import Duration, Flag, Size
from semcache.review_rules import DraftWay

Probability = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


def _as_way(value: object) -> object:
    """Let false stand for off."""
    return "off" if value is False else value


class DraftKnobs(Knobs):
    """A stored answer that is near enough to help, and not near enough to be served."""

    way: Annotated[DraftWay, BeforeValidator(_as_way)] = Field(
        DraftWay.AUTO,
        description="lossless: the local engine verifies it token by token, other upstreams get none. prediction: also sent"
        " as the predicted output where the upstream takes one. revise: a model says what to change in it, the change is"
        " made and checked here. auto: the first of these three that the upstream can do. off: no drafts.",
    )
    reviser: JudgeName | None = Field(
        None, description="Upstream (NAME, or NAME/MODEL) that revises. null: the request's own."
    )
    min_score: Probability = Field(
        0.5,
        description="Least probability, by the verifier, that but for what is to be revised both questions are one.",
    )
    max_failed: Probability = Field(
        0.3, description="Above this share of drafts that failed their check, no more are made for a while."
    )
    min_trials: Annotated[int, Field(strict=True, ge=1, le=10**6)] = Field(
        20, description="Drafts that must have been tried before that share, or lost money, counts."
    )
    window: Annotated[Duration, Field(ge=3600)] = Field(
        2 * 86_400.0, description="How long a tried draft counts; an hour at least."
    )
    max_bytes: Size = Field(32_768, description="Answers longer than this are no drafts.")


class ReviewKnobs(Knobs):
    """What waits for a human, and what a human's word counts."""

    enabled: Flag = Field(True, description="Whether answers that were served wait for a reviewer.")
    verified_ttl: Duration = Field(
        30 * 86_400.0, description="Lifetime of an approved answer, where the reviewer names none."
    )
    near: Probability = Field(
        0.02, description="Hits that lie above their threshold or score by less than this come to a reviewer."
    )
    sample: Probability = Field(0.01, description="Share of all other hits that come there too.")
    judge: JudgeName | None = Field(
        None,
        description="Upstream (NAME, or NAME/MODEL) that looks at what is in doubt before a human does. null: nobody does.",
    )
    judge_usd_per_day: Annotated[float, Field(strict=True, ge=0, le=1e6, allow_inf_nan=False)] = Field(
        1.0, description="Money that this judge may cost the tenant a day."
    )
    judge_calls_per_day: Annotated[int, Field(strict=True, ge=0, le=10**7)] = Field(
        200, description="Calls that this judge may make a day."
    )
    promote_after: Annotated[int, Field(strict=True, ge=0, le=1000)] = Field(
        0,
        description="After so many favourable words of the judge about different questions, and none against it, an answer"
        " counts as approved. 0: never.",
    )
