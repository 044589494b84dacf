"""Which differences of two questions a few changed words in an answer can mend, and which they cannot.

May be revised, for the answer names what the difference names, and so one can see whether it was minded:

- `places`, `names`, `codes`, `kind`, `persons`: another thing or somebody else; its name stands in the answer.
- `numbers`, `units`, `money`, `dates`: another amount or day; it stands there too, with what follows from it.
- `format`, `length`: what is said stays; whether the form is right is seen in the answer itself (`form`), as far
  as it reads that form. What it does not read is never revised.

Never, for the right answer turns round as a whole while hardly a word of it can be seen to be wrong:

- `negation`, `antonyms`, `comparison`: `how do I enable` and `how do I disable` share nearly every word of their
  answers; nothing shows which steps were left from the other one.
- `quantifiers`, `order`: `all` for `some`, `from A to B` for `from B to A`: all names stay, what is said of each
  changes.
- `question`: who, when, why: another answer, not another word in it. So do `is` and `was`, and what `used to be`.
- an arithmetic operator, or operands in another order: the result does not name the operator.
- `language`: a translation is a new answer. `payload`, `long`: another text to work on, of which the answer is made all
  through. `fragment`, `unread`: nobody knows what is asked.

Knows nothing of answers.
"""

from __future__ import annotations

from semcache.decide.features import Features
from semcache.decide.reasons import Veto
from semcache.decide.revision.form import READABLE

REVISABLE = frozenset(
    (
        Veto.PLACES,
        Veto.NAMES,
        Veto.CODES,
        Veto.KIND,
        Veto.PERSONS,
        Veto.NUMBERS,
        Veto.UNITS,
        Veto.MONEY,
        Veto.DATES,
        Veto.FORMAT,
        Veto.LENGTH,
    )
)
"""Vetoes that a revision may overcome."""
_WHILE = frozenset(("used", "becoming"))
"""Words of time that no answer takes up."""


def is_beyond(asked: Features, stored: Features, vetoes: tuple[str, ...]) -> bool:
    """True when the questions differ in something that cannot be revised.

    Args:
        asked: the new question.
        stored: the older one.
        vetoes: what the gate says of the pair, as words of `Veto`.
    """
    if any(word not in REVISABLE for word in vetoes):
        return True
    if Veto.DATES in vetoes and _is_of_time(asked, stored):
        return True
    if Veto.CODES in vetoes and asked.names.operators != stored.names.operators:
        return True
    return Veto.FORMAT in vetoes and not READABLE.issuperset(asked.formats ^ stored.formats)


def _is_of_time(asked: Features, stored: Features) -> bool:
    one, other = asked.dates, stored.dates
    tenses = one.tense != other.tense and bool(one.tense) and bool(other.tense)
    return tenses or bool((one.words ^ other.words) & _WHILE)
