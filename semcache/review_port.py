"""The doors to what humans decide: verdicts and their log, and the queue of answers that wait for one.

Both belong to a tenant and are shared by all replicas; a change of an entry is announced on the store's change
stream, as `EntryPut` or `EntriesDeleted`. Knows neither Redis nor pages; who may say what is the caller's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from semcache.core import Entry, EntryId, ExactKey, JsonObject, TenantId


@dataclass(frozen=True, slots=True)
class Act:
    """Something that somebody did to a tenant's answers: one line of the audit log before it is written.

    Attributes:
        who: name of the token, `caller:<key name>`, `judge:<model>` or `cli`.
        at: Unix seconds.
        what: a closed word (`approve`, `edit`, `reject`, `bar`, `unbar`, `narrow`, `raise`, `publish`, `note`,
            `invalidate`, `export`, `promote` ...).
        entry: whose, or "".
        before, after: what was changed, as JSON objects of plain values; never a prompt or an answer, but digests of them.
        note: what they added, short.
    """

    who: str
    at: float
    what: str
    entry: EntryId | None = None
    before: JsonObject = field(default_factory=dict)
    after: JsonObject = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """An act as it stands in the log.

    `digest` is the SHA-256 in hex over `previous` (the digest of the line before, "" of none) and the act; `number`
    rises by one from 1.
    """

    number: int
    act: Act
    previous: str
    digest: str


@dataclass(frozen=True, slots=True)
class LogPage:
    """Lines, newest first; `cursor` asks for older ones, "" when there are none."""

    lines: tuple[Line, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A stored question and an asked one: `key` as in `Entry.key`, `asked` as in `Entry.barred`."""

    key: ExactKey
    asked: str


class Verdicts(Protocol):
    """Changes of entries by humans. Every method may raise StoreError: unreachable or late."""

    async def show(self, tenant: TenantId, id: EntryId) -> Entry | None:
        """Give an entry by id, whether or not it may be served, with the questions it is barred from."""
        ...

    async def apply(
        self,
        expected: Entry,
        changed: Entry | None,
        act: Act,
        bar: Sequence[str] = (),
        unbar: Sequence[str] = (),
    ) -> Line | None:
        """Put `changed` in the place of `expected`, and write the act down: all of it or nothing.

        What stood there becomes an earlier version, the entry leaves the queue, and every process hears of it. None, and
        nothing done, when id and version of `expected` are not what stands there. `changed` has the next version;
        None removes the entry for good, its exact key barred for an hour against answers begun before.
        `bar` and `unbar` are questions (`Entry.barred`) of this entry.
        """
        ...

    async def bar(self, tenant: TenantId, entry: EntryId, pair: Pair, act: Act) -> bool:
        """Never again answer the asked question by what is stored for the other one; False when that was so already.

        Holds for entries to come under the same exact key too, and whether or not the entry is still there.
        """
        ...

    async def publish(self, entry: Entry, public: Entry, act: Act) -> Line | None:
        """Store `public`, a copy of `entry` under the tenant of all, and write the act to the log of the entry's tenant.

        None when `entry` is not what stands there any more.
        """
        ...

    async def versions(self, tenant: TenantId, id: EntryId) -> list[Entry]:
        """Give the earlier versions of an entry, newest first, as many as are kept."""
        ...

    async def write(self, tenant: TenantId, act: Act) -> Line:
        """Write down an act that changed no entry by itself (invalidation, export)."""
        ...

    async def log(self, tenant: TenantId, cursor: str = "", limit: int = 50) -> LogPage:
        """Give a page of the audit log, newest first."""
        ...

    async def broken(self, tenant: TenantId) -> int | None:
        """Work the log's chain out anew: the number of the first line that does not fit, None when all do."""
        ...


@dataclass(frozen=True, slots=True)
class Sighting:
    """A stored answer met a question, and somebody should perhaps look at it.

    Attributes:
        entry: whose answer.
        asked: digest of the asked question (`Entry.barred`), `WHOLE` for the entry's own.
        question: its text; "" where it is not known: then the one known from elsewhere stays.
        at: Unix seconds.
        domain: of the request.
        outcome: `exact`, `semantic`, `draft`, or `shadow` (not served).
        risk: how much this one asks for a look, at least 0; 0 is only counted as served.
        reasons: closed words for why (`near-threshold`, `near-score`, `gate`, `volatile`, `personal`, `other-user`,
            `audit`, `complaint`, `draft`, `sample`).
        similarity, score: as in `core.Hit`.
        asker: digest of who asked.
        subject: digest of the end user alone (`core.Entry.subject`), whose the question's text is.
    """

    entry: EntryId
    asked: str
    question: str
    at: float
    domain: str
    outcome: str
    risk: float
    reasons: tuple[str, ...] = ()
    similarity: float | None = None
    score: float | None = None
    asker: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that met an entry: how often, when, by whom, and how near it was at the last time."""

    asked: str
    text: str
    times: int
    first_at: float
    last_at: float
    outcome: str
    reasons: tuple[str, ...]
    similarity: float | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry in the queue: `weight` is the sum of the risks of its sightings, so risk times traffic."""

    entry: EntryId
    weight: float
    domain: str
    reasons: Mapping[str, int]
    sightings: int
    last_at: float


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Waiting entries, heaviest first; `cursor` asks for the rest, "" when there is none."""

    waiting: tuple[Waiting, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judging model said about answering a question by an entry: `fit` in [0, 1], 1 for certainly right."""

    entry: EntryId
    asked: str
    model: str
    fit: float
    at: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a judge compares with humans: entries by (judge in favour, human in favour)."""

    both: int = 0
    only_judge: int = 0
    only_human: int = 0
    neither: int = 0


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision by meaning, kept to see what other thresholds would have done.

    `wrong` is None while nobody has said anything about it.
    """

    at: float
    similarity: float
    score: float | None
    outcome: str
    request: str = ""
    wrong: bool | None = None


class ReviewQueue(Protocol):
    """What waits for a human. Every method may raise StoreError: unreachable or late."""

    async def sight(self, tenant: TenantId, sightings: Sequence[Sighting]) -> None:
        """Count sightings; those with a risk put their entry into the queue, or further up."""
        ...

    async def waiting(
        self, tenant: TenantId, cursor: str = "", limit: int = 50, *, domain: str = "", reason: str = ""
    ) -> QueuePage:
        """Give a page of the queue; entries that are gone are left out and forgotten."""
        ...

    async def dismiss(self, tenant: TenantId, ids: Sequence[EntryId]) -> None:
        """Take entries out of the queue without a verdict; they come back with their next sighting."""
        ...

    async def waits(self, tenant: TenantId, id: EntryId) -> Waiting | None:
        """Give an entry's place in the queue."""
        ...

    async def size(self, tenant: TenantId) -> int:
        """Count those that wait; some of them may be gone."""
        ...

    async def questions(self, tenant: TenantId, id: EntryId) -> list[Question]:
        """Give the questions that met an entry, the newest first, as many as are kept."""
        ...

    async def opine(self, tenant: TenantId, opinion: Opinion) -> None:
        """Keep what a judge said; it weighs the entry's place: less for a good fit, more for a bad one."""
        ...

    async def opinions(self, tenant: TenantId, id: EntryId) -> list[Opinion]:
        """Give what judges said about an entry, newest first."""
        ...

    async def settled(self, tenant: TenantId, id: EntryId, right: bool) -> None:
        """Hear that a human decided about an entry: counts for the agreement, if a judge had an opinion."""
        ...

    async def agreement(self, tenant: TenantId) -> Mapping[str, Agreement]:
        """Give how each judging model has compared with humans so far."""
        ...

    async def keep(self, tenant: TenantId, domain: str, decisions: Sequence[Decided]) -> None:
        """Keep decisions, the newest some thousands of a domain."""
        ...

    async def decisions(self, tenant: TenantId, domain: str) -> list[Decided]:
        """Give the decisions kept, newest first, with what the evidence's newest labels say of their requests."""
        ...

    async def forget(self, tenant: TenantId, ids: Sequence[EntryId]) -> None:
        """Forget what entries that were erased leave here: their places, and the texts of questions."""
        ...

    async def sweep(self, tenant: TenantId) -> int:
        """Forget this for all entries that the store does not hold any more; gives how many."""
        ...
