"""Numbers in English words: cardinals, ordinals, fractions, articles, multiples, decades.

Knows nothing of digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from semcache.decide import clock, numerals
from semcache.decide.quantities import Number
from semcache.decide.reader import Reader, unit_at
from semcache.decide.wordlist import split

MULTIPLES = {"twice": 2.0, "thrice": 3.0, "once": 1.0, "half": 0.5, "quarter": 0.25, "single": 1.0}


# Behind these, `one` is a pronoun.
_PRONOUN_BEFORE = frozenset(split("no any some every each this that which the another other only"))


_SMALL_FRACTIONS = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "thirds": 3,
    "quarter": 4,
    "quarters": 4,
    "fourths": 4,
    "fifths": 5,
    "tenths": 10,
}


_DECADES = {
    "twenties": 1920,
    "thirties": 1930,
    "forties": 1940,
    "fifties": 1950,
    "sixties": 1960,
    "seventies": 1970,
    "eighties": 1980,
    "nineties": 1990,
}
_ASKING = frozenset(("question", "questions"))


@lru_cache(maxsize=1)
def starts() -> frozenset[str]:
    """Give the words that a number in words can begin with."""
    return frozenset((*numerals.cardinals(), *numerals.scales(), *_DECADES, "a", "half"))


def decade(reader: Reader, i: int) -> int | None:
    """Note `the nineties`."""
    words = reader.text.words
    if words[i] not in _DECADES or reader.word(i - 1) not in ("the", "early", "late"):
        return None
    reader.found.numbers.append(Number(str(_DECADES[words[i]]), at=(i, i + 1)))
    return i + 1


def year(reader: Reader, i: int) -> int | None:
    """Note `nineteen eighty-nine`, `twenty twenty-four`."""
    words = reader.text.words
    value, end = numerals.english(words, i)
    if end != i + 1 or not 13 <= value <= 20:
        return None
    rest, after = numerals.english(words, end)
    if after == end or not 10 <= rest <= 99:
        return None
    return reader.note(i, after, float(100 * value + rest), str(100 * value + rest))


def cardinal(reader: Reader, i: int) -> int | None:
    """Note a number in words, unless it counts nothing: `two quick questions`, `thanks a million`."""
    words = reader.text.words
    value, end = numerals.english(words, i)
    if end == i:
        return None
    if reader.word(end) == "dozen":
        value, end = value * 12, end + 1
    idle = not _ASKING.isdisjoint(words[end : end + 2]) or words[max(0, i - 2) : i] in (
        ("thanks", "a"),
        ("thank", "a"),
    )
    return end if idle or is_pronoun(words, i, end) else counted(reader, i, end, float(value))


def fraction(reader: Reader, i: int) -> int | None:
    """Note `a third of`, `three quarters`, `a couple of`, `half a dozen`."""
    words = reader.text.words
    if words[i : i + 3] == ("half", "a", "dozen"):
        return reader.note(i, i + 3, 6.0, "6")
    count = 1 if words[i] in ("a", "one") else numerals.cardinals().get(words[i], 0)
    following = reader.word(i + 1)
    if count == 1 and following in ("couple", "pair") and words[i] == "a":
        return reader.note(i, i + 3 if reader.word(i + 2) == "of" else i + 2, 2.0, "2", soft=True)
    parts = _SMALL_FRACTIONS.get(following, 0)
    if not 0 < count < parts or (count == 1 and (parts == 2 or reader.word(i + 2) != "of")):
        return None
    end = i + 2
    while reader.word(end) in ("a", "an", "of"):
        end += 1
    unit, _ = unit_at(words, end)
    return reader.note(i, end if unit is not None else i + 2, count / parts, f"{count / parts:g}")


def counted(reader: Reader, i: int, end: int, value: float) -> int:
    """Note a number in words; `one and a half hours` and `two and a half` are one number."""
    if reader.text.words[end : end + 3] == ("and", "a", "half"):
        value, end = value + 0.5, end + 3
    pointing = value == 2 and reader.word(i - 1) in ("the", "these", "those", "between")
    return reader.note(i, end, value, f"{value:.15g}", soft=value == 1 or pointing)


def article(reader: Reader, i: int) -> int:
    """Note `a week`, `an hour and a half` as one of the unit."""
    unit, after = unit_at(reader.text.words, i + 1)
    per = reader.word(i - 1).isalpha() and reader.word(i - 1) in (
        "times",
        "once",
        "twice",
        "day",
        "week",
        "month",
        "year",
        "per",
    )
    # Only a unit of a fixed size can equal another spelling; `a cup` is no amount.
    return (
        reader.note(i, i + 1, 1.0, "1", soft=True)
        if unit is not None and unit.factor and after and not per
        else i
    )


def multiple(reader: Reader, i: int) -> int:
    """Note `twice`, `half an hour`, `half past five`."""
    multiple = MULTIPLES[reader.text.words[i]]
    past = clock.past(reader.text.words, i)
    if past is not None:
        return reader.take(past, i)
    end = i + 1
    while multiple < 1 and reader.word(end) in ("a", "an", "of"):
        end += 1
    unit, _ = unit_at(reader.text.words, end)
    return reader.note(i, end if unit is not None else i + 1, multiple, f"{multiple:g}", soft=multiple <= 1)


def ordinal(reader: Reader, i: int) -> int:
    """Note `third`; a first and a second are soft, except before a superlative."""
    value, following = numerals.ordinals()[reader.word(i)], reader.word(i + 1)
    if value == 3 and following in ("party", "parties", "person"):
        return i + 1
    superlative = following.endswith("est") or following == "most"
    reader.found.numbers.append(
        Number(str(value), soft=value == 1 or (value == 2 and not superlative), at=(i, i + 1))
    )
    return i + 1


def is_pronoun(words: Sequence[str], i: int, end: int) -> bool:
    """True for a `one` that counts nothing: `which one`, `one of`."""
    if words[i] != "one" or end != i + 1:
        return False
    return (i > 0 and words[i - 1] in _PRONOUN_BEFORE) or (
        end < len(words) and words[end] in ("of", "can", "could")
    )
