"""Findings to advise on: a helpdesk's log, with parts to be changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from semcache.advise.findings import (
    DomainReplay,
    Exact,
    FileRead,
    Findings,
    Overlap,
    Reading,
    Semantic,
    Shared,
    Size,
    SizeCurve,
    Sizes,
    Spending,
    Spent,
)

DAY = 86_400.0


def domain(name: str = "chat", **changes: Any) -> DomainReplay:
    """A domain where all is well: many repeats, few wrong, answers compared."""
    well = DomainReplay(
        domain=name,
        requests=10_000,
        exact=1_200,
        semantic=600,
        drafts=100,
        wrong=2.0,
        wrong_interval=(0.0, 5.0),
        saved_cost=18_000_000,
        saved_seconds=2_700.0,
        wrong_method="compared",
        reasons=(("below-threshold", 7_900), ("gate", 200)),
        compared=(298, 1, 1),
        repeated=(100, 0, 0),
        saved_by_exact=12_000_000,
        saved_input=900_000,
        saved_output=144_000,
        asked_seconds=15_000.0,
        timed=10_000,
        personal=30,
        volatile=60,
        looked=3_334,
        budget=0.01,
        ttl=DAY,
        held_back="serve",
    )
    return replace(well, **changes)


def semantic(*domains: DomainReplay, **changes: Any) -> Semantic:
    """What a replay of these domains found, all of the log."""
    requests = sum(each.requests for each in domains)
    made = Semantic(
        requests=requests,
        sampled=False,
        domains=domains,
        exact=sum(each.exact for each in domains),
        semantic=sum(each.semantic for each in domains),
        drafts=sum(each.drafts for each in domains),
        wrong=sum(each.wrong or 0.0 for each in domains) if domains else None,
        wrong_interval=None,
        saved_cost=sum(each.saved_cost for each in domains),
        saved_seconds=sum(each.saved_seconds for each in domains),
        of=requests,
        sample="all requests",
        answers=requests,
        embedded=requests,
        embed_seconds=0.003,
        decide_seconds=0.002,
    )
    return replace(made, **changes)


def exact(requests: int = 10_000, hits: int = 1_200, **changes: Any) -> Exact:
    made = Exact(
        requests=requests,
        cacheable=requests,
        repeats=hits,
        hits=hits,
        out_of_reach=0,
        reasons=(),
        ttl=DAY,
        saved_input=hits * 500,
        saved_output=hits * 80,
        saved_cost=hits * 10_000,
        unpriced=0,
        saved_seconds=hits * 1.5,
    )
    return replace(made, **changes)


def findings(
    replayed: Semantic | None = None, rows: int = 10_000, days: float = 10.0, **changes: Any
) -> Findings:
    """Ten days of a log."""
    tokens = rows * 500
    shared = Shared("all", rows, tokens, tokens * 3 // 5)
    made = Findings(
        reading=Reading(
            files=(FileRead("log.jsonl", "jsonl", (("openai", rows),), rows * 2_000, rows, 3),),
            rows=rows,
            skipped=3,
            reasons=(("is no JSON", 3),),
            examples=("log.jsonl:7: is no JSON",),
            first=1.7e9 if rows else None,
            last=1.7e9 + days * DAY if rows else None,
            untimed=0,
            order="time",
            sorted=False,
        ),
        spending=Spending(
            total=Spent(requests=rows, input=tokens, output=rows * 80, cost=rows * 10_000),
            by_model=(("gpt-4o", Spent(requests=rows, input=tokens, output=rows * 80, cost=rows * 10_000)),),
            by_tenant=(),
            by_day=(),
            seconds_p50=1.4 if rows else None,
            seconds_p95=4.0 if rows else None,
            timed=rows,
        ),
        overlap=Overlap(
            all=shared,
            provider=replace(shared, reused=tokens // 4),
            by_depth=(
                Shared("0 to 255", rows, rows * 256, rows * 240),
                Shared("256 to 1023", rows, rows * 244, rows * 60),
            ),
            by_part=(
                Shared("system", rows, rows * 300, rows * 290),
                Shared("question", rows, rows * 200, rows * 10),
            ),
            by_model=(replace(shared, name="gpt-4o"),),
            by_tenant=(),
            heads=(),
            block=16,
            nodes=100,
            forgotten=0,
        ),
        exact=exact(rows, rows * 12 // 100),
        sizes=Sizes(
            SizeCurve(
                (Size(0.5, 100, 1 << 20), Size(0.8, 900, 9 << 20), Size(0.95, 4_000, 40 << 20)),
                ((0, 0.0), (100, 0.5), (900, 0.8), (4_000, 0.95), (9_000, 1.0)),
                10_000,
                9_000,
                1.0,
            )
            if rows
            else None,
            None,
        ),
        semantic=replayed,
    )
    return replace(made, **changes)
