"""What an engine tells about itself: one frozen record for metrics, readiness and pages. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One node of the prefix tree as shown to people: no token, no text.

    `depth` is the number of nodes above, `start` and `tokens` its place and length in tokens.
    `owner` is "public" or a tenant's short digest. Times are seconds before the report.
    """

    depth: int
    start: int
    tokens: int
    owner: str
    hits: int
    frequency: float
    users: int
    idle_seconds: float
    age_seconds: float
    digest: str


@dataclass(frozen=True, slots=True)
class TopPrefix:
    """A prefix worth keeping or computing again: `tokens` from the start, hits `frequency` (decayed).

    `digest` is hexadecimal, `owner` "public" or a tenant's short digest.
    """

    digest: str
    tokens: int
    frequency: float
    owner: str


@dataclass(frozen=True, slots=True)
class TenantShare:
    """What one tenant holds, in tokens, and its limits (None: no ceiling).

    `tenant` is "public" or the tenant's short digest, never its key.
    """

    tenant: str
    tokens: int
    floor: int
    ceiling: int | None


@dataclass(frozen=True, slots=True)
class EngineReport:
    """Counters since the start and present sizes. Token counts, unless said otherwise.

    `prompt`, `cached`: of requests of users, background work apart. `recomputed`: tokens computed
    again after a preemption (never counted as cached). `evictions`: (reason, tokens).
    `recoveries`: how often all prefixes were dropped after a fault inside the engine.
    `free + tree + running == capacity` always.
    """

    capacity: int
    free: int
    tree: int
    running: int
    pinned: int
    nodes: int
    high_water: int
    bytes_per_token: int
    host_tokens: int
    prompt: int
    cached: int
    generated: int
    recomputed: int
    background: int
    accepted_draft: int
    rejected_draft: int
    steps: int
    decode_rows: int
    preemptions: int
    failures: int
    recoveries: int
    active: int
    queued: int
    evictions: tuple[tuple[str, int], ...]
    tenants: tuple[TenantShare, ...]
