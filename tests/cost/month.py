"""A month of costs as a small company might have them: made from a seed, the same every time."""

from __future__ import annotations

import math
import random

from semcache.cost_port import CostKey, CostSums
from tests.cost.books import DAY, key

PROJECTS = ("helpdesk", "handbook-search", "code-review", "translations", "intake", "")
MODELS = {"gpt-5-mini": (25, 200), "claude-haiku-4-5": (100, 500), "qwen3-0.6b": (0, 0)}
"""Micro-USD of a hundred input and of a hundred output tokens."""


def month(tenant: str = "acme", last: int = DAY, days: int = 30) -> dict[CostKey, CostSums]:
    draw = random.Random(6)
    made: dict[CostKey, CostSums] = {}
    for at in range(days):
        day = last - days + 1 + at
        busy = (0.35 if day % 7 in (2, 3) else 1.0) * (1 + 0.25 * math.sin(at / 5))
        for place, project in enumerate(PROJECTS):
            for model, (price_in, price_out) in MODELS.items():
                _day(
                    made,
                    draw,
                    key(tenant, day, model, project=project),
                    busy / (place + 1),
                    at,
                    price_in,
                    price_out,
                )
    return made


def _day(
    made: dict[CostKey, CostSums],
    draw: random.Random,
    one: CostKey,
    busy: float,
    at: int,
    price_in: int,
    price_out: int,
) -> None:
    local = price_in == 0
    backend = (
        "engine"
        if local
        else one.model.partition("-")[0].replace("gpt", "openai").replace("claude", "anthropic")
    )
    all_of = int(1200 * busy * draw.uniform(0.8, 1.2))
    hits = int(all_of * min(0.42, 0.08 + 0.012 * at) * draw.uniform(0.8, 1.1))
    missed = all_of - hits
    asked, told = missed * 1400, missed * 220
    cached = int(asked * min(0.6, 0.2 + 0.012 * at) * draw.uniform(0.7, 1.1))
    whole = (asked * price_in + told * price_out) // 100
    off = cached * price_in * 9 // 1000 - (missed * 40 if draw.random() < 0.2 else 0)

    def named(outcome: str) -> CostKey:
        return key(
            one.tenant, one.day, one.model, backend, outcome, project=one.project, environment="prod" if one.project else "",
            task="chat", key_name="app", is_local=local,
        )  # fmt: skip

    made[named("miss")] = CostSums(
        requests=missed, input=asked, cached=cached, output=told, cost=0 if local else whole - off,
        by_provider=0 if local else off, by_local=cached * 2 // 10 if local else 0, embedding=missed // 3,
        charged=whole - off, milliseconds=missed * 2100,
    )  # fmt: skip
    made[named("exact")] = CostSums(
        requests=hits * 2 // 3, saved_input=hits * 933, saved_output=hits * 147,
        by_response=hits * 14 * price_in * 2 // 3 + hits * 2 * price_out * 2 // 3, saved_milliseconds=hits * 1400,
    )  # fmt: skip
    made[named("semantic")] = CostSums(
        requests=hits - hits * 2 // 3, saved_input=hits * 467, saved_output=hits * 73,
        by_response=hits * 14 * price_in // 3 + hits * 2 * price_out // 3, saved_milliseconds=hits * 700,
    )  # fmt: skip
    made[named("audit")] = CostSums(input=hits * 14, output=hits * 2, side=hits * price_in // 8)
