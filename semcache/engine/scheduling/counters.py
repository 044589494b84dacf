"""What the scheduler counts since its start. Token counts, unless said otherwise. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """Mutable; belongs to the engine's thread. The words are those of `report.EngineReport`.

    `high_water` and `evictions` (by reason) are those of books that are closed (see `books`).
    """

    prompt: int = 0
    cached: int = 0
    generated: int = 0
    recomputed: int = 0
    background: int = 0
    accepted_draft: int = 0
    rejected_draft: int = 0
    steps: int = 0
    decode_rows: int = 0
    preemptions: int = 0
    failures: int = 0
    recoveries: int = 0
    high_water: int = 0
    evictions: dict[str, int] = field(default_factory=dict)
