"""What a worker has seen and not yet weighed: the newest, bounded by number and bytes for each tenant and in all.

Putting something there costs a request a look-up and an append. Holds questions and answers for seconds, in
memory only. Knows neither queues nor reasons.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from semcache.core import CachePolicy, Directives, Draft, Hit, Namespace, TenantId
from semcache.cost_rules import Labels
from semcache.decide.decision import Serving
from semcache.embed.fingerprint import Partition
from semcache.journey import Trace
from semcache.review_port import Decided


@dataclass(slots=True)
class Met:
    """A stored answer met a question. Not frozen, since it is made while somebody waits: that takes half the time.

    `place` is where the question was matched by meaning, None for equal ones; `alone` whether it was read by itself;
    `trace` is kept of drafts only, until it is known what became of them; `audited` says that an audit found it wrong.
    The last three say on whose account it is looked at.
    """

    at: float
    policy: CachePolicy
    directives: Directives
    decision: Hit | Draft
    question: str
    place: Namespace | None
    partition: Partition
    user: str
    serving: Serving | None
    served: bool
    alone: bool = True
    trace: Trace | None = None
    audited: bool = False
    request_id: str = ""
    labels: Labels = ()
    key_name: str = ""

    @property
    def size(self) -> int:
        """About the bytes that are held for it."""
        entry = self.decision.entry
        return entry.completion.size + len(entry.prompt) + len(self.question)


@dataclass(frozen=True, slots=True)
class ShelfLimits:
    """Bounds of one worker.

    Attributes:
        by_meaning, equal: meetings of a tenant, of near questions and of equal ones; beyond, the oldest go.
        tenant_bytes: of a tenant's meetings of either kind.
        most: meetings of all tenants; beyond, new ones are let go.
        most_bytes: of all.
        decisions: of a domain; the oldest go.
        places: domains that decisions are kept of.
    """

    by_meaning: int = 300
    equal: int = 200
    tenant_bytes: int = 4 << 20
    most: int = 1200
    most_bytes: int = 32 << 20
    decisions: int = 500
    places: int = 1000


@dataclass(slots=True)
class _Row:
    """Meetings of one kind, oldest first."""

    held: deque[Met] = field(default_factory=deque)
    bytes: int = 0


class Shelf:
    """Meetings and decisions on their way to the queue.

    Args:
        limits: bounds.
    """

    def __init__(self, limits: ShelfLimits) -> None:
        self._limits = limits
        self._rows: dict[tuple[TenantId, bool], _Row] = {}
        self._decided: dict[tuple[TenantId, str], deque[Decided]] = {}
        self._count = 0
        self._bytes = 0
        self.dropped = 0
        """Meetings let go since `take`."""

    def put(self, met: Met) -> None:
        """Keep a meeting; the tenant's oldest of its kind go where there are too many."""
        limits, equal, size = self._limits, met.place is None, met.size
        key = (met.policy.tenant, equal)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = _Row()
        most = limits.equal if equal else limits.by_meaning
        while row.held and (len(row.held) >= most or row.bytes + size > limits.tenant_bytes):
            self._let_go(row)
        if self._count >= limits.most or self._bytes + size > limits.most_bytes:
            self.dropped += 1
            return
        row.held.append(met)
        row.bytes += size
        self._count += 1
        self._bytes += size

    def decide(self, tenant: TenantId, domain: str, decided: Decided) -> None:
        """Keep a decision."""
        kept = self._decided.get((tenant, domain))
        if kept is None:
            if len(self._decided) >= self._limits.places:
                return
            kept = self._decided[tenant, domain] = deque(maxlen=self._limits.decisions)
        kept.append(decided)

    def take(self) -> tuple[list[Met], dict[tuple[TenantId, str], deque[Decided]], int]:
        """Give everything, oldest first, and how many meetings were let go; the shelf is empty then."""
        met = [item for row in self._rows.values() for item in row.held]
        decided, dropped = self._decided, self.dropped
        self._rows, self._decided = {}, {}
        self._count = self._bytes = self.dropped = 0
        return met, decided, dropped

    def _let_go(self, row: _Row) -> None:
        size = row.held.popleft().size
        row.bytes -= size
        self._count -= 1
        self._bytes -= size
        self.dropped += 1
