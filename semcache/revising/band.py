"""Whether the drafts of a domain pay: tallies that all replicas share, read beside the requests.

Each draft that was tried adds to the day's tallies of its domain. A request reads what was last worked out; in the
background it is worked out again every few seconds while the domain is asked for; a request only waits for the very first
reading, and where nobody has asked for so long that the last one holds no more. A band that closed opens again by itself, once the bad days have left the policy's window. Without the store
nobody can tell, and then nothing is revised; what the local engine verifies token by token cannot make
anything worse and has no band. Knows no request and no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from semcache.core import CachePolicy, DraftPolicy, TenantId
from semcache.decide.revision.band import FAILED, SAVED, SAVED_TOKENS, TRIED, band
from semcache.decide.revision.worth import Saved
from semcache.errors import StoreError
from semcache.evidence_port import EvidenceStore
from semcache.ports import Clock
from semcache.review_rules import DraftWay
from semcache.standings import Allowance, drafts_of

FRESH = 3.0
"""Seconds for which tallies are not read again."""
TRUSTED = 60.0
"""Seconds for which they hold while the store cannot be read."""
_MOST = 10_000
"""Domains remembered at once."""
_Key = tuple[TenantId, str, float]


class Count(Protocol):
    """Adds to a tally of a tenant's domain, some time soon; as `auditing.books.Books.count`."""

    def __call__(self, tenant: TenantId, domain: str, word: str, by: int = 1) -> None:
        """Add `by`."""


@dataclass(frozen=True, slots=True)
class Trials:
    """The drafts of one way in a domain: how many were tried and failed, micro-USD and weighted tokens that they saved (or lost)."""

    tried: int = 0
    failed: int = 0
    saved: int = 0
    tokens: int = 0

    @property
    def failed_share(self) -> float:
        """In [0, 1]; 0 of none."""
        return self.failed / self.tried if self.tried else 0.0

    def is_open(self, policy: DraftPolicy, way: DraftWay) -> bool:
        """True while they fail seldom enough, and do not lose money where money is what they are to save."""
        if way is DraftWay.LOSSLESS:
            return True
        counts = {TRIED: self.tried, FAILED: self.failed}
        if way is DraftWay.REVISE:
            # A prediction never costs less than the plain call: it buys time.
            counts |= {SAVED: self.saved, SAVED_TOKENS: self.tokens}
        return band(counts, policy).open


@dataclass(slots=True)
class _Held:
    known_at: float
    looked_at: float
    tallies: Mapping[str, int] | None = None
    reading: asyncio.Task[None] | None = None
    failed: bool = False
    """The last reading came to nothing: nobody waits for the next."""


class Bands:
    """One worker's view of what drafts came to.

    Args:
        evidence: the shared tallies.
        count: adds to them.
        clock: for ages.
        spawn: starts a task that the lifespan owns.
        allowance: says what the evidence about revised answers allows; None: nobody looks.
    """

    def __init__(
        self,
        evidence: EvidenceStore,
        count: Count,
        clock: Clock,
        spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
        allowance: Allowance | None = None,
    ) -> None:
        self._evidence = evidence
        self._count = count
        self._clock = clock
        self._spawn = spawn
        self._allowance = allowance
        self._held: dict[_Key, _Held] = {}

    def add(self, tenant: TenantId, domain: str, way: DraftWay, *, failed: bool, gain: Saved) -> None:
        """Count a draft that was tried.

        Args:
            tenant: whose.
            domain: of the request.
            way: how.
            failed: nothing came of it.
            gain: what it saved, or lost.
        """
        self._count(tenant, domain, f"draft-{way}-tried")
        if failed:
            self._count(tenant, domain, f"draft-{way}-failed")
        for value, gained, lost in (
            (gain.money, "saved", "lost"),
            (gain.weight, "saved-tokens", "lost-tokens"),
        ):
            if value:
                self._count(tenant, domain, f"draft-{way}-{gained if value > 0 else lost}", abs(value))

    async def is_open(self, tenant: TenantId, domain: str, policy: DraftPolicy, way: DraftWay) -> bool:
        """Say whether drafts may be tried this way. Never raises."""
        if way is DraftWay.LOSSLESS:
            return True
        trials = await self._trials(tenant, domain, policy, way)
        return trials is not None and trials.is_open(policy, way)

    async def may_revise(self, policy: CachePolicy) -> bool:
        """Say whether revised answers are not known to be wrong more often than the domain's budget allows.

        What audits of them found is evidence of its own (`standings.drafts_of`). Never raises; False where the
        evidence is away.
        """
        if self._allowance is None:
            return True
        return (await self._allowance.serving(drafts_of(policy))).trusts_humans

    def standing(self, tenant: TenantId, domain: str, policy: DraftPolicy) -> dict[DraftWay, Trials]:
        """Give the drafts of a domain as last read, by way, for reports and gauges; empty where nothing was read."""
        held = self._held.get((tenant, domain, policy.window))
        if held is None or held.tallies is None:
            return {}
        found = {way: trials_of(held.tallies, way) for way in _TRIED}
        return {way: trials for way, trials in found.items() if trials.tried}

    async def _trials(
        self, tenant: TenantId, domain: str, policy: DraftPolicy, way: DraftWay
    ) -> Trials | None:
        held = self._current((tenant, domain, policy.window))
        if not self._holds(held) and not held.failed and held.reading is not None:
            # A task of its own: whoever gives up waiting cuts it short for nobody.
            await asyncio.wait([held.reading])
        return trials_of(held.tallies, way) if self._holds(held) and held.tallies is not None else None

    def _holds(self, held: _Held) -> bool:
        return held.tallies is not None and self._clock.monotonic() - held.known_at <= TRUSTED

    def _current(self, key: _Key) -> _Held:
        """Give what is known, and see to it that it will be known better soon."""
        now = self._clock.monotonic()
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Held(now, now)
            while len(self._held) > _MOST:
                del self._held[next(iter(self._held))]
        elif now - held.looked_at <= FRESH or (held.reading is not None and not held.reading.done()):
            return held
        held.looked_at = now
        held.reading = self._spawn(self._read(key, held))
        return held

    async def _read(self, key: _Key, held: _Held) -> None:
        tenant, domain, window = key
        try:
            held.tallies = await self._evidence.tallies(tenant, domain, self._clock.now() - window)
        except StoreError:
            held.failed = True
            return
        held.known_at, held.failed = self._clock.monotonic(), False


_TRIED = (DraftWay.LOSSLESS, DraftWay.PREDICTION, DraftWay.REVISE)


def trials_of(tallies: Mapping[str, int], way: DraftWay) -> Trials:
    """Read the drafts of one way from a domain's tallies."""

    def of(word: str) -> int:
        return tallies.get(f"draft-{way}-{word}", 0)

    money, tokens = of("saved") - of("lost"), of("saved-tokens") - of("lost-tokens")
    return Trials(of("tried"), of("failed"), money, tokens)
