"""What a request leaves behind: tokens, one record, and the records of work beside requests.

Part of the shared vocabulary (`core` hands most names on). Holds no prompt text; knows no prices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from semcache.cost_rules import Labels as Labels  # noqa: PLC0414  handed on
from semcache.review_rules import DraftRecord


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the upstream billed them, the same for every dialect.

    `prompt_tokens` is all of the input, `completion_tokens` all of the output. Parts of the input: `cached_tokens`
    (read from the upstream's own prompt cache, or from the local engine's), `written_tokens` (written to it), of which
    `written_long_tokens` at the dearer price of a longer life. Part of the output: `reasoning_tokens`.
    `is_odd`: the upstream's counts did not fit each other (more cached than there was input, say), and were cut.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    written_tokens: int = 0
    written_long_tokens: int = 0
    reasoning_tokens: int = 0
    is_odd: bool = field(default=False, compare=False)

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


class Outcome(StrEnum):
    """One word a request, for dashboards."""

    EXACT = "exact"
    SEMANTIC = "semantic"
    DRAFT = "draft"
    MISS = "miss"
    BYPASS = "bypass"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """The one fact a request leaves behind; logs, metrics and reports are views of it.

    Holds no prompt text. `overhead` is the time spent in semcache itself before the first
    upstream byte was asked for (or before the hit was written), in seconds. `usage` is what was billed for
    this request, `saved` what the original call used when nothing was. `estimated`: the upstream did not say, so
    `usage` was guessed from what was sent. `backend` names who was asked, `is_local` says that it is the engine
    here. `embedded` is about how many tokens were embedded for it; `retry` that the same was asked moments ago;
    `repetition` how much the answer repeats itself, from 0 to 1; `hold` the reservation its budgets made. `waited` is
    how many seconds the original call took, where an answer was reused and somebody measured that.
    """

    request_id: str
    at: float
    tenant: str
    domain: str
    route: str
    model: str
    stream: bool
    outcome: Outcome
    reason: str
    status: int
    duration: float
    overhead: float
    similarity: float | None = None
    score: float | None = None
    entry_id: str = ""
    vetoes: tuple[str, ...] = ()
    stored: bool = False
    collapsed: bool = False
    shadow: str = ""
    usage: Usage | None = None
    saved: Usage | None = None
    faults: tuple[str, ...] = ()
    key_name: str = ""
    labels: Labels = ()
    draft: DraftRecord | None = None
    backend: str = ""
    is_local: bool = False
    estimated: bool = False
    embedded: int = 0
    retry: bool = False
    repetition: float | None = None
    trimmed: int = 0
    hold: str = ""
    waited: float | None = None


class SideKind(StrEnum):
    """Work that a request causes beside its own answer."""

    AUDIT = "audit"
    JUDGE = "judge"
    SUMMARY = "summary"
    """A model put a long history into few words."""


@dataclass(frozen=True, slots=True)
class SideRecord:
    """A model call beside requests: on whose account, and what it used (None: it did not say)."""

    kind: SideKind
    at: float
    tenant: str
    domain: str
    model: str
    backend: str
    usage: Usage | None
    request_id: str = ""
    labels: Labels = ()
    key_name: str = ""
    is_local: bool = False
