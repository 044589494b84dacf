"""What speaks against two chats being one case whatever the words: another subject, a figure or a no of one teller only.

Knows nothing of kinds of readings, dictionaries and weights.
"""

from __future__ import annotations

from semcache.decide.context.clauses import asks
from semcache.decide.context.matter import Matter, value
from semcache.decide.context.pairing import overlap
from semcache.decide.context.standing import Standing, standing
from semcache.decide.context.words import units, words_of
from semcache.decide.wordlist import split

_ANSWERED = ("Yes: ", "No: ")
_CROSSED = 0.3
_POINTING = frozenset(split("it its they them their he him his she her that this there 它 他 她 这 那"))


def turned_round(one: Matter, other: Matter) -> bool:
    """True when what was spoken of last before the question is not the same, of the same things."""
    pointing = not _POINTING.isdisjoint(words_of(one.record.last))
    left, right = _before(one, pointing), _before(other, pointing)
    if not left or not right:
        return False
    crossed = min(
        max((overlap(left[-1], part) for part in right[:-1]), default=0.0),
        max((overlap(right[-1], part) for part in left[:-1]), default=0.0),
    )
    return crossed > max(_CROSSED, overlap(left[-1], right[-1]))


def adds_figure(one: Matter, other: Matter) -> bool:
    """True when one user gives a figure of himself, in words that say nothing else, that the other chat knows nothing of."""
    return any(
        _is_figure_apart(part, theirs)
        for mine, theirs in ((one, other), (other, one))
        for part in mine.record.told
    )


def denials_differ(one: Matter, other: Matter) -> bool:
    """True when one user answered more questions with a plain no."""
    return _denials(one) != _denials(other)


def _is_figure_apart(part: str, other: Matter) -> bool:
    """True for `I work three days a week`: a figure of the asker that the other chat knows nothing of."""
    if units(part) or standing(part) < Standing.PERSON:
        return False
    said = {value(word) for word in words_of(other.all_text)}
    return any(value(word) not in said for word in words_of(part) if value(word))


def _before(matter: Matter, every: bool) -> list[frozenset[str]]:
    """Give the units of what the user asked before the last question, or of all that he said."""
    parts = [part for part in matter.record.told if not part.startswith(_ANSWERED)]
    found = [frozenset(units(part)) for part in parts if every or asks(part)]
    return [part for part in found if part]


def _denials(matter: Matter) -> int:
    return sum(part.startswith("No: ") for part in matter.told)
