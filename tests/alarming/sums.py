"""Sums of costs as the book gives them, said shortly."""

from __future__ import annotations

from semcache.cost_port import CostKey, CostSums


def key(
    outcome: str, day: int, model: str = "m", backend: str = "", task: str = "", tenant: str = "acme"
) -> CostKey:
    return CostKey(tenant, day, model, backend, outcome, task=task)


def sums(requests: int, **others: int) -> CostSums:
    return CostSums(requests=requests, **others)
