"""Families of texts that are meant to begin alike, found by what they have in common; bounded in number and size.

A text seen before belongs where it was. Another one joins the family most of whose text it shares, or founds one. Pure
but for what it remembers; knows neither prices nor stores.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace

from semcache.core import Labels
from semcache.cost_port import Cause
from semcache.linting.compare import common_head, pieces_of, sketch, stable_pieces, without_digits
from semcache.linting.heads import Head, part_heads
from semcache.linting.parting import Parting
from semcache.linting.rules import LintRules
from semcache.linting.tally import Tally
from semcache.tokens import tokens_of

_ALIKE = 0.5
_NEARLY_ALL = 0.8
_TEMPLATE = 0.1
_CHANGED_TOOLS = 0.3
_TRIED = 2
_LEAST_VOTES = 2
_LEAST_VOTES_QUESTION = 6
"""Pieces of a sketch that heads have in common at least, and questions, of which most have nothing to do with each other."""
_LEAST_SAMPLES = 2
_MARKS = 100_000
_INDEX = 120
"""Entries of the index a family, above which what belongs to families that went is thrown out."""


@dataclass(eq=False, slots=True)
class Family:
    """Texts of one scope that are meant to begin alike; `question`: they are first messages, not heads."""

    tenant: str
    model: str
    scope: Hashable
    question: bool
    labels: Labels
    samples: deque[Head]
    serial: int
    days: dict[int, Tally] = field(default_factory=dict)
    alive: bool = True

    def tally(self, day: int) -> Tally:
        """Give the counts of a day."""
        found = self.days.get(day)
        if found is None:
            found = self.days[day] = Tally(self.question)
        return found

    def digest(self) -> str:
        """Name what its texts share: 12 hex digits, the same in every process that sees the same prompts."""
        common = frozenset[str].intersection(*(stable_pieces(head.text) for head in self.samples))
        names = sorted({tool.name for tool in self.samples[-1].tools})
        return digest_of((self.model, str(self.question), *names, *sorted(common)))


@dataclass(frozen=True, slots=True)
class Placed:
    """A text in its family. `known`: it was seen before. `parting`: how it parts from the nearest; None: in nothing."""

    family: Family
    known: bool
    parting: Parting | None = None


class Families:
    """All families of a linter.

    Args:
        rules: bounds.
        gone: is told of a family before it is forgotten.
    """

    def __init__(self, rules: LintRules, gone: Callable[[Family], None]) -> None:
        self._rules = rules
        self._gone = gone
        self._marks: OrderedDict[tuple[Hashable, int], Family] = OrderedDict()
        self._index: dict[int, Family] = {}
        self._families: OrderedDict[int, Family] = OrderedDict()
        self._characters = 0
        self._founded = 0

    def __len__(self) -> int:
        return len(self._families)

    @property
    def all(self) -> tuple[Family, ...]:
        """Every family in memory."""
        return tuple(self._families.values())

    def place(
        self, head: Head, tenant: str, model: str, labels: Labels, *, within: Hashable = None
    ) -> Placed:
        """Find the family of a text, or found one.

        Args:
            head: the text.
            tenant: whose it is.
            model: who was asked.
            labels: of the request.
            within: for a first message, the family of its head.
        """
        scope = (tenant, model, within)
        mark = (scope, head.mark)
        family = self._marks.get(mark)
        if family is not None and family.alive:
            self._marks.move_to_end(mark)
            self._touch(family, labels)
            return Placed(family, known=True)
        keys = self._keys(scope, head)
        placed = self._likest(head, keys, _LEAST_VOTES if within is None else _LEAST_VOTES_QUESTION)
        if placed is None:
            self._founded += 1
            kept: deque[Head] = deque(maxlen=self._rules.samples)
            family = Family(tenant, model, scope, within is not None, labels, kept, self._founded)
            placed = Placed(family, known=False)
        self._add(placed.family, head, keys)
        self._marks[mark] = placed.family
        while len(self._marks) > _MARKS:
            self._marks.popitem(last=False)
        self._touch(placed.family, labels)
        return placed

    def _likest(self, head: Head, keys: list[int], least: int) -> Placed | None:
        votes: Counter[Family] = Counter()
        for key in keys:
            family = self._index.get(key)
            if family is not None and family.alive:
                votes[family] += 1
        exact = self._index.get(keys[0])
        least = min(least, max(1, len(keys) // 4))
        others = [family for family, count in votes.most_common(_TRIED) if count >= least]
        for family in dict.fromkeys((exact, *others)):
            placed = _placed(family, head) if family is not None and family.alive else None
            if placed is not None:
                return placed
        return None

    def _keys(self, scope: Hashable, head: Head) -> list[int]:
        """Give what similar texts are found by: all of it but its digits, then some of its pieces."""
        text = head.text
        return [hash((scope, piece)) for piece in (without_digits(text), *sketch(text))]

    def _add(self, family: Family, head: Head, keys: list[int]) -> None:
        if len(family.samples) == family.samples.maxlen:
            self._characters -= len(family.samples[0].text)
        family.samples.append(head)
        self._characters += len(head.text)
        self._index.update(dict.fromkeys(keys, family))
        self._families[id(family)] = family
        self._trim()

    def _touch(self, family: Family, labels: Labels) -> None:
        self._families.move_to_end(id(family))
        if labels != family.labels:
            family.labels = tuple(pair for pair in family.labels if pair in labels)

    def _trim(self) -> None:
        rules = self._rules
        while len(self._families) > 1 and (
            len(self._families) > rules.families or self._characters > rules.characters
        ):
            _, family = self._families.popitem(last=False)
            self._gone(family)
            family.alive = False
            self._characters -= sum(len(head.text) for head in family.samples)
            family.samples.clear()
        if len(self._index) > _INDEX * max(64, len(self._families)):
            self._index.clear()
            for family in self._families.values():
                self._index.update(dict.fromkeys(self._keys(family.scope, family.samples[-1]), family))


def digest_of(parts: Iterable[str]) -> str:
    """Name a group by what it shares: 12 hex digits."""
    whole = hashlib.blake2b(digest_size=6)
    for one in parts:
        whole.update(one.encode("utf-8", "surrogatepass") + b"\x00")
    return whole.hexdigest()


def _placed(family: Family, head: Head) -> Placed | None:
    """Place a text in a family, if it belongs there, as the nearest of its samples says."""
    nearest = max(family.samples, key=lambda sample: common_head(sample.text, head.text))
    parting = part_heads(nearest, head)
    if parting is None:
        sizes = sorted((len(nearest.text), len(head.text)))
        return Placed(family, known=False) if sizes[0] >= _ALIKE * sizes[1] else None
    tools = parting.cause in (Cause.TOOLS_CHANGED, Cause.TOOLS_REORDERED)
    least = _CHANGED_TOOLS if tools else _TEMPLATE if parting.template else _ALIKE
    if parting.overlap < least:
        return None
    if parting.cause is Cause.USER_TEXT and not (family.question and parting.overlap >= _NEARLY_ALL):
        parting = replace(parting, shared=_shared_by_all(family, nearest, head, parting.at))
    return Placed(family, known=False, parting=parting)


def _shared_by_all(family: Family, nearest: Head, head: Head, at: int) -> int:
    """Count the tokens behind a place that all samples of a family have: what two of them share may be chance."""
    others = [sample for sample in family.samples if sample is not nearest]
    if len(others) < _LEAST_SAMPLES - 1:
        return 0
    known = frozenset[str].intersection(*(sample.pieces for sample in family.samples))
    shared = [piece for piece in pieces_of(head.text[at:]) if piece in known]
    return tokens_of("\n".join(shared)) if shared else 0
