"""What the scheduler counts since its start. Token counts, unless said otherwise. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Mutable; belongs to the engine's thread. The words are those of `report.EngineReport`."""

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
