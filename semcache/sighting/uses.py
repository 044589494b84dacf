"""Which stored answers were served lately, told to the store now and then: those that save most stay longest.

Counting costs a hit a dictionary look-up. What waits is bounded and lost when the store is away: it only bends an order.
Knows no scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from semcache.core import Completion, Draft, Entry, EntryId, Hit, TenantId
from semcache.errors import StoreError
from semcache.journey import Keep, Step
from semcache.store.worth import made_for

_OF_A_DRAFT = 0.5
"""Share of an answer's cost that it saves as a draft, about."""


@dataclass(frozen=True, slots=True)
class UseRules:
    """Bounds: answers that wait to be told (of a worker), and seconds between two times."""

    waiting: int = 20_000
    every: float = 5.0


class Uses:
    """A `journey.Watch` that adds up what answers save.

    Args:
        tell: takes what answers of a tenant saved, in micro-USD, and may raise StoreError.
        rules: bounds.
    """

    def __init__(
        self,
        tell: Callable[[TenantId, Mapping[EntryId, float]], Awaitable[None]],
        rules: UseRules | None = None,
    ) -> None:
        self._tell = tell
        self._rules = rules or UseRules()
        self._saved: dict[TenantId, dict[EntryId, float]] = {}
        self._waiting = 0

    def on_decided(self, step: Step) -> None:
        """A decision alone saves nothing."""

    def on_served(self, step: Step, hit: Hit, request_id: str) -> None:  # noqa: ARG002 - a protocol
        """A hit saves what its answer cost."""
        if not step.asked.directives.no_store:
            self._add(hit.entry, 1.0)

    def on_revised(self, step: Step, draft: Draft, revised: Completion, request_id: str) -> None:  # noqa: ARG002 - a protocol
        """A draft saves a part of it."""
        if not step.asked.directives.no_store:
            self._add(draft.entry, _OF_A_DRAFT)

    def watching(self, step: Step, hit: Hit, request_id: str, keep: Keep) -> Keep:  # noqa: ARG002 - a protocol
        """What is not served saves nothing."""
        return keep

    async def run(self) -> None:
        """Tell the store every few seconds, for as long as the worker lives."""
        while True:
            await asyncio.sleep(self._rules.every)
            await self.flush()

    async def flush(self) -> None:
        """Tell the store all there is; what it does not take is let go."""
        saved, self._saved, self._waiting = self._saved, {}, 0
        for tenant, uses in saved.items():
            try:
                await self._tell(tenant, uses)
            except StoreError:
                continue

    def _add(self, entry: Entry, share: float) -> None:
        uses = self._saved.get(entry.tenant)
        known = uses is not None and entry.id in uses
        if not known and self._waiting >= self._rules.waiting:
            return
        if uses is None:
            uses = self._saved[entry.tenant] = {}
        self._waiting += not known
        uses[entry.id] = uses.get(entry.id, 0.0) + share * made_for(entry)
