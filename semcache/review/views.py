"""What a reviewer looks at: values that pages and the API show each in their own way. No behaviour beyond small properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from semcache.core import CachePolicy, Entry, EntryId, TenantId
from semcache.decide.risk.standing import Standing
from semcache.decide.spans import Objection
from semcache.evidence_port import Alarm, Label
from semcache.review_port import Agreement, Line, Opinion, Question, Waiting


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries of a tenant: all given fields must match; no field means all.

    `text` stands in question or answer, whatever the case; `before` (Unix seconds): stored before then.
    """

    text: str = ""
    tag: str = ""
    model: str = ""
    domain: str = ""
    status: str = ""
    namespace: str = ""
    before: float | None = None


@dataclass(frozen=True, slots=True)
class QueueRow:
    """An entry that waits; `question` is the one that asks most for a look, None when none is kept."""

    waiting: Waiting
    entry: Entry
    etag: str
    answer: str | None
    question: Question | None


@dataclass(frozen=True, slots=True)
class QueueView:
    """A page of the queue, heaviest first; `cursor` asks for the rest, "" when there is none."""

    rows: tuple[QueueRow, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class FoundPage:
    """Entries, newest first; `cursor` goes on, also where a page is empty since much had to be looked through."""

    entries: tuple[Entry, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Why:
    """Why an entry would be served for a question, or not.

    Attributes:
        asked: digest of the question, "" for a text that was only tried.
        text: the question.
        similarity, score: as they were when it was last asked; None where nobody knows.
        score_now: the verifier's score today.
        objections: of the gate, with their places in both texts.
        outcome, reasons: of the last time.
        is_barred: it is never answered by this entry again.
        cut: characters of longer texts that were compared, None: all.
    """

    asked: str
    text: str
    similarity: float | None
    score: float | None
    score_now: float | None
    objections: tuple[Objection, ...]
    outcome: str
    reasons: tuple[str, ...]
    is_barred: bool
    cut: int | None


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry with everything known about it.

    Attributes:
        entry: as it stands there.
        etag: to be repeated with every change.
        answer: its text, None where it is more than a text.
        may_edit: the text may be replaced.
        is_vouched: it counts as verified today.
        is_shared: others than its author get it.
        policy: of its domain, None when that is gone.
        questions, versions, opinions, labels, lines: newest first, as many as are kept.
        waiting: its place in the queue.
        flags: how often it was found wrong.
        why: about one question; None without questions.
    """

    entry: Entry
    etag: str
    answer: str | None
    may_edit: bool
    is_vouched: bool
    is_shared: bool
    policy: CachePolicy | None
    questions: tuple[Question, ...]
    versions: tuple[Entry, ...]
    opinions: tuple[Opinion, ...]
    labels: tuple[Label, ...]
    lines: tuple[Line, ...]
    waiting: Waiting | None
    flags: int
    why: Why | None


@dataclass(frozen=True, slots=True)
class Settled:
    """A verdict that was written down.

    `entry` is what stands there now, None when it is gone; `line` its line in the log; `published` the public copy.
    """

    entry: Entry | None
    etag: str
    line: Line
    published: EntryId | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What a bulk verdict or an invalidation would reach.

    `digest` and `before` are to be repeated by the real run. `is_whole` is False when more matched than one run
    takes: run again afterwards.
    """

    count: int
    digest: str
    before: float
    is_whole: bool
    sample: tuple[EntryId, ...]


@dataclass(frozen=True, slots=True)
class BulkStep:
    """What became of one entry: `done`, `stale`, `gone`, `unfit` (with the word for why) or `failed`."""

    entry: EntryId
    result: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class DomainNumbers:
    """One domain since some day.

    Attributes:
        domain: its name.
        tallies: counted words (`exact`, `semantic`, `shadow-semantic`, `<source>-<finding>`, `draft-...`).
        wrong: share of wrong ones among hits by meaning that were checked by chance, None while none was.
        interval: its exact 95 % interval.
        standing: what the evidence allows, None where it was not asked.
        alarm: the last one.
        policy: the domain's, None when it is gone.
    """

    domain: str
    tallies: Mapping[str, int]
    wrong: float | None
    interval: tuple[float, float]
    standing: Standing | None
    alarm: Alarm | None
    policy: CachePolicy | None

    @property
    def hits(self) -> int:
        """Answers served from the cache."""
        return self.tallies.get("exact", 0) + self.tallies.get("semantic", 0)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Live numbers of a tenant since `since` (Unix seconds; whole days count)."""

    tenant: TenantId
    since: float
    entries: int
    bytes: int
    domains: tuple[DomainNumbers, ...]


@dataclass(frozen=True, slots=True)
class JudgeView:
    """How a judging model compares with humans: the 2x2 table, its share of agreement, and Cohen's kappa."""

    model: str
    table: Agreement
    n: int
    agreed: float | None
    kappa: float | None
