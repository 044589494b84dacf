"""Review as somebody with a token sees it: who may, what there is, what they decide. Knows no HTTP and no pages.

Every method takes who asks and checks it before anything is read: a tenant that somebody does not see is not there.
All of them may raise `ReviewError` (see `problems`) and StoreError: unreachable or late. A verdict is one write of
the store; what follows from it (the queue, evidence) is tried afterwards, and its failure undoes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from semcache.core import CachePolicy, Entry, EntryId, Epochs, JsonObject, ReviewStatus, TenantId
from semcache.decide.risk.grid import bin_of, bucket_of
from semcache.embed.fingerprint import key_in
from semcache.errors import StoreError
from semcache.evidence_port import Finding, Label, Source
from semcache.ports import Clock
from semcache.review import searching
from semcache.review.access import Reviewer, Role, allow
from semcache.review.looking import Looking, Shelf, etag_of
from semcache.review.problems import ConflictError, NotThereError, UnfitError
from semcache.review.verdicts import (
    Approve,
    Bar,
    Edit,
    Note,
    Publish,
    Reject,
    Said,
    Verdict,
    act_of,
    change_of,
    checked_note,
    needs_policy,
    role_for,
)
from semcache.review.views import EntryView, Filter, FoundPage, JudgeView, Numbers, QueueView, Settled, Why
from semcache.review.whatif import WhatIf, what_if
from semcache.review_port import Act, Decided, Line, LogPage, Question
from semcache.review_rules import PUBLIC, WHOLE

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ReviewRules:
    """Bounds: entries a page, looked through a page, of one bulk run."""

    page: int = 200
    looked: int = 2000
    bulk: int = 1000


class ReviewService:
    """All of review.

    Args:
        shelf: what is read and written.
        looking: reads it.
        clock: time.
        rules: bounds.
    """

    def __init__(
        self,
        shelf: Shelf,
        looking: Looking,
        clock: Clock,
        rules: ReviewRules | None = None,
    ) -> None:
        self.shelf = shelf
        self.looking = looking
        self.clock = clock
        self.rules = rules or ReviewRules()

    # Looking ------------------------------------------------------------------------------------------------

    async def tenants(self, who: Reviewer) -> tuple[TenantId, ...]:
        """Name the tenants that somebody sees: those of the policies, and those that hold entries."""
        held = await self.shelf.entries.tenants()
        known = {*self.looking.policies().tenants, *held}
        return tuple(sorted(tenant for tenant in known if who.sees(tenant)))

    async def queue(
        self,
        who: Reviewer,
        tenant: TenantId,
        cursor: str = "",
        limit: int = 50,
        *,
        domain: str = "",
        reason: str = "",
    ) -> QueueView:
        """Give a page of the queue, heaviest first."""
        self.allow(who, tenant)
        return await self.looking.queue(tenant, cursor, self._limit(limit), domain, reason)

    async def entry(self, who: Reviewer, tenant: TenantId, id: EntryId) -> Entry:
        """Give an entry as it stands there."""
        self.allow(who, tenant)
        return await self.looking.present(tenant, id)

    async def view(self, who: Reviewer, tenant: TenantId, id: EntryId, asked: str = "") -> EntryView:
        """Give an entry with all that is known of it; `asked` names the question to explain, "" the most urgent."""
        self.allow(who, tenant)
        return await self.looking.view(tenant, id, asked)

    async def why(self, who: Reviewer, tenant: TenantId, id: EntryId, text: str) -> Why:
        """Explain an entry against a text that nobody asked yet."""
        self.allow(who, tenant)
        entry = await self.looking.present(tenant, id)
        tried = Question("", text, 0, 0.0, 0.0, "", (), None, None)
        return await self.looking.why(entry, tried)

    async def find(
        self, who: Reviewer, tenant: TenantId, filter: Filter, cursor: str = "", limit: int = 50
    ) -> FoundPage:
        """Give entries that match, newest first. A page may be empty and still have a cursor."""
        self.allow(who, tenant)
        wanted, most = searching.checked(filter), self.rules.looked
        return await searching.find(self.shelf.entries, tenant, wanted, cursor, self._limit(limit), most)

    async def log(self, who: Reviewer, tenant: TenantId, cursor: str = "", limit: int = 50) -> LogPage:
        """Give a page of the audit log, newest first."""
        self.allow(who, tenant)
        return await self.shelf.verdicts.log(tenant, cursor, self._limit(limit))

    async def broken(self, who: Reviewer, tenant: TenantId) -> int | None:
        """Give the number of the first line of the log that does not fit the chain, None when all do."""
        self.allow(who, tenant)
        return await self.shelf.verdicts.broken(tenant)

    async def numbers(self, who: Reviewer, tenant: TenantId, since: float) -> Numbers:
        """Give live numbers since some day (Unix seconds)."""
        self.allow(who, tenant)
        return await self.looking.numbers(tenant, since)

    async def judges(self, who: Reviewer, tenant: TenantId) -> tuple[JudgeView, ...]:
        """Give how judging models compare with humans."""
        self.allow(who, tenant)
        return await self.looking.judges(tenant)

    def policies(self, who: Reviewer, tenant: TenantId) -> tuple[CachePolicy, ...]:
        """Give the policies of a tenant's domains, by name; none when the tenant has no file any more."""
        self.allow(who, tenant)
        known = self.looking.policies().by_tenant.get(tenant)
        return tuple(known.domains[name] for name in sorted(known.domains)) if known else ()

    async def what_if(
        self, who: Reviewer, tenant: TenantId, domain: str, threshold: float, min_score: float | None = None
    ) -> WhatIf:
        """Say what another threshold would have done with the decisions kept; `min_score` None is the policy's."""
        self.allow(who, tenant)
        policy = self.looking.policy_of(tenant, domain)
        least = min_score if min_score is not None else (policy.min_score if policy is not None else 0.0)
        if not (0.0 <= threshold <= 1.0 and 0.0 <= least <= 1.0):
            raise UnfitError("bad-threshold", "Thresholds lie between 0 and 1.", "threshold")
        return what_if(await self.decisions(who, tenant, domain), threshold, least)

    async def decisions(self, who: Reviewer, tenant: TenantId, domain: str) -> Sequence[Decided]:
        """Give the decisions kept of a domain, newest first."""
        self.allow(who, tenant)
        return await self.shelf.queue.decisions(tenant, domain)

    # Deciding -----------------------------------------------------------------------------------------------

    async def settle(
        self, who: Reviewer, tenant: TenantId, id: EntryId, etag: str, verdict: Verdict, note: str = ""
    ) -> Settled:
        """Write a verdict down, and make it so everywhere.

        Args:
            who: says it.
            tenant: whose entry.
            id: of the entry.
            etag: what they looked at (`EntryView.etag`).
            verdict: what they say.
            note: what they add.

        Raises:
            ForbiddenError: the role does not reach.
            NotThereError: no such entry.
            ConflictError: it is not any more what they looked at.
            UnfitError, TooLargeError: the verdict does not fit the entry; nothing was done.
            StoreError: unreachable or late; the verdict was written whole, or not at all.
        """
        self.allow(who, tenant, role_for(verdict))
        entry = await self.looking.present(tenant, id)
        if etag_of(entry) != etag:
            raise ConflictError(entry, etag_of(entry))
        return await self.settle_present(who, entry, verdict, note)

    async def settle_present(self, who: Reviewer, entry: Entry, verdict: Verdict, note: str = "") -> Settled:
        """Write a verdict down about an entry that was just read; see `settle`."""
        said = Said(who.name, self.clock.now(), note)
        policy = self._policy_for(entry, verdict)
        match verdict:
            case Note():
                line = await self.shelf.verdicts.write(entry.tenant, act_of(entry, verdict, said, entry))
                return Settled(entry, etag_of(entry), line)
            case Publish():
                return await self._publish(entry, said, policy)
        change = change_of(entry, verdict, said, policy)
        applied = await self.shelf.verdicts.apply(entry, change.entry, change.act, change.bar, change.unbar)
        if applied is None:
            raise await self._moved(entry)
        await self._afterwards(entry, verdict, said)
        return Settled(change.entry, etag_of(change.entry) if change.entry else "", applied)

    async def dismiss(self, who: Reviewer, tenant: TenantId, ids: Sequence[EntryId]) -> None:
        """Take entries out of the queue without a verdict; they come back with their next sighting."""
        self.allow(who, tenant, Role.REVIEWER)
        await self.shelf.queue.dismiss(tenant, ids)

    async def write_down(
        self, who: Reviewer, tenant: TenantId, what: str, after: JsonObject, note: str
    ) -> Line:
        """Write down something that changes no single entry; whether it is allowed was asked before."""
        act = Act(who.name, self.clock.now(), what, after=after, note=checked_note(note))
        return await self.shelf.verdicts.write(tenant, act)

    def allow(self, who: Reviewer, tenant: TenantId, role: Role = Role.VIEWER) -> None:
        """Let somebody go on.

        Raises:
            NotThereError: the tenant is not theirs to see.
            ForbiddenError: the role does not reach.
        """
        allow(who, tenant, role)

    def _limit(self, limit: int) -> int:
        return max(1, min(limit, self.rules.page))

    def _policy_for(self, entry: Entry, verdict: Verdict) -> CachePolicy | None:
        policy = self.looking.policy_of(entry.tenant, entry.domain)
        if policy is None and needs_policy(verdict) and entry.tenant != PUBLIC:
            raise UnfitError(
                "domain-gone", "The policy has no such domain any more; nothing can be vouched for under it."
            )
        return policy

    async def _moved(self, entry: Entry) -> ConflictError | NotThereError:
        present = await self.shelf.verdicts.show(entry.tenant, entry.id)
        return NotThereError() if present is None else ConflictError(present, etag_of(present))

    async def _publish(self, entry: Entry, said: Said, policy: CachePolicy | None) -> Settled:
        if not entry.commons:
            raise UnfitError(
                "not-common", "This answer may not become public: its request or policy does not allow it."
            )
        if entry.status is ReviewStatus.REJECTED or entry.review.only or entry.barred:
            raise UnfitError("not-common", "A rejected, narrowed or barred answer cannot become public.")
        public = await self._public_copy(entry, said, policy)
        act = act_of(entry, Publish(), said, entry)
        act = replace(act, after={**act.after, "public": public.id})
        line = await self.shelf.verdicts.publish(entry, public, act)
        if line is None:
            raise await self._moved(entry)
        return Settled(entry, etag_of(entry), line, public.id)

    async def _public_copy(self, entry: Entry, said: Said, policy: CachePolicy | None) -> Entry:
        life = policy.review.verified_ttl if policy is not None else entry.expires_at - said.at
        status = entry.status if entry.status.is_verified else ReviewStatus.APPROVED
        key = key_in(entry.commons, entry.prompt)
        return replace(
            entry,
            # Named after its question: publishing again, after a half-way failure too, puts it in the same place.
            id=EntryId(key[:16]),
            tenant=TenantId(PUBLIC),
            namespace=entry.commons,
            key=key,
            status=status,
            review=replace(entry.review, by=said.by, at=said.at, edition="", only=""),
            expires_at=max(entry.expires_at, said.at + life),
            origin=f"public:{entry.id}",
            author="",
            commons="",
            version=1,
            epochs=Epochs(),
            context=b"",
            barred=frozenset(),
        )

    async def _afterwards(self, entry: Entry, verdict: Verdict, said: Said) -> None:
        """Do what follows from a verdict; the verdict stands whatever comes of it."""
        queue, tenant = self.shelf.queue, entry.tenant
        try:
            right = _is_right(verdict)
            if right is not None:
                await queue.settled(tenant, entry.id, right)
            await queue.dismiss(tenant, [entry.id])
            label = await self._label(entry, verdict, said)
            if label is not None:
                await self.shelf.evidence.add(label)
        except StoreError as error:
            _log.warning("a verdict stands, but queue or evidence have not heard of it", kind=error.kind)

    async def _label(self, entry: Entry, verdict: Verdict, said: Said) -> Label | None:
        match verdict:
            case Bar(asked):
                finding = Finding.WRONG
            case Approve(_, asked) if asked:
                finding = Finding.RIGHT
            case Approve():
                asked, finding = WHOLE, Finding.RIGHT
            case Reject() | Edit():
                asked, finding = WHOLE, Finding.WRONG
            case _:
                return None
        known = await self.shelf.queue.questions(entry.tenant, entry.id)
        question = next((one for one in known if one.asked == asked), None)
        score = question.score if question is not None and asked != WHOLE else None
        return Label(
            id=f"verdict:{entry.id}:{asked}:{finding}",
            tenant=entry.tenant,
            domain=entry.domain,
            source=Source.VERDICT,
            finding=finding,
            bin=bin_of(score) if score is not None else None,
            bucket=bucket_of(said.at),
            at=said.at,
            entry=entry.id,
            score=score,
            similarity=question.similarity if question is not None else None,
            reasons=question.reasons if question is not None else (),
        )


def _is_right(verdict: Verdict) -> bool | None:
    """Say what a verdict means for a judge's opinion of the answer; None: nothing."""
    match verdict:
        case Approve():
            return True
        case Edit() | Reject() | Bar():
            return False
        case _:
            return None
