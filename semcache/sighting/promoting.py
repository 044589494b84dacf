"""An answer that a judge found right for several questions counts as approved, where the policy says so.

Never against or over a human: whoever said anything about an entry (a verdict, a bar, a complaint, an earlier
version) has taken it out of the judge's hands, and so has an audit that found it wrong. The verdict itself is
compare-and-swap: what changed since it was read is not overwritten. Answers about the moment or one person
do not come here (`judging`). Knows no models and no prompts.

An entry is dearer to promote than a pair to judge, so everything is read anew; that happens at most once a
favourable opinion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from semcache.core import CachePolicy, Entry, EntryId, Review, ReviewStatus
from semcache.decide.attention import Why
from semcache.evidence_port import EvidenceStore
from semcache.ports import Clock
from semcache.review_port import Act, Opinion, ReviewQueue, Verdicts
from semcache.review_rules import BY_JUDGE, PUBLIC, WHOLE
from semcache.sighting.judge import AGAINST, FAVOURABLE

_SPOKEN = frozenset((Why.AUDIT.value, "complaint"))


@dataclass(frozen=True, slots=True)
class Promoting:
    """Promotes entries.

    Args:
        queue: has the opinions and the reasons.
        verdicts: has the entries and takes the verdict.
        evidence: has the labels.
        clock: time.
    """

    queue: ReviewQueue
    verdicts: Verdicts
    evidence: EvidenceStore
    clock: Clock

    async def consider(self, policy: CachePolicy, id: EntryId, model: str) -> bool:
        """Approve an entry if enough speaks for it and nothing against it; True when that was done.

        Args:
            policy: says after how many favourable opinions, and for how long.
            id: the entry.
            model: whose opinions count in favour; against it counts every model's.

        Raises:
            StoreError: unreachable or late.
        """
        wanted = policy.review.promote_after
        if wanted <= 0:
            return False
        entry = await self.verdicts.show(policy.tenant, id)
        if entry is None or not _is_untouched(entry, policy, self.clock.now()):
            return False
        said = [one for one in await self.queue.opinions(policy.tenant, id) if one.at >= entry.created_at]
        if _favourable(said, model) < wanted or any(one.fit < AGAINST for one in said):
            return False
        if await self._was_spoken_of(policy, entry):
            return False
        return await self._approve(policy, entry, model, wanted)

    async def _was_spoken_of(self, policy: CachePolicy, entry: Entry) -> bool:
        """True when a human or an audit has said anything about it."""
        if await self.verdicts.versions(policy.tenant, entry.id):
            return True
        if (await self.evidence.flags(policy.tenant)).get(entry.id, 0) > 0:
            return True
        place = await self.queue.waits(policy.tenant, entry.id)
        if place is not None and not _SPOKEN.isdisjoint(place.reasons):
            return True
        questions = await self.queue.questions(policy.tenant, entry.id)
        return any(not _SPOKEN.isdisjoint(question.reasons) for question in questions)

    async def _approve(self, policy: CachePolicy, entry: Entry, model: str, opinions: int) -> bool:
        now = self.clock.now()
        until = now + policy.review.verified_ttl
        changed = replace(
            entry,
            status=ReviewStatus.APPROVED,
            version=entry.version + 1,
            review=Review(by=f"{BY_JUDGE}{model}", at=now, until=until, edition=policy.edition),
            expires_at=max(entry.expires_at, until),
        )
        act = Act(
            who=f"{BY_JUDGE}{model}",
            at=now,
            what="promote",
            entry=entry.id,
            before={"status": entry.status.value, "version": entry.version},
            after={"status": changed.status.value, "version": changed.version, "until": until},
            note=f"{opinions} favourable opinions",
        )
        return await self.verdicts.apply(entry, changed, act) is not None


def _is_untouched(entry: Entry, policy: CachePolicy, now: float) -> bool:
    """True for a live answer of the tenant that nobody has said anything about."""
    own = entry.tenant == policy.tenant and entry.tenant != PUBLIC
    return (
        own
        and entry.status is ReviewStatus.UNREVIEWED
        and entry.review == Review()
        and not entry.barred
        and entry.is_fresh(now)
    )


def _favourable(said: Iterable[Opinion], model: str) -> int:
    """Count the questions that this model found well answered."""
    return len(
        {one.asked for one in said if one.model == model and one.fit >= FAVOURABLE and one.asked != WHOLE}
    )
