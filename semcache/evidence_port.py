"""The door to the evidence: labels about hits, what audits may spend, and which hits can still be judged.

Evidence belongs to a tenant and one of its domains and is shared by all replicas. A label is one
observed truth about one hit or would-be hit; it holds numbers and names, never prompt or answer.
Knows neither Redis nor how labels come about; score bins and time buckets are the caller's integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from semcache.core import EntryId, ExactKey, TenantId

NO_KEY = ExactKey("")
"""Stands where an exact key is not known."""


class Source(StrEnum):
    """Where a label comes from."""

    AUDIT = "audit"
    """The backend answered a served hit once more."""
    SHADOW = "shadow"
    """The backend answered anyway, since the hit was not served."""
    FEEDBACK = "feedback"
    """The caller said so."""
    VERDICT = "verdict"
    """A reviewer said so."""
    SEEN = "seen"
    """No label: hits and would-be hits as such, so that one knows how many the complaints came from."""


class Finding(StrEnum):
    """What a label says of the stored answer."""

    RIGHT = "right"
    WRONG = "wrong"
    UNDECIDED = "undecided"
    """Nobody could tell; kept in tallies and in the list, in no cell."""


@dataclass(frozen=True, slots=True)
class Label:
    """One observed truth.

    Attributes:
        id: what makes it this one: a message that comes twice counts once.
        bin: of the hit's score, None for a hit that has none (exact): then it is in no cell.
        bucket: of the time, rising.
        weight: how much it counts, above 0 and at most 100.
        at: Unix seconds of the observation.
        entry, request: whose answer, and the request that got it, where there is one.
        score: the verifier's probability that the hit is right, if there was one.
        similarity: on the reference scale.
        reasons: closed words, for reviewers.
        note: what the caller or reviewer added, short.
        subject: digest of the end user (`core.Entry.subject`) whose the note is, "" for nobody in particular.
    """

    id: str
    tenant: TenantId
    domain: str
    source: Source
    finding: Finding
    bin: int | None
    bucket: int
    at: float
    weight: float = 1.0
    entry: EntryId | None = None
    request: str = ""
    score: float | None = None
    similarity: float | None = None
    reasons: tuple[str, ...] = ()
    note: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """The labels of one source, time bucket and score bin: their weight, and that of the wrong ones."""

    source: Source
    bucket: int
    bin: int
    n: float
    wrong: float


@dataclass(frozen=True, slots=True)
class Alarm:
    """When a domain was last closed or tightened, and the word for why."""

    at: float
    reason: str


class EvidenceStore(Protocol):
    """Labels and tallies by tenant and domain. Every method may raise StoreError: unreachable or late."""

    async def add(self, label: Label) -> bool:
        """Count a label; False when it was counted before, is older than a reset or what is kept, or from the future.

        A wrong one also raises its entry's flag (see `flags`).
        """
        ...

    async def see(
        self, tenant: TenantId, domain: str, at: float, hits: Mapping[tuple[int, int], int]
    ) -> None:
        """Count hits and would-be hits by (bucket, bin): cells of source `seen`, none of them wrong."""
        ...

    async def counts(self, tenant: TenantId, domain: str) -> tuple[Cell, ...]:
        """Give all cells that are not aged out, in order of source, bucket and bin."""
        ...

    async def reset(self, tenant: TenantId, domain: str, at: float) -> None:
        """Forget the cells; labels observed until `at` never count again. Tallies and the list stay."""
        ...

    async def recent(self, tenant: TenantId, limit: int) -> list[Label]:
        """Give the newest labels that have an entry, newest first."""
        ...

    async def flags(self, tenant: TenantId) -> Mapping[EntryId, int]:
        """Give how often each entry was found wrong."""
        ...

    async def tally(self, tenant: TenantId, domain: str, at: float, counts: Mapping[str, int]) -> None:
        """Add to the day's counters; their names are words without a colon."""
        ...

    async def tallies(self, tenant: TenantId, domain: str, since: float) -> Mapping[str, int]:
        """Give the counters summed over the days from `since` on (labels: `<source>-<finding>`)."""
        ...

    async def sound(self, tenant: TenantId, domain: str, alarm: Alarm) -> None:
        """Keep the last alarm."""
        ...

    async def alarm(self, tenant: TenantId, domain: str) -> Alarm | None:
        """Give the last alarm."""
        ...

    async def domains(self, tenant: TenantId) -> tuple[str, ...]:
        """Name the domains that have labels or tallies, sorted."""
        ...

    async def tenants(self) -> tuple[TenantId, ...]:
        """Name the tenants that have evidence, sorted."""
        ...


@dataclass(frozen=True, slots=True)
class Spending:
    """Micro-USD and calls."""

    money: int
    calls: int


class AuditBudget(Protocol):
    """What audits may spend, shared by all replicas. Every method may raise StoreError."""

    async def reserve(self, tenant: TenantId, at: float, wanted: Spending, most: Spending) -> bool:
        """Take from the (UTC) day's allowance; False, and nothing taken, when it would go over.

        Money of 0 is not bounded by money.
        """
        ...

    async def settle(self, tenant: TenantId, at: float, correction: int) -> None:
        """Correct the money taken on that day, once the price is known."""
        ...

    async def spent(self, tenant: TenantId, at: float) -> Spending:
        """Give what that day has cost so far."""
        ...

    async def allows(self, tenant: TenantId, who: str, most: int, seconds: float) -> bool:
        """Count an event of `who`; False once there were `most` within a window of `seconds`."""
        ...


@dataclass(frozen=True, slots=True)
class ServedHit:
    """A hit that can be judged by who got it. `principal` as in `core.Caller`; the rest as in `Label`.

    `key` is the entry's, `asked` names the question (`core.Entry.barred`; `WHOLE` for an exact hit); "" where it was
    written down before these were. `public`: the entry is one of all tenants'. `settled`: a complaint
    about it was acted on; what is decided about the pair from then on is not the caller's. `subject` is a digest of
    the end user (`core.Entry.subject`).
    """

    request: str
    entry: EntryId
    domain: str
    principal: str
    exact: bool
    bin: int | None
    at: float
    score: float | None = None
    similarity: float | None = None
    key: ExactKey = NO_KEY
    asked: str = ""
    public: bool = False
    settled: bool = False
    subject: str = ""


class ServedHits(Protocol):
    """The hits of the last days, bounded. Every method may raise StoreError."""

    async def note(self, tenant: TenantId, hits: Sequence[ServedHit]) -> None:
        """Keep hits for a while; the oldest go first."""
        ...

    async def by_request(self, tenant: TenantId, request: str) -> ServedHit | None:
        """Give the hit that a request got."""
        ...

    async def by_entry(self, tenant: TenantId, entry: EntryId, principal: str) -> ServedHit | None:
        """Give the newest hit on an entry by callers of that principal."""
        ...

    async def settle(self, tenant: TenantId, request: str) -> None:
        """Note that a complaint about the hit of a request was acted on."""
        ...
