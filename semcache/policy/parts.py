"""What all parts of a policy file have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Knobs(BaseModel):
    """Base of all parts: frozen, and a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
