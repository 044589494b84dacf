"""What speaks against a revised answer beside gate and verifier: the one door to all that this package looks for.

Holds a revised answer against both questions and the older answer: does it still name what only the older question
named (`remains`, `wording`), can the difference be mended by words at all (`stance`, `aspects`), has it the language and form asked for
(`form`), does it talk of itself or bring in what nobody asked for (`speech`)? It cannot say that an answer
is right: what a reviser puts in is believed, what it left in or let slip is not. Pure, total, linear in the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from semcache.core import Effect, GateRules
from semcache.decide.features import features
from semcache.decide.gate import Comparison, compare
from semcache.decide.reasons import Veto
from semcache.decide.revision import aspects, wording
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.form import amiss, breaks
from semcache.decide.revision.remains import are_unmoved, gone, read_whole, stand_in
from semcache.decide.revision.speech import talk
from semcache.decide.revision.stance import is_beyond

_OF_AMOUNTS = frozenset((Veto.NUMBERS, Veto.UNITS, Veto.MONEY))


def objections(
    asked: str, stored: str, old: str, new: str, rules: GateRules, response_format: Mapping[str, Any] | None
) -> tuple[str, ...]:
    """Give the closed words (`flaws.Flaw`) that speak against a revised answer; () for nothing.

    Args:
        asked: the question that it is to answer.
        stored: the one that the older answer was given to.
        old: the older answer.
        new: the revised one; equal to `old` where the reviser kept it.
        rules: the policy's gate; a difference that it leaves alone vetoes nothing here.
        response_format: of the request, as it was sent.
    """
    one, other = features(asked), features(stored)
    # What was said before was found to agree; a question need not be whole by itself.
    found = compare(one, other, replace(rules, fragment=Effect.OFF))
    flaws = list(_against_questions(asked, stored, found, old, new))
    if aspects.differ(asked, stored):
        flaws.append(Flaw.ASPECT)
    if flaws == [] and _OF_AMOUNTS & set(found.vetoes) and are_unmoved(asked, stored, old, new):
        flaws.append(Flaw.UNMOVED)
    if new != old or found.vetoes:
        flaws += talk(asked, old, new)
    flaws += amiss(asked, one, other, old, new)
    broken = breaks(response_format, new)
    if broken is not None:
        flaws.append(broken)
    return tuple(flaw.value for flaw in flaws)


def beyond(asked: str, stored: str, rules: GateRules) -> str | None:
    """Say why no revision of whatever kind would pass, to be asked before one is paid for; None: one may.

    Args:
        asked: the new question.
        stored: the older one.
        rules: the policy's gate.
    """
    one, other = features(asked), features(stored)
    if is_beyond(one, other, compare(one, other, replace(rules, fragment=Effect.OFF)).vetoes):
        return Flaw.STANCE.value
    return Flaw.ASPECT.value if aspects.differ(asked, stored) else None


def _against_questions(asked: str, stored: str, found: Comparison, old: str, new: str) -> Iterator[Flaw]:
    one, other = features(asked), features(stored)
    if is_beyond(one, other, found.vetoes):
        yield Flaw.STANCE
    if _letters(old) == _letters(new):
        if found.vetoes:
            yield Flaw.UNCHANGED
        return
    # An answer that was changed is held to more than one that was kept: it shows what its reviser saw.
    if not found.vetoes and wording.is_reordered(asked, stored):
        yield Flaw.REORDERED
    lost = gone(one, other, frozenset((*found.vetoes, *found.raised)))
    answer = read_whole(new)
    if answer is None:
        yield Flaw.UNREAD
        return
    words, held = wording.differences(asked, stored), wording.said(answer)
    if held.holds(words.lost) or stand_in(lost, answer):
        yield Flaw.LEFTOVER
    if any(not held.holds(place) for place in words.come):
        yield Flaw.MISSING


def _letters(text: str) -> str:
    """Give the letters, digits and signs of a text: blanks, case and punctuation are no change."""
    return "".join(filter(str.isalnum, text.casefold()))
