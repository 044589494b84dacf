"""What tokens of one model cost: whole numbers, rounded once. Pure; knows no models and no files.

A rate is micro-USD for a million tokens, which is a price in USD per million tokens times a million. A call is
summed up exactly and then rounded to the nearest micro-USD, halves up: less than half a micro-USD is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from semcache.core import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rate:
    """Micro-USD for a million tokens; `steps` (above how much input, what rate) ascend, and a step holds for all tokens."""

    base: int
    steps: tuple[tuple[int, int], ...] = ()

    def at(self, input_tokens: int) -> int:
        """Give the rate of a call with this much input in all."""
        rate = self.base
        for above, higher in self.steps:
            if input_tokens <= above:
                break
            rate = higher
        return rate

    def times(self, factor: int) -> Rate:
        """Give a multiple of it."""
        return Rate(self.base * factor, tuple((above, rate * factor) for above, rate in self.steps))


@dataclass(frozen=True, slots=True)
class Tariff:
    """The rates of one model; None where nobody says what such tokens cost.

    `cached`, `written` and `written_long` are parts of the input, `reasoning` of the output. `call` is micro-USD for each call.
    """

    input: Rate | None
    cached: Rate | None
    written: Rate | None
    written_long: Rate | None
    output: Rate | None
    reasoning: Rate | None = None
    call: int = 0

    def cost(self, usage: Usage) -> int | None:
        """Give what a call cost in micro-USD; None when it used tokens that have no rate."""
        long = min(usage.written_long_tokens, usage.written_tokens)
        plain = usage.prompt_tokens - usage.cached_tokens - usage.written_tokens
        reasoning = usage.reasoning_tokens if self.reasoning is not None else 0
        parts = (
            (plain, self.input),
            (usage.cached_tokens, self.cached),
            (usage.written_tokens - long, self.written),
            (long, self.written_long),
            (usage.completion_tokens - reasoning, self.output),
            (reasoning, self.reasoning),
        )
        total = self.call * MILLION
        for tokens, rate in parts:
            if tokens > 0:
                if rate is None:
                    return None
                total += tokens * rate.at(usage.prompt_tokens)
        return (total + MILLION // 2) // MILLION


def rate_of(dollars: Decimal) -> int:
    """Give USD for a million tokens as a rate; what is below a micro-USD is rounded, halves up."""
    return int((dollars * MILLION).to_integral_value(ROUND_HALF_UP))
