"""The exact tier: the entry of a request's own key, from this process's memory or from the store, or a public one.

Knows no meaning and answers nothing; faults of the store are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from semcache.core import Entry, Hit
from semcache.decide.confirming import is_asked_for, is_unconfirmed
from semcache.decide.freshness import is_servable
from semcache.decide.vouching import vouched
from semcache.dialects.repeating import Repeatable
from semcache.embed.fingerprint import key_in
from semcache.journey import Step
from semcache.ports import Clock, EntryStore
from semcache.review_rules import AUTHOR
from semcache.store.near import NearCache


@dataclass(frozen=True, slots=True)
class Equals:
    """Finds the answer to an equal request; for its ports see `pipeline.Pipeline`."""

    store: EntryStore
    near: NearCache
    store_alive: Callable[[], bool]
    clock: Clock
    repeatable: Repeatable

    async def find(self, step: Step, epoch_keys: Callable[[], Sequence[str]]) -> Hit | None:
        """Give the hit on the entry of the exact key; one that is its author's alone is marked, and not to be served.

        Args:
            step: the request.
            epoch_keys: names the counters that its answer would be born under, should the store be read.

        Raises:
            StoreError: unreachable, late or corrupt.
        """
        tenant, now = step.namespace.tenant, self.clock.now()
        if self.store_alive():
            held = self.near.get(tenant, step.key)
            if held is not None and self._servable(step, held, now) and not _is_new(step, held, now):
                return Hit(held, exact=True, similarity=1.0)
        changes = self.near.changes
        entry, step.epochs = await self.store.lookup(tenant, step.key, epoch_keys())
        if entry is None or not self._servable(step, entry, now):
            return await self._public(step, now)
        if _is_new(step, entry, now):
            public = await self._public(step, now)
            return public or Hit(entry, exact=True, similarity=1.0, shadow=True, unconfirmed=True)
        self.near.put(entry, changes)
        return Hit(entry, exact=True, similarity=1.0)

    def repeats(self, step: Step, entry: Entry) -> bool:
        """A stored answer repeats only where the client's dialect and wire mode lose nothing of it."""
        return self.repeatable(entry, step.asked.dialect, stream=step.asked.request.stream)

    async def _public(self, step: Step, now: float) -> Hit | None:
        """The entry that an operator made public for this very question, where the policy takes part in that."""
        place = step.commons
        if place is None:
            return None
        entry = await self.store.get_exact(place.tenant, key_in(place.digest, step.asked.request.prompt))
        if entry is None or not self._servable(step, entry, now):
            return None
        return Hit(entry, exact=True, similarity=1.0)

    def _servable(self, step: Step, entry: Entry, now: float) -> bool:
        asker = step.asker if entry.review.only or AUTHOR in entry.barred else ""
        good = is_servable(step.policy, step.asked.directives, entry, now, asker)
        return good and self.repeats(step, entry)


def _is_new(step: Step, entry: Entry, now: float) -> bool:
    """True when the asker must not have this answer yet: by the rule in force, or by that of the domain it was stored under."""
    policy = step.policy
    if entry.domain != policy.domain:
        # An equal question is not classified again: what the classifier found when it was stored still holds.
        policy = replace(policy, confirmation=step.snapshot.confirmation(policy, entry.domain))
    if not is_asked_for(policy):
        return False
    is_vouched = vouched(policy, step.asked.directives, entry, now)
    return is_unconfirmed(policy, entry, step.asking, is_vouched)
