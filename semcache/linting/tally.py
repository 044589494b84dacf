"""What parted how often in one family of prompts, by day, and the findings that come of it. Pure.

Counts only; decides in the end what is sure enough to be said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from semcache.cost_port import Cause, LintFinding
from semcache.linting.fixes import fix_of
from semcache.linting.parting import Parting
from semcache.linting.rules import LintRules

Price = Callable[[int], int | None]
"""Micro-USD that so many input tokens cost more for not being read from a cache; None: not known."""

WORDS = frozenset({Cause.USER_TEXT, Cause.SYSTEM_CHANGED, Cause.OTHER})
"""Causes known by nothing but their place: they must keep to it."""
_OF_TALKS = frozenset({Cause.HISTORY_REWRITTEN, Cause.HISTORY_WINDOW, Cause.MODEL_CHANGED})
_ANYWHERE = _OF_TALKS | {
    Cause.WHITESPACE,
    Cause.REORDERED,
    Cause.KEY_ORDER,
    Cause.TOOLS_REORDERED,
    Cause.TOOLS_CHANGED,
}
"""Causes that show at another place each time."""
_LEAST_WORDS = 5
_LEAST_POOLED = 3
_SAME_PLACE = 0.6
_SAME_PLACE_QUESTION = 0.8
_HALF = 0.5
_FIFTH = 0.2
_TENTH = 0.1
_ONE_WAY = 0.9
_OFFSETS = 32
_IDENTIFIER = re.compile(
    r"\b(?:u?id|uuid|session|request|trace|thread|conversation|order|ticket|token|key|nonce|build|run)\W*\w*\W*$|编号\W*$",
    re.IGNORECASE,
)
_COUNTER = re.compile(
    r"(?:\b(?:turn|step|count|counter|attempt|iteration|retry|round|remaining|left|seq|sequence|budget|used|messages?)\b"
    r"|#|第)[^\n]{0,12}$",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:users?|name|customer|client|e-?mail|member|account|hello|hi|dear|company|city|location|plan|role)\b|用户|姓名|客户|您好",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lost:
    """One break: where in the request, at which byte and token, and how many shared tokens stood behind it.

    `within`: a conversation was going on. `weight`: how many prompts this one stands for.
    """

    parting: Parting
    where: str
    byte: int
    token: int
    tokens: int
    within: bool = False
    weight: int = 1


@dataclass(slots=True)
class Break:
    """Breaks of one cause at one place."""

    cause: Cause
    sample: str
    label: str
    seen: int = 0
    tokens: int = 0
    money: int = 0
    unpriced: int = 0
    within: int = 0
    offsets: Counter[tuple[int, int]] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    ups: int = 0
    downs: int = 0

    def add(self, lost: Lost, price: Price | None) -> None:
        """Count one."""
        weight, spot = lost.weight, (lost.byte, lost.token)
        self.seen += weight
        self.tokens += lost.tokens * weight
        self.within += weight * lost.within
        money = price(lost.tokens) if price is not None else None
        if money is None:
            self.unpriced += 1
        else:
            self.money += money * weight
        if spot in self.offsets or len(self.offsets) < _OFFSETS:
            self.offsets[spot] += 1
        if lost.where in self.places or len(self.places) < _OFFSETS:
            self.places[lost.where] += 1
        if lost.parting.numbers is not None:
            before, now = lost.parting.numbers
            self.ups += now > before
            self.downs += now < before

    def join(self, other: Break) -> None:
        """Add those of another family at the same place."""
        self.seen += other.seen
        self.tokens += other.tokens
        self.money += other.money
        self.unpriced += other.unpriced
        self.within += other.within
        self.ups += other.ups
        self.downs += other.downs
        self.offsets.update(other.offsets)
        self.places.update(other.places)


Sure = tuple[Cause, Break, int]
"""A break worth a word: its cause, and of how many prompts it is a part."""


@dataclass(slots=True)
class Tally:
    """One family on one day. `continuing` of its `prompts` went on with a conversation."""

    question: bool
    prompts: int = 0
    continuing: int = 0
    breaks: dict[tuple[str, str, str], Break] = field(default_factory=dict)
    totals: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, weight: int, *, continues: bool) -> None:
        """Count a prompt, broken or not."""
        self.prompts += weight
        self.continuing += weight * continues

    def lose(self, lost: Lost, price: Price | None, rules: LintRules) -> None:
        """Count a break; too many places on one day are told apart no more."""
        parting = lost.parting
        part = "" if parting.cause in _OF_TALKS or lost.where.startswith("messages") else lost.where
        site = "" if parting.cause in _ANYWHERE else parting.site
        self.totals[parting.cause, part] += lost.weight
        key = (parting.cause, part, site)
        found = self.breaks.get(key)
        if found is None:
            if len(self.breaks) >= rules.sites:
                return
            found = self.breaks[key] = Break(parting.cause, parting.sample, parting.label)
        found.add(lost, price)

    def sure(self, rules: LintRules) -> Iterator[Sure]:
        """Give the breaks that are worth a word."""
        for (_, part, _), found in self.breaks.items():
            of_talks = found.cause in _OF_TALKS and not self.question
            base = self.continuing if of_talks else self.prompts
            cause = self._cause_of(found)
            share = found.seen / max(1, base)
            if found.seen < rules.least_seen or found.tokens < rules.least_tokens:
                continue
            if share < (_TENTH if of_talks else rules.least_share):
                continue
            if cause in WORDS and not self._keeps_its_place(found, part, share):
                continue
            yield cause, found, max(base, found.seen)

    def _keeps_its_place(self, found: Break, part: str, share: float) -> bool:
        least = _SAME_PLACE_QUESTION if self.question else _SAME_PLACE
        alone = found.seen >= least * self.totals[found.cause, part]
        if not alone or found.seen < _LEAST_WORDS:
            return False
        if self.question:
            return share >= _HALF
        # Some applications that share words come again and again, each with its own; what differs by user or turn does not.
        begun = self.prompts if found.within >= _HALF * found.seen else self.prompts - self.continuing
        return found.seen >= _FIFTH * begun

    def _cause_of(self, found: Break) -> Cause:
        """Settle what numbers and words are, from all that was seen of them."""
        cause = _number(found) if found.cause is Cause.COUNTER else found.cause
        if cause is not Cause.USER_TEXT or self.question:
            return cause
        if found.within >= _HALF * found.seen:
            return Cause.SYSTEM_CHANGED
        steady = self.continuing >= found.seen
        return Cause.USER_TEXT if steady or _PERSON.search(found.label) else Cause.SYSTEM_CHANGED


def pooled(tallies: Sequence[Tally], rules: LintRules) -> Iterator[Sure]:
    """Give the breaks that are worth a word only for all families of one scope and day together.

    Such as a question before each of many documents, of which none is asked about often. Words in heads are left
    out: several applications have nothing in common but that they begin somehow.
    """
    places: dict[tuple[str, str, str], list[Tally]] = {}
    for tally in tallies:
        known = {id(found) for _, found, _ in tally.sure(rules)}
        for key, found in tally.breaks.items():
            if id(found) not in known and (tally.question or found.cause not in WORDS):
                places.setdefault(key, []).append(tally)
    for key, some in places.items():
        if len(some) < _LEAST_POOLED:
            continue
        pool = Tally(some[0].question)
        first = some[0].breaks[key]
        joined = pool.breaks[key] = Break(first.cause, first.sample, first.label)
        for tally in some:
            joined.join(tally.breaks[key])
            pool.prompts += tally.prompts
            pool.continuing += tally.continuing
            pool.totals[key[:2]] += tally.totals[key[:2]]
        yield from (one for one in pool.sure(rules) if tallies[0].question or one[0] not in WORDS)


def _number(found: Break) -> Cause:
    if _IDENTIFIER.search(found.label):
        return Cause.IDENTIFIER
    moves, most = found.ups + found.downs, max(found.ups, found.downs)
    counts = most >= (_ONE_WAY * moves if moves >= 2 * _LEAST_WORDS else moves) > _LEAST_WORDS - 1
    return Cause.COUNTER if counts or _COUNTER.search(found.label) else Cause.USER_TEXT


def finding_of(
    cause: Cause,
    found: Break,
    prompts: int,
    *,
    tenant: str,
    day: int,
    group: str,
    model: str,
    labels: tuple[tuple[str, str], ...],
) -> LintFinding:
    """Write a finding down."""
    most = max(found.offsets.values())
    byte, token = min(spot for spot, count in found.offsets.items() if count == most)
    where = found.places.most_common(1)[0][0]
    return LintFinding(
        tenant=tenant,
        day=day,
        group=group,
        cause=cause,
        where=where,
        byte=byte,
        token=token,
        sample=found.sample,
        prompts=prompts,
        seen=found.seen,
        tokens=found.tokens,
        money=None if found.unpriced else found.money,
        fix=fix_of(cause, where),
        model=model,
        labels=labels,
    )
