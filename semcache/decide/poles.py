"""Opposites: pairs of meanings where one text has one side and the other text the other.

A flip needs both sides present, each in one text only, so a word that merely is missing never
counts. That makes a generous table safe. Knows nothing of negation (see `negation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from semcache.decide.marks import Found, Mark, forms
from semcache.decide.opposites import ACTIONS_AND_STATES, DEGREES, DIRECTIONS
from semcache.decide.opposites_special import SPECIAL
from semcache.decide.wordlist import split

FAMILY = "pole"
_PHRASAL_REACH = 4
_OPPOSITE, _DIRECTION, _DEGREE = "o", "d", "m"


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table: concept = line number behind the table's letter, member = `+` or `-`."""
    tables = (
        (_OPPOSITE, ACTIONS_AND_STATES + SPECIAL),
        (_DIRECTION, DIRECTIONS),
        (_DEGREE, DEGREES),
    )
    for letter, table in tables:
        for number, line in enumerate(filter(None, table.split("\n"))):
            plus, _, minus = line.partition("|")
            for member, side in (("+", plus), ("-", minus)):
                for word in side.split():
                    for form in forms(word):
                        yield form, Mark(FAMILY, f"{letter}{number}", member)


def join_particles(words: Sequence[str], base_of: dict[str, str]) -> list[tuple[str, int, int]]:
    """Give the phrasal verbs of a text as `verb particle`, also where words stand between, with their tokens."""
    joined = []
    for i, word in enumerate(words):
        base = base_of.get(word)
        if base is None:
            continue
        for later, particle in enumerate(words[i + 1 : i + 1 + _PHRASAL_REACH], i + 1):
            if particle in ("on", "off", "away", "out", "in", "down", "up"):
                joined.append((f"{base} {particle}", i, later + 1))
                break
    return joined


def phrasal_bases() -> dict[str, str]:
    """Give inflected form -> base of the verbs that take particles in the table."""
    verbs = split("turn~ switch~ put~ shut~ log~ sign~ check~ opt~ plug~ slow~ speed~ let~ lay~ pay~")
    return {form: verb[:-1] for verb in verbs for form in forms(verb)} | {
        "laid": "lay",
        "paid": "pay",
        "sped": "speed",
    }


def sides(found: Sequence[Found]) -> dict[str, str]:
    """Give concept -> the one side a text is on; concepts with both sides are left out."""
    seen: dict[str, str] = {}
    for item in found:
        name, member = item.mark.name, item.mark.member
        seen[name] = member if seen.get(name, member) == member else "both"
    return {name: side for name, side in seen.items() if side != "both"}


def flips(one: dict[str, str], other: dict[str, str]) -> tuple[bool, bool, bool]:
    """Say whether two texts stand on opposite sides of a concept, of a direction, and of a mere degree."""
    kinds = {name[0] for name, side in one.items() if name in other and other[name] != side}
    return _OPPOSITE in kinds, _DIRECTION in kinds, _DEGREE in kinds
