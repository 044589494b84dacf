"""Which clauses of two tellers count: what only one of them has is talk by the way, or an addition.

Asks for the texts that have to be weighed as small talk first (`unsure`), and builds both sides when that is
known (`sides`). Knows no encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from semcache.decide.context import words
from semcache.decide.context.chatter import is_courtesy
from semcache.decide.context.comparing import APART, Matched, Side, match
from semcache.decide.context.dropping import dropping, is_correction
from semcache.decide.context.kin import Judge, Kin
from semcache.decide.context.reach import COMMON
from semcache.decide.context.saying import Saying, Telling, is_figure
from semcache.decide.context.standing import standing

BY_THE_WAY = 0.7
"""Least probability at which a clause is dropped as talk by the way."""
Talk = Callable[[str], float | None]
"""Log-odds that a text is small talk; None: cannot be told."""


@dataclass(frozen=True, slots=True)
class _Extra:
    """A clause without counterpart: what is weighed of it, the units of everything else; `asked` shares some with a question."""

    text: str
    others: frozenset[str]
    social: bool
    asked: bool


def unsure(one: Telling, other: Telling, kin: Kin) -> tuple[str, ...]:
    """Give the texts of which it must be known whether they are small talk, each once."""
    found: dict[str, None] = {}
    for mine, theirs in ((one, other), (other, one)):
        matched = match(mine, theirs, kin)
        found |= {extra.text: None for extra in _extras(mine, theirs, matched).values()}
    return tuple(found)


def sides(one: Telling, other: Telling, kin: Judge, talk: Talk) -> tuple[Side, Side]:
    """Give both sides, small talk dropped."""
    return _side(one, other, kin, talk), _side(other, one, kin, talk)


def _side(one: Telling, other: Telling, kin: Judge, talk: Talk) -> Side:
    matched = match(one, other, kin)
    extras = _extras(one, other, matched)
    kept: list[Matched] = []
    added: list[tuple[float, int]] = []
    dropped, asked = 0, False
    for part in matched:
        extra = extras.get(part.saying)
        if extra is None:
            kept.append(part)
            continue
        chance = _chance(extra, kin, talk)
        if chance >= BY_THE_WAY:
            dropped += 1
            asked = asked or extra.asked
            continue
        kept.append(part)
        if part.alone or not part.saying.tokens:
            added.append((chance, int(standing(part.saying.text))))
    return Side(tuple(kept), dropped, tuple(added), asked)


def _chance(extra: _Extra, kin: Judge, talk: Talk) -> float:
    if is_correction(extra.text):
        return 0.0
    if is_courtesy(extra.text, user=True):
        return 1.0
    odds = talk(extra.text)
    return 0.0 if odds is None else kin.may_drop(dropping(extra.text, odds, extra.others, extra.social))


def _extras(one: Telling, other: Telling, matched: Sequence[Matched]) -> dict[Saying, _Extra]:
    """Give the clauses that have no counterpart; all of a turn is weighed as one where none of it has."""
    loose = [part for part in matched if _is_loose(part, one, other)]
    met = {part.saying.place for part in matched if part not in loose}
    found: dict[Saying, _Extra] = {}
    for part in loose:
        turn = [said for said in one.user if said.place == part.saying.place]
        whole = part.saying.place not in met and len(turn) > 1
        text = " ".join(said.text for said in turn) if whole else part.saying.text
        beside = (said for said in one.user if (said not in turn if whole else said is not part.saying))
        units = frozenset(
            unit for said in (*beside, *other.user) for unit in said.units if not is_figure(unit)
        )
        asked = bool(_content(text) & (_content(one.question.text) | _content(other.question.text)))
        found[part.saying] = _Extra(text, units, part.saying.place in one.social, asked)
    return found


def _content(text: str) -> frozenset[str]:
    return frozenset(words.units(text)) - COMMON


def _is_loose(part: Matched, one: Telling, other: Telling) -> bool:
    mine = part.saying
    return (
        part.overlap < APART
        and not mine.echo
        and not one.closes(mine)
        and all(mine.forms != said.forms for said in other.user)
    )
