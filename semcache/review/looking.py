"""Reading what a reviewer looks at: the queue, entries with all that is known of them, numbers. Changes nothing.

Whether somebody may look is asked before (`service`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import blake2b

from semcache.core import CachePolicy, Directives, Entry, EntryId, TenantId
from semcache.decide.confirming import NOBODY, is_unconfirmed
from semcache.decide.risk.fixed import clopper_pearson
from semcache.decide.risk.standing import Standing
from semcache.decide.spans import Objection, explain_spans
from semcache.decide.vouching import vouched
from semcache.evidence_port import EvidenceStore
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock, Verifier
from semcache.review.answers import may_edit, text_of
from semcache.review.problems import NotThereError
from semcache.review.searching import Shelves
from semcache.review.views import (
    DomainNumbers,
    EntryView,
    JudgeView,
    Numbers,
    QueueRow,
    QueueView,
    Why,
)
from semcache.review.whatif import kappa
from semcache.review_port import Line, Question, ReviewQueue, Verdicts, Waiting
from semcache.review_rules import PUBLIC, WHOLE

_COMPARED = 4000
"""Characters of either question that are compared when a match is explained."""
_LINES = 200
"""Newest lines of the log that are looked through for those about one entry."""
_LABELS = 500


@dataclass(frozen=True, slots=True)
class Shelf:
    """Everything that review reads and writes, shared with the proxies."""

    entries: Shelves
    verdicts: Verdicts
    queue: ReviewQueue
    evidence: EvidenceStore


StandingOf = Callable[[CachePolicy], Awaitable[Standing | None]]


@dataclass(frozen=True, slots=True)
class Looking:
    """Reads.

    Args:
        shelf: what is read.
        policies: gives the policies in force.
        clock: time.
        verifier: scores pairs anew; None: only what was recorded is shown.
        standing: gives what the evidence allows a domain; None where nobody works that out.
    """

    shelf: Shelf
    policies: Callable[[], PolicySnapshot]
    clock: Clock
    verifier: Verifier | None = None
    standing: StandingOf | None = None

    def policy_of(self, tenant: TenantId, domain: str) -> CachePolicy | None:
        """Give the policy of a domain now, None when tenant or domain are gone."""
        known = self.policies().by_tenant.get(tenant)
        return None if known is None else known.domains.get(domain)

    def is_vouched(self, entry: Entry) -> bool:
        """True when a human vouches for an entry today, under the policy of its domain."""
        policy = self.policy_of(entry.tenant, entry.domain)
        if policy is None and entry.tenant == PUBLIC:
            policy = next(iter(self._any_policy()), None)
        return policy is not None and vouched(policy, Directives(), entry, self.clock.now())

    def is_shared(self, entry: Entry) -> bool:
        """True when others than its author get an entry today, as far as their number goes (`decide.confirming`)."""
        if entry.tenant == PUBLIC:
            return True
        policy = self.policy_of(entry.tenant, entry.domain)
        return policy is not None and not is_unconfirmed(policy, entry, NOBODY, self.is_vouched(entry))

    def _any_policy(self) -> list[CachePolicy]:
        # A public answer's flag is bound to no policy of one tenant.
        return [policy for known in self.policies().by_tenant.values() for policy in known.domains.values()]

    async def present(self, tenant: TenantId, id: EntryId) -> Entry:
        """Give what stands there.

        Raises:
            NotThereError: nothing does.
            StoreError: unreachable or late.
        """
        entry = await self.shelf.verdicts.show(tenant, id) if is_name(id) else None
        if entry is None:
            raise NotThereError
        return entry

    async def queue(self, tenant: TenantId, cursor: str, limit: int, domain: str, reason: str) -> QueueView:
        """Give a page of the queue with what it is about.

        Raises:
            StoreError: unreachable or late; `invalid`: the cursor is none.
        """
        page = await self.shelf.queue.waiting(tenant, cursor, limit, domain=domain, reason=reason)
        rows = await asyncio.gather(*(self._row(tenant, waiting) for waiting in page.waiting))
        return QueueView(tuple(row for row in rows if row is not None), page.cursor)

    async def _row(self, tenant: TenantId, waiting: Waiting) -> QueueRow | None:
        entry, asked = await asyncio.gather(
            self.shelf.verdicts.show(tenant, waiting.entry), self.shelf.queue.questions(tenant, waiting.entry)
        )
        if entry is None:
            return None
        question = max(asked, key=lambda one: _urgency(one, entry), default=None)
        return QueueRow(waiting, entry, etag_of(entry), text_of(entry.completion), question)

    async def view(self, tenant: TenantId, id: EntryId, asked: str) -> EntryView:
        """Give an entry with all that is known of it; `asked` names the question to explain, "" the most urgent.

        Raises:
            NotThereError: no such entry; no such question of it.
            StoreError: unreachable or late.
        """
        entry = await self.present(tenant, id)
        queue = self.shelf.queue
        questions, versions, opinions, waiting = await asyncio.gather(
            queue.questions(tenant, id),
            self.shelf.verdicts.versions(tenant, id),
            queue.opinions(tenant, id),
            queue.waits(tenant, id),
        )
        labels, flags, lines = await asyncio.gather(
            self.shelf.evidence.recent(tenant, _LABELS),
            self.shelf.evidence.flags(tenant),
            self.lines_about(tenant, id),
        )
        return EntryView(
            entry=entry,
            etag=etag_of(entry),
            answer=text_of(entry.completion),
            may_edit=may_edit(entry.completion),
            is_vouched=self.is_vouched(entry),
            is_shared=self.is_shared(entry),
            policy=self.policy_of(tenant, entry.domain),
            questions=tuple(questions),
            versions=tuple(versions),
            opinions=tuple(opinions),
            labels=tuple(label for label in labels if label.entry == id),
            lines=lines,
            waiting=waiting,
            flags=flags.get(id, 0),
            why=await self._why_of(entry, questions, asked),
        )

    async def lines_about(self, tenant: TenantId, id: EntryId) -> tuple[Line, ...]:
        """Give the lines about an entry among the newest of the log."""
        page = await self.shelf.verdicts.log(tenant, limit=_LINES)
        return tuple(line for line in page.lines if line.act.entry == id)

    async def _why_of(self, entry: Entry, questions: list[Question], asked: str) -> Why | None:
        if asked:
            chosen = next((one for one in questions if one.asked == asked), None)
            if chosen is None:
                raise NotThereError("question")
        else:
            chosen = max(questions, key=lambda one: _urgency(one, entry), default=None)
        return None if chosen is None else await self.why(entry, chosen)

    async def why(self, entry: Entry, question: Question) -> Why:
        """Explain what speaks for and against answering a question by an entry."""
        policy = self.policy_of(entry.tenant, entry.domain)
        text, stored = question.text[:_COMPARED], entry.prompt[:_COMPARED]
        objections: tuple[Objection, ...] = ()
        if policy is not None and question.asked != WHOLE:
            objections = await asyncio.to_thread(explain_spans, text, stored, policy.gate)
        score = None
        if self.verifier is not None and question.similarity is not None and question.asked != WHOLE:
            score = await asyncio.to_thread(self.verifier.score, text, stored, question.similarity)
        longest = max(len(question.text), len(entry.prompt))
        return Why(
            asked=question.asked,
            text=question.text,
            similarity=question.similarity,
            score=question.score,
            score_now=score,
            objections=objections,
            outcome=question.outcome,
            reasons=question.reasons,
            is_barred=question.asked in entry.barred or WHOLE in entry.barred,
            cut=_COMPARED if longest > _COMPARED else None,
        )

    async def numbers(self, tenant: TenantId, since: float) -> Numbers:
        """Give live numbers.

        Raises:
            StoreError: unreachable or late.
        """
        counts = await self.shelf.entries.counts(tenant)
        known = self.policies().by_tenant.get(tenant)
        names = {*await self.shelf.evidence.domains(tenant), *(known.domains if known else ())}
        domains = [await self._domain(tenant, name, since) for name in sorted(names)]
        return Numbers(tenant, since, counts.entries, counts.bytes, tuple(domains))

    async def _domain(self, tenant: TenantId, name: str, since: float) -> DomainNumbers:
        words = await self.shelf.evidence.tallies(tenant, name, since)
        right = words.get("audit-right", 0) + words.get("shadow-right", 0)
        wrong = words.get("audit-wrong", 0) + words.get("shadow-wrong", 0)
        policy = self.policy_of(tenant, name)
        known = self.standing is not None and policy is not None
        return DomainNumbers(
            domain=name,
            tallies=dict(words),
            wrong=wrong / (right + wrong) if right + wrong else None,
            interval=clopper_pearson(right + wrong, wrong),
            standing=await self.standing(policy) if known and self.standing and policy else None,
            alarm=await self.shelf.evidence.alarm(tenant, name),
            policy=policy,
        )

    async def judges(self, tenant: TenantId) -> tuple[JudgeView, ...]:
        """Give how judging models compare with humans.

        Raises:
            StoreError: unreachable or late.
        """
        views: list[JudgeView] = []
        for model, table in sorted((await self.shelf.queue.agreement(tenant)).items()):
            n = table.both + table.only_judge + table.only_human + table.neither
            agreed = (table.both + table.neither) / n if n else None
            views.append(JudgeView(model, table, n, agreed, kappa(table)))
        return tuple(views)


def etag_of(entry: Entry) -> str:
    """Name an entry's state, quotes included: id, version, and the questions that it is barred from."""
    barred = f".{hash_of(sorted(entry.barred))}" if entry.barred else ""
    return f'"{entry.id}.{entry.version}{barred}"'


def hash_of(words: list[str]) -> str:
    """Give a short digest of some words."""
    return blake2b("\n".join(words).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def is_name(id: str) -> bool:
    """True for what may name an entry."""
    return 0 < len(id) <= 256 and id.isprintable() and id.isascii() and not id.startswith("#")


def _urgency(question: Question, entry: Entry) -> tuple[bool, bool, int, float]:
    """Order questions: those that can still be decided first, then those with reasons, the newest last."""
    return question.asked not in entry.barred, bool(question.reasons), len(question.reasons), question.last_at
