"""What a caller's complaint does beyond being counted: the pair is barred at once, and its entry waits for a reviewer.

A pair is a stored question and an asked one; barred, that answer is not given to this question again, on any
replica. Nobody has checked that the caller is right, so a complaint takes away no more than the pair it was
about, only once for each hit (whoever lifts the bar has the last word about what was served until then), and a caller
only so many pairs a day: an answer too few costs a call, an answer too many may cost more, but nobody
may empty a tenant's cache one complaint at a time. For answers of all tenants the day's bound is the tenant's, since
callers with keys of their own can be made up. Knows no policy, no pages and no HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semcache.core import Caller, TenantId
from semcache.evidence_port import AuditBudget, ServedHit, ServedHits
from semcache.ports import Change, Clock, EntryPut
from semcache.review_port import Act, Pair, ReviewQueue, Sighting, Verdicts
from semcache.review_rules import PUBLIC, WHOLE

DAY = 86_400.0
RISK = 10.0
"""What a complaint adds to the entry's weight: as ten certain faults, so that it comes before what is only doubted."""
REASON = "complaint"

LIMIT = "limit"
"""The caller has barred as many pairs today as it may."""
REVIEWED = "reviewed"
"""The pair was barred for this hit before, and a reviewer has lifted that."""
UNKNOWN = "unknown_question"
"""The hit was written down before pairs were."""


@dataclass(frozen=True, slots=True)
class Barred:
    """Whether the answer is now kept from the question; `reason` is a closed word for why not, "" when it is.

    `sighted`: the entry was put before a reviewer with it.
    """

    done: bool
    reason: str = ""
    sighted: bool = False


@dataclass(frozen=True, slots=True)
class Complaints:
    """Acts on complaints.

    Args:
        verdicts: bars pairs.
        queue: where entries wait for a reviewer.
        hits: remembers which hits were acted on.
        budget: counts what a caller has barred.
        clock: time of acts.
        most: pairs that one caller may bar a day.
        heard: hears of each barred pair's entry before the caller does; the change stream tells this process too, but later.
    """

    verdicts: Verdicts
    queue: ReviewQueue
    hits: ServedHits
    budget: AuditBudget
    clock: Clock
    most: int
    heard: Callable[[Change], None]

    async def bar(self, caller: Caller, who: str, hit: ServedHit) -> Barred:
        """Keep the answer of a hit from its question, and put the entry before a reviewer.

        Args:
            caller: who complains.
            who: what names it among callers of its tenant.
            hit: what it got.

        Raises:
            StoreError: the store cannot be reached; asked again, the same is done.
        """
        if not hit.key or not hit.asked:
            return Barred(False, UNKNOWN)
        if hit.settled:
            return await self._standing(caller, hit)
        if not await self._may(caller, who, hit):
            return Barred(False, LIMIT)
        after = {"asked": hit.asked, "request": hit.request}
        if hit.public:
            after["tenant"] = caller.tenant
        act = Act(f"caller:{caller.key_name or 'anonymous'}", self.clock.now(), "bar", hit.entry, {}, after)
        await self.verdicts.bar(_owner(caller, hit), hit.entry, Pair(hit.key, hit.asked), act)
        self.heard(EntryPut(_owner(caller, hit), hit.entry))
        await self.sight(caller, hit)
        # Settled last: whatever failed before is done once more when the caller asks again.
        await self.hits.settle(caller.tenant, hit.request)
        return Barred(True, sighted=True)

    async def sight(self, caller: Caller, hit: ServedHit) -> None:
        """Put the entry before a reviewer. The question's text is not known here.

        Raises:
            StoreError: the store cannot be reached.
        """
        if not hit.asked:
            return
        sighting = Sighting(
            entry=hit.entry,
            asked=hit.asked,
            question="",
            at=self.clock.now(),
            domain=hit.domain,
            outcome="exact" if hit.exact else "semantic",
            risk=RISK,
            reasons=(REASON,),
            similarity=hit.similarity,
            score=hit.score,
        )
        await self.queue.sight(_owner(caller, hit), (sighting,))

    async def _may(self, caller: Caller, who: str, hit: ServedHit) -> bool:
        name = f"public-bars:{caller.tenant}" if hit.public else f"bars:{who}"
        return await self.budget.allows(_owner(caller, hit), name, self.most, DAY)

    async def _standing(self, caller: Caller, hit: ServedHit) -> Barred:
        """Say how it stands with a pair that was barred before. An answer that is gone is given to nobody."""
        entry = await self.verdicts.show(_owner(caller, hit), hit.entry)
        done = entry is None or not entry.barred.isdisjoint((hit.asked, WHOLE))
        return Barred(done, "" if done else REVIEWED)


def _owner(caller: Caller, hit: ServedHit) -> TenantId:
    return TenantId(PUBLIC) if hit.public else caller.tenant
