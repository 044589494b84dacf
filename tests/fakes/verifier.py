"""A Verifier that is told what to say, and else counts common words."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

SILENT = object()


@dataclass
class FakeVerifier:
    """Behaves like the real one under the contract suite; the fields are its switches.

    `says` is the answer to every pair (None: it cannot tell), `scores` gives chosen answers for stored
    questions; `longest` is how many words it reads.
    """

    says: float | object | None = SILENT
    scores: dict[str, float | None] = field(default_factory=dict)
    longest: int = 192
    calls: list[tuple[str, str, float]] = field(default_factory=list)

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        self.calls.append((asked, stored, similarity))
        if stored in self.scores:
            return self.scores[stored]
        if self.says is None or isinstance(self.says, float):
            return self.says
        one, other = (text.lower().split() for text in (asked, stored))
        if not one or not other or max(len(one), len(other)) > self.longest or not isfinite(similarity):
            return None
        return len({*one} & {*other}) / len({*one} | {*other})
