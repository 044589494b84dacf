"""The part of the configuration that is about alarms, checked at the border."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from semcache.alarming.rules import LIMITS, AlarmRules, Limit
from semcache.cost_port import AlarmKind


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AlarmLevel(_Strict):
    """Another level for one alarm, or none at all; None is the default of `alarming.rules`. Times in seconds."""

    enabled: bool = True
    raises: Annotated[float, Field(ge=0, le=1e9)] | None = None
    clears: Annotated[float, Field(ge=0, le=1e9)] | None = None
    lasts: Annotated[float, Field(ge=0)] | None = None
    calms: Annotated[float, Field(ge=0)] | None = None


class AlarmSettings(_Strict):
    """Looking for what is wrong with reuse and money, for all tenants alike. Times in seconds.

    `webhook` is an https URL or a reference to one (`env:NAME`, `file:/path`), `webhook_secret` a reference.
    """

    enabled: bool = True
    every: Annotated[float, Field(ge=1, le=3600)] = 30.0
    window: Annotated[float, Field(ge=300, le=86_400)] = 3600.0
    sudden: Annotated[float, Field(ge=60, le=3600)] = 900.0
    least_requests: Annotated[int, Field(gt=0)] = 200
    least_prompt: Annotated[int, Field(ge=0)] = 1024
    budget_steps: tuple[Annotated[float, Field(gt=0, le=10)], ...] = (0.5, 0.8, 1.0)
    levels: dict[AlarmKind, AlarmLevel] = {}
    webhook: str | None = None
    webhook_secret: str | None = None

    @field_validator("levels")
    @classmethod
    def _have_room(cls, value: dict[AlarmKind, AlarmLevel]) -> dict[AlarmKind, AlarmLevel]:
        limits_of(value)
        return value

    @field_validator("webhook")
    @classmethod
    def _is_safe(cls, value: str | None) -> str | None:
        if value is None or value.startswith(("env:", "file:")):
            return value
        if not value.startswith("https://"):
            raise ValueError("must be an https URL, or a reference to one: env:NAME or file:/path")
        return value

    def rules(self) -> AlarmRules:
        """Give what the conditions go by."""
        return AlarmRules(
            every=self.every,
            window=self.window,
            sudden=self.sudden,
            least=self.least_requests,
            prompt=self.least_prompt,
            steps=tuple(sorted(set(self.budget_steps))),
            limits=limits_of(self.levels),
        )


def limits_of(levels: Mapping[AlarmKind, AlarmLevel]) -> dict[AlarmKind, Limit]:
    """Give the limits in force: the defaults, but for what was set.

    Raises:
        ValueError: an alarm would be raised and over at the same value.
    """
    limits = dict(LIMITS)
    for kind, level in levels.items():
        if kind not in limits:
            raise ValueError(f"{kind.value} has no levels of its own; see alarms.budget_steps")
        given = level.model_dump(exclude={"enabled"}, exclude_none=True)
        limits[kind] = limit = replace(limits[kind], **given)
        if (limit.clears < limit.raises) if limit.is_low else (limit.clears > limit.raises):
            raise ValueError(f"{kind.value}: clears must lie on the good side of raises")
        if not level.enabled:
            del limits[kind]
    return limits
