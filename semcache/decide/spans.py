"""Where in two texts the gate's objections stand: for people who ask why a match was refused.

Gives offsets, never text, so that what holds an objection may be logged. Costs a multiple of
`gate.compare` and is not part of the way of a request. Where a rule weighs whole texts (their
order, their language) the place is what lies between the equal head and the equal end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from semcache.core import GateRules
from semcache.decide import dates, formats, kinds, names, negation, places, poles, quantities
from semcache.decide.features import Features, families, features
from semcache.decide.gate import compare
from semcache.decide.marks import Found
from semcache.decide.reasons import Veto
from semcache.decide.text import Text, origin_of, read
from semcache.decide.text import places as token_places

Span = tuple[int, int]
"""Characters [start, end) of a text as it was given."""
_Tokens = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Objection:
    """One rule's objection: where it stands in either text (None: it rests on something missing there).

    `raises` is True where the difference does not veto but raises the bar.
    """

    rule: Veto
    asked: Span | None
    stored: Span | None
    raises: bool = False

    @property
    def word(self) -> str:
        """The rule's name, as records hold it."""
        return self.rule.value


@dataclass(frozen=True, slots=True)
class _Side:
    """One text, read in every way that the search needs."""

    given: str
    text: Text
    features: Features
    found: dict[str, list[Found]]


def explain_spans(asked: str, stored: str, rules: GateRules) -> tuple[Objection, ...]:
    """Give the objections to answering `asked` with the answer to `stored`, vetoes first."""
    found = compare(features(asked), features(stored), rules)
    if not found.vetoes and not found.raised:
        return ()
    one, other = _side(asked), _side(stored)
    return tuple(
        _objection(Veto(word), one, other, raises=raises)
        for words, raises in ((found.vetoes, False), (found.raised, True))
        for word in words
    )


def _side(given: str) -> _Side:
    text = read(given)
    return _Side(given, text, features(given), families(text))


def _objection(rule: Veto, one: _Side, other: _Side, *, raises: bool) -> Objection:
    if rule is Veto.PAYLOAD:
        return Objection(rule, _payload(one), _payload(other), raises)
    search = _SEARCHES.get(rule)
    left = search(one, other) if search else None
    right = search(other, one) if search else None
    if left is None and right is None:
        left, right = _middle(one, other), _middle(other, one)
    if left is None and right is None:
        left, right = (0, len(one.text.words)), (0, len(other.text.words))
    return Objection(rule, _characters(one, left), _characters(other, right), raises)


def _characters(side: _Side, tokens: _Tokens | None) -> Span | None:
    """Turn a range of tokens into a range of characters."""
    spots = token_places(side.given)
    if tokens is None or not 0 <= tokens[0] < tokens[1] <= len(spots):
        return None
    return spots[tokens[0]][0], spots[tokens[1] - 1][1]


def _payload(side: _Side) -> Span | None:
    payload = side.features.payload
    return origin_of(side.given, payload.start, payload.end) if payload is not None else None


def _middle(one: _Side, other: _Side) -> _Tokens | None:
    """Give what lies between the equal head and the equal end of the texts."""
    words, others = one.text.words, other.text.words
    shortest = min(len(words), len(others))
    head = next((i for i in range(shortest) if words[i] != others[i]), shortest)
    end = next((i for i in range(shortest - head) if words[-1 - i] != others[-1 - i]), shortest - head)
    return (head, len(words) - end) if head < len(words) - end else None


def _odd_mark(family: str, keeps: Callable[[Found], bool]) -> Callable[[_Side, _Side], _Tokens | None]:
    """Look for the first mark of a family that the other text lacks."""

    def search(one: _Side, other: _Side) -> _Tokens | None:
        known = {(item.mark.name, item.mark.member) for item in other.found[family]}
        return _first(
            (item.start, item.end)
            for item in one.found[family]
            if keeps(item) and (item.mark.name, item.mark.member) not in known
        )

    return search


def _first(spans: Iterable[_Tokens]) -> _Tokens | None:
    return next(iter(spans), None)


def _pole(one: _Side, other: _Side) -> _Tokens | None:
    """Look for the first word whose opposite the other text holds."""
    sides = {(item.mark.name, item.mark.member) for item in other.found[poles.FAMILY]}
    return _first(
        (item.start, item.end)
        for item in one.found[poles.FAMILY]
        if (item.mark.name, "-" if item.mark.member == "+" else "+") in sides
        and (item.mark.name, item.mark.member) not in sides
    )


def _negation(one: _Side, other: _Side) -> _Tokens | None:
    """Look for the last negation of the text that holds more of them."""
    mine = [item for item in one.found[negation.FAMILY] if negation.denies(item)]
    theirs = [item for item in other.found[negation.FAMILY] if negation.denies(item)]
    return (mine[-1].start, mine[-1].end) if len(mine) > len(theirs) else None


def _number(sort: str) -> Callable[[_Side, _Side], _Tokens | None]:
    def search(one: _Side, other: _Side) -> _Tokens | None:
        mine, theirs = one.features, other.features
        odd, _ = quantities.odd_numbers(
            mine.quantities, theirs.quantities, mine.dates.months, theirs.dates.months
        )
        fitting = [number.at for number in odd if sort in (number.sort, quantities.PLAIN)]
        return _first(fitting)

    return search


def _word(one: _Side, words: Iterable[tuple[str, ...]]) -> _Tokens | None:
    """Find the place of a name by its first part."""
    for parts in sorted(words):
        for i, word in enumerate(one.text.words):
            if parts and (word == parts[0] or "".join(one.text.words[i : i + len(parts)]) == "".join(parts)):
                return i, min(len(one.text.words), i + len(parts))
    return None


_SEARCHES: dict[Veto, Callable[[_Side, _Side], _Tokens | None]] = {
    Veto.NUMBERS: _number(quantities.PLAIN),
    Veto.MONEY: _number(quantities.MONEY),
    Veto.LENGTH: lambda a, b: (
        _number(quantities.LENGTH)(a, b)
        or _odd_mark(formats.FAMILY, lambda item: item.mark.name in formats.LENGTHS)(a, b)
    ),
    Veto.DATES: _odd_mark(dates.FAMILY, lambda _: True),
    Veto.NEGATION: _negation,
    Veto.ANTONYMS: _pole,
    Veto.COMPARISON: _pole,
    Veto.QUANTIFIERS: _odd_mark(kinds.FAMILY, lambda item: item.mark.name in kinds.QUANTIFIERS),
    Veto.PERSONS: _odd_mark(kinds.FAMILY, lambda item: item.mark.name in kinds.PERSONS),
    Veto.KIND: _odd_mark(kinds.FAMILY, lambda item: item.mark.name not in kinds.PERSONS | kinds.QUANTIFIERS),
    Veto.PLACES: _odd_mark(places.FAMILY, lambda _: True),
    Veto.FORMAT: _odd_mark(formats.FAMILY, lambda item: item.mark.name not in formats.LENGTHS),
    Veto.NAMES: lambda a, b: _word(a, names.odd_names(a.features.names, b.features.names)),
    Veto.CODES: lambda a, b: _word(a, names.odd_codes(a.features.names, b.features.names)),
}
"""How to find the place of each rule's objection; a rule that is not here has the middle."""
