"""A fresh answer is held against a stored one that is its author's alone so far: it confirms it, takes its place, or neither.

    an equal question     -> the stored answer stays and counts one user more, unless the fresh one contradicts it
    a question near to it -> the stored answer counts one user more where the fresh one, which is stored too, says the same

Only answers that a model gave freely, to users whose names the tenant's own application tells, count (`decide.confirming`).
What an answer says is compared as audits compare it, without a judge.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Protocol

from semcache.asking.calls import text_of
from semcache.asking.likeness import Similar
from semcache.core import Completion, Directives, Entry, Hit, TenantId
from semcache.decide.answers.comparison import Comparison, compare
from semcache.decide.confirming import confirms, is_asked_for
from semcache.decide.freshness import is_servable
from semcache.errors import StoreError
from semcache.journey import Step
from semcache.ports import Clock, EntryStore

_LONGEST = 32_768
"""Characters of an answer that are compared."""


class Told(Protocol):
    """Hears what became of new answers."""

    def confirmed(self, tenant: TenantId, result: str) -> None:
        """A fresh answer was held against a stored one: `agreed`, `contradicted`, `undecided`, `uncounted` or `gone`."""
        ...

    def crowded(self, tenant: TenantId) -> None:
        """An answer was kept from being found by meaning, since its author has many so near it."""
        ...


class Nobody:
    """Hears nothing."""

    def confirmed(self, tenant: TenantId, result: str) -> None:
        """Let it pass."""

    def crowded(self, tenant: TenantId) -> None:
        """Let it pass."""


@dataclass(frozen=True, slots=True)
class Confirming:
    """Holds fresh answers against stored ones.

    Args:
        store: has the entries, and who confirmed them.
        clock: time.
        told: hears of it.
        similar: tells how alike two answers are; None: comparing does without.
    """

    store: EntryStore
    clock: Clock
    told: Told
    similar: Similar | None = None

    async def stays(self, step: Step, fresh: Completion) -> bool:
        """True when the stored answer to an equal question remains, and this fresh one is not to be stored.

        Raises:
            StoreError: the store failed.
        """
        standing = await self._standing(step)
        if standing is None or step.trace.is_revised:
            return False
        found = await self._compared(step, standing, fresh, None)
        if found.agree is False:
            self.told.confirmed(step.policy.tenant, "contradicted")
            return False
        return await self._counted(step, standing)

    async def is_shared(self, step: Step) -> bool:
        """True when there is a stored answer to an equal question that is not one person's alone for good.

        Raises:
            StoreError: the store failed.
        """
        entry = await self._there(step)
        return entry is not None and not entry.review.only

    async def heard(self, step: Step, hit: Hit, fresh: Completion) -> None:
        """Let a fresh answer to a near question count for the stored ones that say the same. Never fails."""
        for entry in (hit.entry, *hit.also):
            await self._heard(step, entry, fresh)

    async def _heard(self, step: Step, entry: Entry, fresh: Completion) -> None:
        cached, now = text_of(entry.completion), text_of(fresh)
        alike = await self.similar(cached, now) if self.similar is not None else None
        found = await self._compared(step, entry, fresh, alike)
        if not await asyncio.to_thread(confirms, step.question, cached, now, found):
            result = "contradicted" if found.agree is False else "undecided"
            self.told.confirmed(step.policy.tenant, result)
            return
        try:
            await self._counted(step, entry)
        except StoreError as error:
            step.fault("store", error)

    async def _standing(self, step: Step) -> Entry | None:
        """Give the entry of the exact key that this answer would take the place of, where that is to be confirmed first."""
        decision, policy = step.trace.decision, step.policy
        if isinstance(decision, Hit) and decision.unconfirmed and decision.exact:
            return decision.entry
        if not is_asked_for(policy):
            return None
        # Who wants a fresh answer (no-cache, max-age=0), or was answered while another was, must not take from others what
        # they have confirmed.
        return await self._there(step)

    async def _there(self, step: Step) -> Entry | None:
        """Give the entry of the exact key, if this asker could get it but for what they wished."""
        policy = step.policy
        entry = await self.store.get_exact(policy.tenant, step.key)
        usual = replace(policy, max_age=_own_age(step))
        if entry is None or not is_servable(usual, Directives(), entry, self.clock.now(), step.asker):
            return None
        return entry

    async def _compared(
        self, step: Step, standing: Entry, fresh: Completion, alike: float | None
    ) -> Comparison:
        cached, now = text_of(standing.completion), text_of(fresh)
        if max(len(cached), len(now)) > _LONGEST:
            return Comparison(True if cached == now else None, 0.0, ("long",))
        return await asyncio.to_thread(compare, step.question, cached, now, alike)

    async def _counted(self, step: Step, entry: Entry) -> bool:
        if not step.asking.is_attested:
            self.told.confirmed(step.policy.tenant, "uncounted")
            return True
        stands = await self.store.confirm(entry, step.asker)
        self.told.confirmed(step.policy.tenant, "agreed" if stands else "gone")
        return stands


def _own_age(step: Step) -> float | None:
    """Give the greatest age that the policy itself accepts, where the client's wish has taken its place."""
    policy, asked = step.policy, step.asked.directives.max_age
    if asked is None or policy.max_age is None or policy.max_age < asked:
        return policy.max_age
    own = step.snapshot.tenant(policy.tenant).domains.get(policy.domain)
    return policy.max_age if own is None else own.max_age
