"""What only the older question named, and a revised answer still names. Pure.

What the gate sees as the difference of the questions is looked for in the answer: names, codes, places, members of
closed groups, numbers and units, days, months and times. It must be gone, and strictly so: an answer that has
reason to name it all the same (`Madrid, unlike Paris`) is refused too, for no rule can tell such reason from an
edit that was made by halves, and a refused revision costs a call and no more. Words that mean several
things (`Brown`, `one`, `first`, the marker of a list) count only where they plainly mean the thing.

Reads the answer in pieces, as the gate reads questions; of an answer beyond `MOST` characters it says that it was
not read. Knows nothing of policies, and not whether what was put in is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from semcache.core import GateRules
from semcache.decide import dates, kinds, names, places, quantities, reading
from semcache.decide.features import Features, families, features
from semcache.decide.gate import compare
from semcache.decide.reasons import Veto
from semcache.decide.text import Text, Token, is_han, read

MOST = 60_000
"""Characters of an answer that are read."""
_PIECE, _OVERLAP = 1_000, 80
_OF_NUMBERS = frozenset(
    (Veto.NUMBERS, Veto.UNITS, Veto.MONEY, Veto.DATES, Veto.LENGTH, Veto.CODES, Veto.NAMES)
)
_OF_DATES = Veto.DATES
_SHORT = 4
"""Letters up to which a name may be an ordinary word, and counts only in a capital."""


@dataclass(frozen=True, slots=True)
class Gone:
    """What the stored question names and the asked one does not, by families."""

    names: frozenset[tuple[str, ...]] = frozenset()
    codes: frozenset[tuple[str, ...]] = frozenset()
    letters: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    kinds: frozenset[tuple[str, str]] = frozenset()
    numbers: frozenset[quantities.Number] = frozenset()
    units: frozenset[str] = frozenset()
    days: frozenset[str] = frozenset()
    months: frozenset[int] = frozenset()
    times: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    @property
    def has_amounts(self) -> bool:
        """True when numbers have to be read in the answer."""
        return bool(self.numbers or self.units or self.has_dates)

    @property
    def has_dates(self) -> bool:
        """True when something of time is gone."""
        return bool(self.days or self.months or self.times or self.words)

    @property
    def has_marks(self) -> bool:
        """True when phrases of the gate's lists have to be looked for."""
        return bool(self.places or self.kinds or self.has_dates)


NOTHING = Gone()


def gone(asked: Features, stored: Features, words: frozenset[str]) -> Gone:
    """Give what only the stored question names, of the differences that the gate saw.

    Args:
        asked: the new question.
        stored: the older one.
        words: which rules saw a difference (`Veto`).
    """
    left, _ = quantities.odd_numbers(
        stored.quantities, asked.quantities, stored.dates.months, asked.dates.months
    )
    by_number = bool(words & _OF_NUMBERS)
    dated = _OF_DATES in words
    named = Veto.NAMES in words
    coded = Veto.CODES in words
    one, other = stored.dates, asked.dates
    units = quantities.open_units(stored.quantities, asked.quantities) - quantities.open_units(
        asked.quantities, stored.quantities
    )
    return Gone(
        names=frozenset(names.odd_names(stored.names, asked.names)) if named else frozenset(),
        codes=_codes(asked, stored) if coded else frozenset(),
        letters=stored.names.letters - asked.names.letters - {"a", "i"} if coded else frozenset(),
        places=frozenset(places.odd(stored.places, asked.places, asked.words))
        if Veto.PLACES in words
        else frozenset(),
        kinds=_members(asked, stored, words),
        numbers=frozenset(number for number in left if not number.soft) if by_number else frozenset(),
        units=frozenset(unit.name for unit in units) if words & {Veto.UNITS, Veto.MONEY} else frozenset(),
        days=one.days - other.days if dated else frozenset(),
        months=one.months - other.months if dated else frozenset(),
        times=one.times - other.times if dated else frozenset(),
        words=one.words - other.words - {"now"} if dated else frozenset(),
    )


def _members(asked: Features, stored: Features, words: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Give the members of closed groups that the stored question names, where the asked one names others or none must be."""
    found = set()
    for group, members in stored.kinds.items():
        if group in kinds.QUANTIFIERS:
            continue
        rule = Veto.PERSONS if group in kinds.PERSONS else Veto.KIND
        others = asked.kinds.get(group, frozenset())
        if rule in words and (others - members or group.endswith("!")):
            found |= {(group, member) for member in members - others}
    return frozenset(found)


def _codes(asked: Features, stored: Features) -> frozenset[tuple[str, ...]]:
    """Give the identifiers that only the stored question holds, and of each also what in it is odd: `-l` of `ls -l`."""
    found = set(names.odd_codes(stored.names, asked.names))
    for code in tuple(found):
        odd = tuple(part for part in code if part not in asked.names.words)
        if odd:
            found.add(odd)
    return frozenset(found)


def read_whole(answer: str) -> tuple[Text, ...] | None:
    """Read an answer to its end, in parts; None where that cannot be done."""
    if len(answer) > MOST:
        return None
    texts = tuple(map(read, _pieces(answer)))
    return None if any(text.tail for text in texts) else texts


def are_left(asked: str, stored: str, answer: tuple[Text, ...]) -> bool:
    """True when something that only `stored` names stands in an answer to `asked`, as `read_whole` gives it.

    Whatever a policy leaves alone: what may differ in the questions is still no word of the new one.
    """
    one, other = features(asked), features(stored)
    found = compare(one, other, GateRules())
    lost = gone(one, other, frozenset((*found.vetoes, *found.raised)))
    return lost != NOTHING and any(_stands_in(lost, text) for text in answer)


def _pieces(answer: str) -> Iterator[str]:
    """Give an answer in parts that the gate's readers take whole, each with the end of the one before."""
    for start in range(0, len(answer), _PIECE - _OVERLAP):
        end = min(len(answer), start + _PIECE)
        # A word is not cut in two: what is cut here is whole in the part before, or after.
        first = start and next((i for i in range(start, min(end, start + 40)) if answer[i].isspace()), start)
        yield answer[first:end]
        if end == len(answer):
            return


def _stands_in(lost: Gone, text: Text) -> bool:
    if any(_is_named(name, text) for name in lost.names) or any(_is_coded(code, text) for code in lost.codes):
        return True
    if any(_is_letter(token, i, text, lost.letters) for i, token in enumerate(text.tokens)):
        return True
    return _is_marked(lost, text)


def _is_marked(lost: Gone, text: Text) -> bool:
    """True when a phrase of the gate's lists, or an amount, stands there."""
    amounts = reading.extract(text, frozenset()) if lost.has_amounts else quantities.Quantities()
    if any(_is_counted(number, lost.numbers, text) for number in amounts.numbers):
        return True
    if any(unit.name in lost.units for unit, _ in amounts.units):
        return True
    if not lost.has_marks:
        return False
    found = families(text)
    if not lost.places.isdisjoint(places.of(found[places.FAMILY], text.tokens)):
        return True
    if any(
        (item.mark.name, item.mark.member) in lost.kinds and not kinds.is_ambiguous(item, text.tokens)
        for item in found[kinds.FAMILY]
    ):
        return True
    if not lost.has_dates:
        return False
    said = dates.of(found[dates.FAMILY], text.tokens, amounts.months, amounts.times, frozenset())
    return bool(
        lost.days & said.days
        or lost.months & said.months
        or lost.times & said.times
        or lost.words & said.words
    )


def _is_named(name: tuple[str, ...], text: Text) -> bool:
    """True when the words of a name stand there one after another, whatever their endings."""
    if not name:
        return False
    stems = [names.stem(part) for part in name]
    for i, token in enumerate(text.tokens):
        if names.stem(token.low) != stems[0] or (len(token.low) <= _SHORT and not token.raw[0].isupper()):
            continue
        if all(names.stem(word) == stem for word, stem in zip(text.words[i:], stems, strict=False)):
            return i + len(name) <= len(text.words)
    # `Wi-Fi`, `WiFi`.
    whole = "".join(name)
    return len(name) > 1 and len(whole) > _SHORT and whole in text.words


@lru_cache(maxsize=1)
def _between() -> re.Pattern[str]:
    return re.compile(r"[^\w+#]|_")


def _is_coded(code: tuple[str, ...], text: Text) -> bool:
    whole = "".join(code)
    if len(whole) > _SHORT or not whole.isascii():
        return whole in _between().sub("", text.head.lower())
    # Too short to be sought among the letters of other words: an option, `C++`.
    dash = "-{1,2}" if len(whole) == 1 and whole.isalpha() else ""
    pattern = rf"(?<![^\W_]){dash}{re.escape(whole)}(?![\w+#])"
    return re.search(pattern, text.head.lower()) is not None


def _is_letter(token: Token, i: int, text: Text, letters: frozenset[str]) -> bool:
    """True for the `C` of `vitamin C`, the `l` of `ls -l`."""
    if len(token.low) != 1 or token.low not in letters or not i or token.first:
        return False
    return token.raw.isupper() or token.gap.endswith("-") or is_han(text.words[i - 1])


def _is_counted(number: quantities.Number, lost: frozenset[quantities.Number], text: Text) -> bool:
    """True when a number of the answer is one that is gone; the markers of a list are no numbers."""
    if number.soft or _is_marker(number, text):
        return False
    return any(_are_one(number, other) for other in lost)


def _are_one(number: quantities.Number, other: quantities.Number) -> bool:
    """True for equal amounts, and for equal figures where one of them has no unit: of a length, or of anything."""
    if number.measure is not None and other.measure is not None:
        # `30 kg: 300 mg` was read as one amount.
        joined = "+" in number.text and other.text in number.text.split("+")
        return number.measure == other.measure or (joined and number.measure[0] == other.measure[0])
    if number.text != other.text:
        return False
    return not number.unit or bool(other.unit) or other.sort == quantities.LENGTH


def _is_marker(number: quantities.Number, text: Text) -> bool:
    start, end = number.at
    if number.unit or end != start + 1 or not (start == 0 or "\n" in text.tokens[start].gap):
        return False
    return end < len(text.tokens) and text.tokens[end].gap[:1] in (".", ")", "、", ":")


@lru_cache(maxsize=1)
def _figure() -> re.Pattern[str]:
    return re.compile(r"(?:(?<=\n)|^)\s{0,8}\d{1,3}[.)、]|(\d[\d.,:/]*)")


def are_unmoved(asked: str, stored: str, old: str, new: str) -> bool:
    """True when the older answer gave figures beside those of its question, and a revised one gives all of them still.

    Args:
        asked: the new question, which names other amounts.
        stored: the older one.
        old: the answer to it.
        new: the revised one.
    """
    given = _figures(old) - _figures(stored) - _figures(asked)
    return bool(given) and given <= _figures(new)


def _figures(text: str) -> frozenset[str]:
    return frozenset(match.group(1).strip(".,:/") for match in _figure().finditer(text) if match.group(1))
