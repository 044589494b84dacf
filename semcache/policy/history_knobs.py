"""The `history` part of a policy file: how far clients may have long histories trimmed.

Knows the knobs, their limits and their built-in defaults; not what becomes of them (`shortening`).
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from semcache.cost_rules import HistoryPolicy, Trimming
from semcache.policy.parts import Knobs
from semcache.policy.risk_knobs import JudgeName
from semcache.policy.values import Duration

Tokens = Annotated[int, Field(strict=True, ge=1, le=10**8)]


def _as_trimming(value: object) -> object:
    """Let false stand for off, as everywhere in these files."""
    return "off" if value is False else value


class HistoryKnobs(Knobs):
    """What becomes of long histories, for clients that ask by Semcache-History."""

    most: Annotated[Trimming, BeforeValidator(_as_trimming)] = Field(
        Trimming.REPORT,
        description="The most that a client may ask for. off: nothing. report: a header says what would be left away."
        " window: the oldest turns are left away. summary: a model puts them into few words.",
    )
    above: Tokens = Field(8_000, description="Histories of more (guessed) tokens are trimmed ...")
    keep: Tokens = Field(4_000, description="... down to about so many.")
    head: Annotated[int, Field(strict=True, ge=0, le=1000)] = Field(
        0, description="Messages after the system prompt that always stay."
    )
    summariser: JudgeName | None = Field(
        None, description="Upstream (NAME, or NAME/MODEL) that sums up. null: the one that was asked."
    )
    summary_tokens: Annotated[int, Field(strict=True, ge=16, le=100_000)] = Field(
        400, description="Tokens of a summary at most."
    )
    deadline: Annotated[Duration, Field(le=600)] = Field(
        20.0, description="Time that summing up may take; after it the oldest turns are left away."
    )

    @model_validator(mode="after")
    def _keeps_less(self) -> Self:
        if self.keep >= self.above:
            raise ValueError("keep should be less than above: the cut would move with every turn")
        return self


def history_policy(knobs: HistoryKnobs) -> HistoryPolicy:
    """Give what the knobs come to."""
    return HistoryPolicy(
        most=knobs.most,
        above=knobs.above,
        keep=knobs.keep,
        head=knobs.head,
        summariser=knobs.summariser or "",
        summary=knobs.summary_tokens,
        deadline=knobs.deadline,
    )
