"""A small cost book made by hand, for reports, tables, plots and pages."""

from __future__ import annotations

from semcache.cost_port import CostKey, CostSums

DAY = 20_700
"""2026-09-04."""


def key(
    tenant: str = "acme",
    day: int = DAY,
    model: str = "big",
    backend: str = "openai",
    outcome: str = "miss",
    *,
    key_name: str = "k",
    project: str = "",
    environment: str = "",
    business_line: str = "",
    task: str = "",
    is_local: bool = False,
) -> CostKey:
    return CostKey(
        tenant,
        day,
        model,
        backend,
        outcome,
        key_name,
        project,
        environment,
        business_line,
        task,
        is_local,
    )


def book(tenant: str = "acme", day: int = DAY) -> dict[CostKey, CostSums]:
    """Two days: misses, hits, a draft that did not pay, the local engine, an audit, a model without a price."""
    return {
        key(tenant, day, project="web", task="faq"): CostSums(
            requests=40, input=8_000, cached=4_000, written=100, output=2_000, cost=1_900_000,
            by_provider=200_000, charged=1_900_000, embedding=500, milliseconds=40_000,
        ),
        key(tenant, day, outcome="exact", project="web", task="faq"): CostSums(
            requests=60, saved_input=12_000, saved_output=3_000, by_response=620_000, saved_milliseconds=60_000,
        ),
        key(tenant, day, outcome="audit", project="web"): CostSums(input=1_000, output=200, side=30_000),
        key(tenant, day, model="small", backend="engine", project="=cmd()", is_local=True): CostSums(
            requests=10, input=2_000, output=900, by_local=-5_000,
        ),
        key(tenant, day + 1, outcome="draft", project="app"): CostSums(
            requests=40, input=100, output=50, cost=100_000, by_response=-40_000, embedding=500,
        ),
        key(tenant, day + 1, outcome="semantic", project="app"): CostSums(requests=10, by_response=20_000),
        key(tenant, day + 1, model="mystery", project="app"): CostSums(
            requests=5, input=500, output=100, unpriced=5,
        ),
    }  # fmt: skip
