"""Which prefix goes next when room is needed: `HybridOrder`, a `victims.Queue`.

The frame is a plain rule. Nodes whose prefix is shorter than 128 tokens go by decayed frequency, and
last; deeper ones by recency; before both go deep ones that were never reused. Leaves alone are
queued, so tails go before heads. Taken literally the rule loses hits wherever a conversation's newest
turn, not reused yet, is what comes back next. So, within the frame, deep nodes stand in lanes by how
often they were reused (or, never reused, by where they hang), each by recency, and between the heads
of the lanes decides what a slot of that kind and age has turned out to be worth (`reuse`, `habits`);
until there is evidence, a guess. Shallow nodes go last only up to a share of the pool. Evicted nodes
are remembered for a while (`ghosts`): one that comes back goes on with its count. The plain rule
alone is `EvictionRules(learns=False)`; scripts/bench/prefix_traces.py compares the two.

Knows neither tokens nor slots, and no clock: time is counted in tokens taken in, except for the
half-life and for how long warmed nodes are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence

from semcache.engine.prefix.faults import IntegrityError
from semcache.engine.prefix.frequency import HalfLife
from semcache.engine.prefix.habits import Habits
from semcache.engine.prefix.lanes import Head, Lanes
from semcache.engine.prefix.reuse import KINDS, LEFT, ReuseTable, kind_of
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.shares import Shares
from semcache.engine.prefix.victims import Nodes, Victim

PRUNED = "pruned"
RECENCY = "recency"
FREQUENCY = "frequency"
QUOTA = "quota"
WARMED = "warmed"
RESERVE = "reserve"
REASONS = (PRUNED, RECENCY, FREQUENCY, QUOTA, WARMED, RESERVE)
"""Deep and on probation; deep; shallow; for its tenant's own need; warmed, and nothing else was left;
kept by a tenant's floor, and nothing else was left at all."""

_SHALLOW = KINDS
_WARM = KINDS + 1
_RANK_STEPS = 4096
"""So finely do decayed frequencies differ: by a factor of 2^(1/4096)."""

_LOWEST_RANK = -1e6


_Worth = tuple[float, int]
"""What a node is worth and, among equals, the token clock at its last use: the least goes first."""

_Choice = tuple[str, Head]
"""Why a node goes, and which."""


class HybridOrder:
    """The queue over one tree's `nodes` of at most `capacity` tokens. Calls cost O(log n), amortised."""

    def __init__(
        self, nodes: Nodes, capacity: int, decay: HalfLife, rules: EvictionRules, shares: Shares | None
    ) -> None:
        self._nodes = nodes
        self._capacity = capacity
        self._decay = decay
        self._rules = rules
        self._shares = shares if shares is not None and shares.have_floors else None
        self._habits = Habits(nodes, ReuseTable(capacity, rules.evidence), rules.ghosts)
        self._probation = kind_of(rules.floor)
        self._lanes = Lanes(_WARM + 1)
        self._warmed: dict[int, int] = {}
        self._aside: set[str] = set()
        self._floors_hold = True
        self._shallow = 0
        self._course: tuple[int, _Worth | None] | None = None

    def add(self, node: int) -> None:
        """Take in a node that became an unpinned leaf (or was trimmed and stays one)."""
        if self._habits.see(node):
            self._course = None
        tenant = self._nodes.owner_of(node).tenant
        lane, key = self._placing(node)
        self._lanes.add(node, lane, key, tenant)
        if lane == _SHALLOW:
            self._shallow += self._nodes.length[node]
        self._mind(lane, key)
        if tenant in self._aside:
            self._relist((tenant,))
        if not self._floors_hold and self._may_spare(tenant):
            self._floors_hold = True

    def remove(self, node: int) -> None:
        """Let go of a queued node that was pinned or got a child."""
        self._floors_hold = True
        self._leave(node)

    def pop(self, now: float, tenant: str | None = None, *, floors: bool = True) -> Victim | None:
        """Take out the next victim: of one tenant if named, else of those above their floors.

        Without `floors`, and when these have nothing to give, of anybody.
        """
        self._release(now)
        if floors or tenant is not None:
            self._floors_hold = True
        choice = self._given(tenant) if self._floors_hold else None
        if choice is None and tenant is None and not floors:
            choice = self._withheld()
        if choice is None:
            return None
        reason, head = choice
        most = self._most(head, is_bound=tenant is None and reason != RESERVE)
        self._leave(head.node)
        self._warmed.pop(head.node, None)
        self._habits.bury(head.node, now)
        return Victim(head.node, reason if tenant is None else QUOTA, most)

    def clear(self) -> None:
        """Forget everything but what was learned about reuse."""
        self._lanes.clear()
        self._warmed.clear()
        self._aside.clear()
        self._floors_hold = True
        self._shallow = 0
        self._course = None
        self._habits.restart()

    def __len__(self) -> int:
        """Count the queued nodes."""
        return len(self._lanes)

    def queued(self) -> Iterable[int]:
        """List the queued nodes."""
        return [node for node, *_ in self._lanes.standing()]

    def check_integrity(self) -> None:
        """Compare the queue with the columns it was made from: each node stands where it would be put now.

        Raises:
            IntegrityError: something does not add up. Nothing that the order says may be trusted any more.
        """
        self._lanes.check_integrity()
        nodes, shallow = self._nodes, 0
        for node, lane, key, tenant in self._lanes.standing():
            place = self._placing(node)
            shallow += nodes.length[node] * (lane == _SHALLOW)
            # Where all weights were rescaled, a rank differs by its rounding.
            is_right = place[0] == lane and (place[1] == key or lane == _SHALLOW)
            if not is_right or tenant != nodes.owner_of(node).tenant:
                message = f"node {node} changed while it was queued"
                raise IntegrityError(message)
        if shallow != self._shallow:
            message = f"{self._shallow} tokens of shallow nodes counted, {shallow} found"
            raise IntegrityError(message)

    def warm(self, node: int, until: float) -> None:
        """Keep a node, with all above it, until that time (seconds) unless nothing else is left.

        For prefixes that were computed before anybody asked. Afterwards it goes like any other;
        an earlier time ends it early. Holds for the end of the node, however it is split. The tree has the node, and
        has not forgotten it.
        """
        is_queued = self._lanes.has(node)
        if is_queued:
            self.remove(node)
        self._warmed[node] = int(until * 1000)
        if is_queued:
            self.add(node)

    def used(self, path: Sequence[int], now: float) -> None:
        """Learn that every node of a path was reused at `now`; none of them is queued."""
        self._course = None
        for node in self._habits.use(path, now):
            if self._lanes.has(node):
                self.remove(node)
                self.add(node)

    def _placing(self, node: int) -> tuple[int, int]:
        """Give a node's lane and its key there."""
        until = self._warmed.get(node)
        if until is not None:
            return _WARM, until
        kind = self._habits.kind(node)
        if kind > LEFT and self._nodes.end[node] < self._rules.shallow:
            rank = max(self._decay.rank(self._nodes.weight[node]), _LOWEST_RANK)
            return _SHALLOW, int(rank * _RANK_STEPS)
        return kind, self._habits.since[node]

    def _leave(self, node: int) -> None:
        if self._lanes.drop(node) == _SHALLOW:
            self._shallow -= self._nodes.length[node]

    def _given(self, tenant: str | None) -> _Choice | None:
        """Find the next victim among what no floor keeps."""
        choice = (self._further() if tenant is None else None) or self._choose(tenant)
        if choice is None and self._aside:
            self._relist(tuple(self._aside))
            choice = self._choose(tenant)
        return choice or self._last_resort(tenant)

    def _choose(self, tenant: str | None) -> _Choice | None:
        """Find the next victim among those that are not to be kept, and the reason."""
        best: tuple[_Worth, Head, int] | None = None
        second: _Worth | None = None
        for kind in range(KINDS):
            head = self._head(kind, tenant)
            if head is None:
                continue
            worth = self._worth(kind, head.key)
            if best is None or worth < best[0]:
                second = None if best is None else best[0]
                best = (worth, head, kind)
            elif second is None or worth < second:
                second = worth
        if best is None:
            head = self._head(_SHALLOW, tenant)
            return None if head is None else (FREQUENCY, head)
        crowding = self._crowding(tenant)
        if crowding is not None and crowding[0] < best[0]:
            return FREQUENCY, crowding[1]
        if tenant is None and crowding is None:
            self._course = (best[2], second)
        return self._reason(best[2]), best[1]

    def _further(self) -> _Choice | None:
        """Go on in the lane of the last victim while no other lane has anything worth less.

        Victims come in numbers, and asking all lanes for each of them would cost most of the time.
        """
        if self._course is None:
            return None
        lane, limit = self._course
        head = self._lanes.least(lane, self._may_give)
        if head is None or (limit is not None and self._worth(lane, head.key) >= limit):
            self._course = None
            return None
        return self._reason(lane), head

    def _mind(self, lane: int, key: int) -> None:
        """See whether a node that came into a lane may have to go before those of the present course."""
        if self._course is None or lane == self._course[0]:
            return
        limit = self._course[1]
        if lane >= KINDS or limit is None or self._worth(lane, key) < limit:
            self._course = None

    def _worth(self, kind: int, since: int) -> _Worth:
        """Order the heads of the deep lanes: by what was learned, or by the plain rule."""
        if self._rules.learns:
            habits = self._habits
            return habits.table.worth(kind, habits.clock - since), since
        return float(kind >= self._probation), since

    def _reason(self, kind: int) -> str:
        return PRUNED if kind < self._probation else RECENCY

    def _crowding(self, tenant: str | None) -> tuple[_Worth, Head] | None:
        """Give the least shallow node if they hold more than their share, unless the plain rule holds."""
        if self._shallow <= self._rules.shallow_share * self._capacity or not self._rules.learns:
            return None
        head = self._head(_SHALLOW, tenant)
        if head is None:
            return None
        return (self._habits.worth(head.node), self._habits.since[head.node]), head

    def _head(self, lane: int, tenant: str | None) -> Head | None:
        if tenant is None:
            return self._lanes.least(lane, self._may_give)
        return self._lanes.least_of(lane, tenant)

    def _may_give(self, tenant: str) -> bool:
        if not self._floors_hold or self._may_spare(tenant):
            return True
        self._aside.add(tenant)
        return False

    def _may_spare(self, tenant: str) -> bool:
        return self._shares is None or self._shares.spare(tenant, self._nodes.held) > 0

    def _relist(self, tenants: Sequence[str]) -> None:
        """Let those be found again that stood at their floors and rose above."""
        for tenant in tenants:
            if self._may_spare(tenant):
                self._course = None
                self._aside.discard(tenant)
                self._lanes.relist(tenant)

    def _most(self, head: Head, *, is_bound: bool) -> int | None:
        """Say how much of a victim may go at once: its new end first, and if bound nothing below a floor."""
        length = self._nodes.length[head.node]
        most = self._habits.excess(head.node) or length
        if is_bound and self._shares is not None:
            most = min(most, self._shares.spare(head.tenant, self._nodes.held))
        return most if most < length else None

    def _release(self, now: float) -> None:
        """Put warmed nodes whose time is over among the others."""
        while (head := self._lanes.least(_WARM, _anybody)) is not None and head.key <= now * 1000:
            self._leave(head.node)
            del self._warmed[head.node]
            self.add(head.node)

    def _last_resort(self, tenant: str | None) -> _Choice | None:
        """Give a node that is to be kept: better than to refuse a request that is there."""
        head = self._head(_WARM, tenant)
        return None if head is None else (WARMED, head)

    def _withheld(self) -> _Choice | None:
        """Give a node that a floor keeps, in the order that holds for all others.

        Nobody is set aside again until floors hold or somebody has something to give without them: victims
        come in numbers here, too.
        """
        if self._floors_hold:
            self._floors_hold = False
            for tenant in self._aside:
                self._lanes.relist(tenant)
            self._aside.clear()
        choice = self._choose(None) or self._last_resort(None)
        self._course = None
        return None if choice is None else (RESERVE, choice[1])


def _anybody(_: str) -> bool:
    return True


class HybridPolicy:
    """The hybrid order and the decay that tells it of uses: `PrefixTree(capacity, policy.order, policy)`.

    One policy serves one tree of `capacity` tokens.
    """

    def __init__(
        self, capacity: int, rules: EvictionRules | None = None, shares: Shares | None = None
    ) -> None:
        self._capacity = capacity
        self._rules = rules or EvictionRules()
        self._shares = shares
        self._decay = HalfLife(self._rules.half_life)
        self._queue: HybridOrder | None = None

    def order(self, nodes: Nodes) -> HybridOrder:
        """Make the queue over a tree's columns.

        Raises:
            ValueError: it made one before.
        """
        if self._queue is not None:
            message = "a policy serves one tree"
            raise ValueError(message)
        self._queue = HybridOrder(nodes, self._capacity, self._decay, self._rules, self._shares)
        return self._queue

    def warm(self, node: int, until: float) -> None:
        """Keep a node until that time: see `HybridOrder.warm`. `Handle.node` is a warmed prefix's node."""
        if self._queue is not None:
            self._queue.warm(node, until)

    @property
    def initial(self) -> float:
        """Give the stored value of a node that was never hit."""
        return self._decay.initial

    def count(self, weight: MutableSequence[float], path: Sequence[int], now: float) -> None:
        """Add one hit at `now` (seconds) to every node of a path, and learn from it."""
        self._decay.count(weight, path, now)
        if self._queue is not None:
            self._queue.used(path, now)

    def value(self, stored: float, now: float) -> float:
        """Give the decayed number of hits at `now`."""
        return self._decay.value(stored, now)
