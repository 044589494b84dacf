"""What may be served to whom at any moment, and what is wrong with a reply. Pure: times are handed in.

The book is told of everything as it happens: asks, answers the upstream made (each under a stamp of its own), withdrawals
when they begin and when they are acknowledged, policies when they are written and when every replica has them, crashes. It
judges a reply by its stamp alone. Where two things overlap in time, either order is allowed; what was over before is binding.

An answer that was withdrawn may still be served for `GRACE` seconds by processes that have to hear of it first, and not at all
by the process that acknowledged it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields

from tests.trust.isolation.world import (
    STRANGERS,
    TENANTS,
    Ask,
    ExactSeat,
    Rules,
    Seat,
    State,
    admitted,
    author_of,
    exact_of,
    may_meet,
    seat_of,
)

GRACE = 1.0
"""Seconds in which every replica has heard of a withdrawal."""
LOST = 3.0
"""Seconds before a store is killed of which it may lose what nobody was promised to keep."""
INDEXED = 3.0
"""Seconds after which every replica must find an answer by meaning: far more than it needs, so that a busy machine is no fault."""
HITS = ("exact", "semantic")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: `stamp` is "" where the text is no whole answer of anybody."""

    ask: Ask
    replica: str
    began: float
    ended: float
    status: int
    outcome: str = ""
    reason: str = ""
    stamp: str = ""
    entry: str = ""
    request_id: str = ""
    collapsed: bool = False
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that must never happen: a short word, and what it was."""

    kind: str
    reply: Reply
    detail: str = ""


@dataclass(slots=True)
class Made:
    """An answer that the upstream made (or a reviewer wrote): for which ask, begun when, seen whole when."""

    stamp: str
    ask: Ask
    came: float
    settled: float | None = None


@dataclass(slots=True)
class Withdrawal:
    """Something that takes answers away.

    Attributes:
        kind: a short word.
        begun, acked: when it was begun and acknowledged; None: nobody knows whether it happened.
        at: the one process that knew at once; "": none of them.
        lifted: when it was begun to be taken back.
        to_come: holds for answers made later, too.
        question: only for this one; "": for all.
        author_only: whoever it was made for may still get it.
        stored_only: says nothing of an answer that several wait for together.
    """

    kind: str
    begun: float
    acked: float | None = None
    at: str = ""
    lifted: float | None = None
    to_come: bool = False
    question: str = ""
    author_only: bool = False
    stored_only: bool = False
    void: bool = False


@dataclass(slots=True)
class Era:
    """A state of a tenant's policy: from `begun` it may be in force, from `taken` it is, `ended` begins the next."""

    state: State
    begun: float
    taken: float | None = None
    ended: float | None = None


@dataclass(slots=True)
class Kept:
    """An answer that is known to lie in the store; `by`: the replica that streamed it, and stores it behind the end."""

    made: Made
    at: float
    by: str = ""


@dataclass(slots=True)
class Book:
    """All that happened, and the judgement of it."""

    single: frozenset[str] = frozenset()
    """Replicas of one process."""
    eras: dict[str, list[Era]] = field(
        default_factory=lambda: {tenant.name: [Era(State.BASE, 0.0, 0.0)] for tenant in TENANTS}
    )
    made: dict[str, Made] = field(default_factory=dict)
    stamp_of: dict[str, str] = field(default_factory=dict)
    withdrawn: defaultdict[Hashable, list[Withdrawal]] = field(default_factory=lambda: defaultdict(list))
    kept: dict[tuple[ExactSeat, str], Kept] = field(default_factory=dict)
    meeting: defaultdict[tuple[Seat, str, str, str], dict[str, Kept]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    sent: dict[int, float] = field(default_factory=dict)
    """When each ask was sent."""
    crashes: list[tuple[float, float]] = field(default_factory=list)
    """When the store was away, until every replica was well again."""
    kills: list[tuple[str, float]] = field(default_factory=list)
    """Which replica was killed when."""
    latest: float = 0.0
    """Longest time after its acknowledgement that something withdrawn was still served, in seconds."""

    # -- being told ---------------------------------------------------------------------

    def answered(self, stamp: str, ask: Ask, came: float) -> None:
        """The upstream has begun to answer an ask."""
        self.made[stamp] = Made(stamp, ask, came)

    def edited(self, stamp: str, old: str) -> None:
        """A reviewer writes an answer in the place of another one."""
        before = self.made[old]
        self.made[stamp] = Made(stamp, before.ask, before.came, before.settled)

    def begin(self, withdrawal: Withdrawal, *places: Hashable) -> Withdrawal:
        """Something is about to be withdrawn; see `places_of`."""
        for place in places:
            self.withdrawn[place].append(withdrawal)
        return withdrawal

    def policy_begun(self, tenant: str, state: State, now: float) -> Era:
        """A policy file is about to be replaced; the era is `taken` by setting that."""
        self.eras[tenant][-1].ended = now
        era = Era(state, now)
        self.eras[tenant].append(era)
        return era

    # -- judging ------------------------------------------------------------------------

    def rules(self, ask: Ask, began: float, ended: float) -> list[Rules]:
        """Give what may have held for a caller between two times."""
        own, door = (self.states(name, began, ended) for name in (ask.tenant, STRANGERS))
        return list(dict.fromkeys(Rules(*pair) for pair in itertools.product(own, door)))

    def states(self, tenant: str, began: float, ended: float) -> list[State]:
        """Give the states of a policy that may have been in force between two times, the last one first."""
        eras = self.eras[tenant]
        found = []
        for place in range(len(eras) - 1, -1, -1):
            era = eras[place]
            if era.begun <= ended:
                found.append(era.state)
            if era.taken is not None and era.taken <= began:
                break
        return found

    def leaks(self, reply: Reply) -> list[Leak]:
        """Say what must not have been in a reply."""
        rules = self.rules(reply.ask, reply.began, reply.ended)
        if reply.status == 401:
            return []
        if all(admitted(reply.ask, one) is None for one in rules):
            return [Leak("cut-off key", reply, str(reply.status))]
        if reply.status != 200:
            return []
        made = self.made.get(reply.stamp)
        if made is None:
            return [Leak("garbled" if not reply.stamp else "unknown", reply)]
        if made.ask.number == reply.ask.number:
            return []
        return [*self._misplaced(reply, made, rules), *self._gone(reply, made)]

    def refused(self, reply: Reply) -> bool:
        """True when a caller was turned away although its key holds."""
        rules = self.rules(reply.ask, reply.began, reply.ended)
        if State.REMOVED in self.states(reply.ask.tenant, reply.began, reply.ended)[:-1]:
            # Let in as the tenant's, which was gone when its policy was read: the key is nobody's in this one request.
            return False
        return reply.status == 401 and all(admitted(reply.ask, one) is not None for one in rules)

    def _misplaced(self, reply: Reply, made: Made, rules: list[Rules]) -> Iterator[Leak]:
        ask = reply.ask
        if ask.no_cache:
            yield Leak("no-cache", reply, made.stamp)
        if made.ask.no_store:
            yield Leak("no-store", reply, made.stamp)
        if reply.outcome not in HITS and not reply.collapsed:
            yield Leak("not marked", reply, f"{made.stamp}: {reply.outcome}")
        pairs = list(itertools.product(rules, self.rules_of(made)))
        if any(self._may_share(reply, made, *pair) for pair in pairs):
            return
        names = [tuple(_apart(reply, made, *pair)) for pair in pairs]
        for name in min(names, key=len):
            yield Leak(name, reply, made.stamp)

    def rules_of(self, made: Made) -> list[Rules]:
        """Give what may have held when an answer was asked for: that is settled before the upstream hears of it."""
        return self.rules(made.ask, self._began(made), made.came)

    def _may_share(self, reply: Reply, made: Made, now: Rules, then: Rules) -> bool:
        if reply.outcome == "semantic":
            one, other = seat_of(reply.ask, now), seat_of(made.ask, then)
            return one is not None and one == other and may_meet(reply.ask, made.ask, now)
        mine = exact_of(reply.ask, now)
        return mine is not None and mine == exact_of(made.ask, then)

    def _gone(self, reply: Reply, made: Made) -> Iterator[Leak]:
        """Say what was withdrawn before, whichever of the rules it was made under that let it come here at all."""
        now = self.rules(reply.ask, reply.began, reply.ended)
        then = [
            one
            for one in self.rules_of(made)
            if any(self._may_share(reply, made, other, one) for other in now)
        ]
        found = [self._forbidden(reply, made, one) for one in then or self.rules_of(made)]
        for kind in found[0].keys() & set.intersection(*map(set, found)):
            yield Leak(
                kind, reply, f"{made.stamp}, {reply.began - (found[0][kind].acked or 0.0):.3f} s after"
            )

    def _forbidden(self, reply: Reply, made: Made, rules: Rules) -> dict[str, Withdrawal]:
        places = (self.withdrawn.get(place, ()) for place in places_of(made, rules))
        every = itertools.chain.from_iterable(places)
        return {one.kind: one for one in every if self._forbids(one, reply, made)}

    def _forbids(self, one: Withdrawal, reply: Reply, made: Made) -> bool:
        if one.void or one.acked is None or one.acked >= reply.began:
            return False
        if not _is_about(one, reply, made) or not _is_before(one, made):
            return False
        if one.lifted is not None and one.lifted <= reply.ended:
            return False
        if one.kind == "replaced" and self._may_be_lost(one.acked):
            return False
        if one.author_only and self._is_author(reply, made):
            return False
        grace = 0.0 if one.at == reply.replica and one.at in self.single else GRACE
        late = reply.began - one.acked
        if late <= grace:
            self.latest = max(self.latest, late)
            return False
        return True

    def _is_author(self, reply: Reply, made: Made) -> bool:
        now = self.rules(reply.ask, reply.began, reply.ended)
        mine = {author_of(reply.ask, one) for one in now} - {None}
        return not mine.isdisjoint(author_of(made.ask, one) for one in self.rules_of(made))

    def _may_be_lost(self, at: float) -> bool:
        return any(begun - LOST <= at <= ended for begun, ended in self.crashes)

    def covering(self, made: Made) -> Iterator[Withdrawal]:
        """Give what was withdrawn that this answer may belong to."""
        places = dict.fromkeys(place for rules in self.rules_of(made) for place in places_of(made, rules))
        for place in places:
            yield from self.withdrawn.get(place, ())

    # -- recall -------------------------------------------------------------------------

    def keep(self, reply: Reply) -> None:
        """Note what a reply proves to lie in the store."""
        made = self.made.get(reply.stamp)
        if made is None or reply.status != 200:
            return
        if reply.entry:
            self.stamp_of[reply.entry] = reply.stamp
        if made.ask.number == reply.ask.number and made.settled is None:
            made.settled = reply.ended
        own = made.ask.number == reply.ask.number
        rules = self._only(reply)
        if rules is None or made.ask.no_store or not (reply.stored or (own and reply.ask.stream)):
            return
        exact = exact_of(made.ask, rules)
        if exact is None or reply.outcome != "miss" or not own:
            return
        ask = made.ask
        by = "" if reply.stored else reply.replica
        kept = self.kept[(exact, ask.dialect)] = Kept(made, reply.ended, by)
        if not ask.tools:
            self.meeting[(exact.seat, ask.dialect, ask.wish.name, ask.topic)][ask.text] = kept

    def expects(self, reply: Reply) -> str:
        """Say which tier a reply must have come from at least: `exact`, `semantic`, or "" for none."""
        rules, ask = self._only(reply), reply.ask
        if rules is None or ask.no_cache or self._was_away(reply):
            return ""
        exact = exact_of(ask, rules)
        if exact is None:
            return ""
        kept = self.kept.get((exact, ask.dialect))
        if kept is not None and kept.at < reply.began and self._lies(kept, reply):
            return "exact"
        if not may_meet(ask, ask, rules):
            return ""
        others = self.meeting.get((exact.seat, ask.dialect, ask.wish.name, ask.topic), {}).values()
        known = (one for one in others if one.at < reply.began - INDEXED and self._lies(one, reply))
        return "semantic" if any(known) else ""

    def _only(self, reply: Reply) -> Rules | None:
        rules = self.rules(reply.ask, reply.began, reply.ended)
        return rules[0] if len(rules) == 1 else None

    def _was_away(self, reply: Reply) -> bool:
        return any(begun <= reply.ended and reply.began <= ended for begun, ended in self.crashes)

    def _lies(self, kept: Kept, reply: Reply) -> bool:
        """True when nothing can have taken an answer away since it was made."""
        if self._may_be_lost(kept.at):
            return False
        if any(name == kept.by and at - LOST <= kept.at <= at + GRACE for name, at in self.kills):
            return False
        for one in self.covering(kept.made):
            if one.void:
                continue
            over = one.acked is not None and one.acked < self._began(kept.made)
            if one.to_come or not over:
                return False
        return reply.began > kept.at

    def _began(self, made: Made) -> float:
        return self.sent.get(made.ask.number, made.came)


def places_of(made: Made, rules: Rules) -> Iterator[Hashable]:
    """Name every place by which an answer can be withdrawn, if it was made under these rules."""
    ask, exact = made.ask, exact_of(made.ask, rules)
    yield made.stamp
    if exact is None:
        return
    tenant = exact.seat.tenant
    # In two dialects the same may be said in other words: then it is stored twice.
    yield (exact, ask.dialect)
    yield (tenant, "")
    yield (tenant, f"model:{ask.model}")
    for tag in ask.tags:
        yield (tenant, f"tag:{tag}")
    if ask.user:
        yield (tenant, f"subject:{ask.user}")
    if not ask.topic and not ask.tools:
        yield (exact.seat, ask.dialect, is_matched(ask, rules))


def is_matched(ask: Ask, rules: Rules) -> bool:
    """True where an answer lies among those matched by meaning, which have a namespace of their own in the store."""
    found = admitted(ask, rules)
    return found is not None and found[1] is not State.EXACT


def _is_about(one: Withdrawal, reply: Reply, made: Made) -> bool:
    if one.stored_only and reply.outcome not in HITS:
        return False
    return not one.question or one.question == reply.ask.text


def _is_before(one: Withdrawal, made: Made) -> bool:
    """True when an answer was there, or under way, before it was withdrawn."""
    if one.to_come:
        return True
    if one.kind == "replaced":
        return made.settled is not None and made.settled < one.begun
    return made.came < one.begun


def _apart(reply: Reply, made: Made, now: Rules, then: Rules) -> Iterable[str]:
    """Name what sets an asker apart from whom the answer was made for."""
    mine, theirs = exact_of(reply.ask, now), exact_of(made.ask, then)
    if mine is None or theirs is None:
        yield "bypass"
        return
    for name in (one.name for one in fields(Seat)):
        if getattr(mine.seat, name) != getattr(theirs.seat, name):
            yield name
    if reply.outcome == "semantic":
        if mine.seat == theirs.seat and not may_meet(reply.ask, made.ask, now):
            same = reply.ask.wish.name == made.ask.wish.name
            yield ("topic" if reply.ask.topic != made.ask.topic else "mode") if same else "question"
        return
    if mine.topic != theirs.topic:
        yield "topic"
    if mine.text != theirs.text:
        yield "question"
