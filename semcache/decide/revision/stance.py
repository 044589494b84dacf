"""Which differences of two questions a changed answer can mend, and which no revision does: asked before one is paid for.

May be revised, for the answer names what the difference names, and so one can see whether it was minded:

- `places`, `names`, `codes`, `kind`: another thing; its name stands in the answer.
- `numbers`, `units`, `money`, `dates`: another amount or day; it stands there too, with what follows from it.

Never, for the right answer turns round as a whole while hardly a word of it can be seen to be wrong:

- `negation`, `antonyms`, `comparison`: `how do I enable` and `how do I disable` share nearly every word of their
  answers; nothing shows which steps were left from the other one. `order`: `from A to B` for `from B to A`.
- `quantifiers`, `persons`: `all` for `some`, a son for a daughter: all names stay, what is said of each changes.
- `question`: who, when, why: another answer, not another word in it. So do `is` and `was`, and what `used to be`.
- an arithmetic operator, or operands in another order: the result does not name the operator.
- `language`, `format`, `length`: a translation, a poem, a summary is a new answer. `payload`, `long`: another text to work
  on, of which the answer is made all through. `unread`: nobody knows what is asked.
- another side of the same thing (see `aspects`).

Knows nothing of answers.
"""

from __future__ import annotations

from dataclasses import replace

from semcache.core import Effect, GateRules
from semcache.decide.features import Features, features
from semcache.decide.gate import compare
from semcache.decide.reasons import Veto
from semcache.decide.revision import aspects
from semcache.decide.revision.flaws import Flaw

REVISABLE = frozenset(
    (Veto.PLACES, Veto.NAMES, Veto.CODES, Veto.KIND, Veto.NUMBERS, Veto.UNITS, Veto.MONEY, Veto.DATES)
)
"""Vetoes that a revision may overcome: another thing is named."""
_OPPOSITE = frozenset((Veto.NEGATION, Veto.ANTONYMS, Veto.COMPARISON, Veto.ORDER))
_WHILE = frozenset(("used", "becoming"))
"""Words of time that no answer takes up."""


def vetoes(one: str, other: str, rules: GateRules) -> frozenset[str]:
    """Give the words of the gate's rules that veto two questions; neither need be whole by itself: a conversation stands before it."""
    return frozenset(compare(features(one), features(other), replace(rules, fragment=Effect.OFF)).vetoes)


def unmendable(asked: str, stored: str, rules: GateRules) -> Flaw | None:
    """Say why no revision of whatever kind would pass; None: one may.

    Args:
        asked: the new question.
        stored: the older one.
        rules: the policy's gate; a difference that it leaves alone speaks against nothing.
    """
    one, other = features(asked), features(stored)
    if one.payload is not None or other.payload is not None:
        return Flaw.PAYLOAD
    found = vetoes(asked, stored, rules)
    if not found <= REVISABLE:
        return Flaw.OPPOSITE if found & _OPPOSITE else Flaw.GATE
    if (Veto.DATES in found and _is_of_time(one, other)) or (
        Veto.CODES in found and one.names.operators != other.names.operators
    ):
        return Flaw.STANCE
    return Flaw.ASPECT if aspects.differ(asked, stored) else None


def _is_of_time(asked: Features, stored: Features) -> bool:
    one, other = asked.dates, stored.dates
    tenses = one.tense != other.tense and bool(one.tense) and bool(other.tense)
    return tenses or bool((one.words ^ other.words) & _WHILE)
