"""The knobs of a policy file about answers that nobody but their author has got so far."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from semcache.policy.parts import Knobs
from semcache.review_rules import MOST_CONFIRMERS


class ConfirmationKnobs(Knobs):
    """What a stored answer needs before others than its author are served it."""

    by: Literal["none", "users", "human"] = Field(
        "none",
        description="none: shared at once. users: once so many users got it from the model themselves, or a reviewer"
        " vouches for it. human: once a reviewer vouches for it.",
    )
    users: Annotated[int, Field(strict=True, ge=2, le=MOST_CONFIRMERS)] = Field(
        2, description="How many different users must have got it, its author among them."
    )
