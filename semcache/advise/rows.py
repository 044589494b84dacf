"""What logs are read as: one request a row, whatever wrote it down, and what could not be read.

Bodies have the shape of an OpenAI chat request, so that all that is known of requests holds for them. Knows no files.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from semcache.core import JsonObject
from semcache.records import Labels, Usage

NO_MODEL = "unknown"
"""Stands in a body for a model that the log does not name."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What a request says that its chat body cannot: fields without a word in chat, what closes the tier of meaning or the whole cache to it."""

    extra: JsonObject = field(default_factory=dict)
    exact_only: str | None = None
    uncacheable: str | None = None


NOTHING = Beside()


@dataclass(frozen=True, slots=True)
class LogRow:
    """One request of a log.

    `body` is a chat request (`model`, `messages`, and `tools` and parameters where the log has them), `beside` what a request of
    another API says beyond that; `model` is "" where the log names none. `at` is when it was asked, in Unix seconds, `seconds` how long the answer took, `cost` micro-USD as
    the log says. Everything that the log does not tell is None, or "". `response` is the answer's text (None also for an
    answer that is only calls of tools). `failed`: no answer was given; `from_cache`: another cache answered.
    """

    body: JsonObject
    file: str
    line: int
    at: float | None = None
    tenant: str = ""
    user: str = ""
    session: str = ""
    model: str = ""
    response: str | None = None
    usage: Usage | None = None
    cost: int | None = None
    seconds: float | None = None
    labels: Labels = ()
    failed: bool = False
    from_cache: bool = False
    beside: Beside = NOTHING

    def at_line(self, file: str, line: int) -> LogRow:
        """Give the row with where it stands."""
        # Each row of a log comes by here: `replace` takes thrice as long.
        return LogRow(
            self.body,
            file,
            line,
            self.at,
            self.tenant,
            self.user,
            self.session,
            self.model,
            self.response,
            self.usage,
            self.cost,
            self.seconds,
            self.labels,
            self.failed,
            self.from_cache,
            self.beside,
        )


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in a file that is no row: where, and why. `line` 0 stands for the whole file. Never holds text of the log."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.reason}"


@dataclass(slots=True)
class SkippedTally:
    """Counts what was skipped by reason, and keeps the first few.

    Args:
        most: examples kept.
    """

    most: int = 20
    examples: list[Skipped] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, skipped: Skipped) -> None:
        """Count one."""
        # Reasons come from a closed set of sentences, so that their number is bounded.
        self.reasons[skipped.reason] += 1
        if len(self.examples) < self.most:
            self.examples.append(skipped)

    @property
    def total(self) -> int:
        """How many there were."""
        return self.reasons.total()


class Watcher:
    """Hears how far reading and counting are; this one does not care."""

    def stage(self, name: str, total: int) -> None:
        """A stage of so many steps (bytes or rows) is begun; 0: nobody knows how many."""

    def advance(self, steps: int = 1) -> None:
        """So many more steps of it are done."""
