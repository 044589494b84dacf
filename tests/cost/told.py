"""What the ledger's tests share: a clock to turn, somebody who is told, and a record."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from semcache.core import Outcome, RequestRecord, Usage

DAY = 86_400.0
NOON = 1_790_000_000 // 86_400 * DAY + DAY / 2


@dataclass
class HandClock:
    at: float = NOON

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Heard:
    rows_: Counter[str] = field(default_factory=Counter)
    segments_: Counter[str] = field(default_factory=Counter)

    def rows(self, state: str, count: int = 1) -> None:
        self.rows_[state] += count

    def segment(self, state: str) -> None:
        self.segments_[state] += 1


MISS = RequestRecord(
    request_id="req_1",
    at=NOON,
    tenant="acme",
    domain="chat",
    route="chat",
    model="gpt-4o-mini",
    stream=True,
    outcome=Outcome.MISS,
    reason="no-neighbour",
    status=200,
    duration=1.25,
    overhead=0.001,
    usage=Usage(1000, 200, 800),
    labels=(("project", "search"), ("environment", "prod"), ("team", "x")),
    key_name="k1",
    backend="openai",
)
