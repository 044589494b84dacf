"""Two tellings as a fixed row of numbers, each with a name: may both be one case?

What has no counterpart on the other side and how the clauses around it lie, what was added and
whether it is small talk, what the assistants said, what is offered. Symmetric. Knows neither weights nor verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from semcache.decide.context import aligning
from semcache.decide.context.aligning import NOWHERE, alone, loose_words, nearest
from semcache.decide.context.dropping import is_correction
from semcache.decide.context.kin import Kin, are_kin
from semcache.decide.context.matter import DENIALS
from semcache.decide.context.pairing import FIGURES, WEIGHED, differences, edited
from semcache.decide.context.saying import Saying, Telling, Token, is_figure, units_of
from semcache.decide.context.words import words_of
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

Row = NDArray[np.float32]
APART = 0.34
"""Overlap under which a clause is no counterpart of another."""
_CLOSE = 0.5
_HEARD = (FIGURES | WEIGHED) - {"order"}
_MOSTLY = 0.5
_NO = "No: "
_COUNTED = frozenset(split("numbers units money dates codes"))
_NAMED = frozenset(split("names places"))

NAMES = (
    "left_low", "left_high", "left_share_low", "left_share_high", "echoed", "left_figures",
    "exchanged", "exchange_cosine", "sibling", "antonym", "broader", "held", "held_count", "overlap_low", "overlap_mean",
    "weighed", "touched", "touched_both", "one_sided", "denial_shift", "unlike", "figure_shift", "edited",
    "identical", "denials", "noes", "corrections", "clauses", "clauses_apart",
    "rules_figures", "rules_names", "rules_kinds",
    "added", "added_talk", "added_standing", "dropped",
    "heard_low", "heard_high", "heard_figures", "heard_exchanged", "heard_held",
    "offer_score", "offer_low", "offer_high", "offer_differs",
    "resolved", "last", "score_resolved", "score_last",
)  # fmt: skip
RISING = frozenset(("exchange_cosine", "overlap_low", "added_talk", "offer_score", "resolved", "last", "score_resolved", "score_last"))  # fmt: skip
FREE = frozenset(("identical", "clauses", "clauses_apart", "dropped", "echoed", "held_count", "overlap_mean"))
"""Numbers of which neither more nor less speaks for one case; all others speak against it, but those that rise."""


@dataclass(frozen=True, slots=True)
class Matched:
    """A clause, what of it has no counterpart, what only the other's assistant has said, and its nearest clause."""

    saying: Saying
    alone: tuple[Token, ...]
    echoed: tuple[Token, ...]
    overlap: float
    other: Saying | None


@dataclass(frozen=True, slots=True)
class Side:
    """One teller's clauses set against the other's.

    `kept` count; `dropped` is how many clauses are small talk that the other chat lacks; `added` what else was
    added: for each the log-odds of small talk, and how far it reaches. `asked`: what was dropped shares words with a question.
    """

    kept: tuple[Matched, ...]
    dropped: int = 0
    added: tuple[tuple[float, int], ...] = ()
    asked: bool = False


@dataclass(slots=True)
class _Seen:
    """What the pairs of clauses show, worst first."""

    exchanged: int = 0
    cosine: float = 1.0
    sibling: float = 0.0
    antonym: float = 0.0
    broader: float = 0.0
    held: list[int] = field(default_factory=list)
    overlaps: list[float] = field(default_factory=list)
    weighed: int = 0
    touched: int = NOWHERE
    both: int = NOWHERE
    one_sided: int = 0
    denials: int = 0
    unlike: float = 0.0
    figures: int = 0
    edited: int = 0


@dataclass(frozen=True, slots=True)
class Closeness:
    """Of the resolved texts and of the last ones: similarity, and the score of a judge of wording."""

    resolved: float
    last: float
    score_resolved: float
    score_last: float
    offer: float = 1.0


def match(one: Telling, other: Telling, kin: Kin) -> tuple[Matched, ...]:
    """Set each clause of one user against those of the other."""
    words = loose_words(other.user, one.units)
    found = []
    for part in one.user:
        left = alone(part, other.units, words, kin)
        # Said by the other's assistant only, and offered by none: told all the same.
        echoed = tuple(t for t in left if t[0] in other.heard_units and t[0] not in one.heard_units)
        overlap, near = nearest(part, other.user, kin)
        found.append(Matched(part, tuple(t for t in left if t not in echoed), echoed, overlap, near))
    return tuple(found)


def row(one: Telling, other: Telling, sides: tuple[Side, Side], closeness: Closeness, kin: Kin) -> Row:
    """Give the numbers, float32 [len(NAMES)], in the order of `NAMES`."""
    left, right = sides
    seen = _Seen()
    by_saying = [{part.saying: part.alone for part in side.kept} for side in sides]
    for part in left.kept:
        _look(part, by_saying[1], seen, kin)
    for part in right.kept:
        _look(part, by_saying[0], seen, kin)
    values = [
        *_leftovers(left, right),
        *_pairs(seen),
        *_shape(one, other, left, right),
        *_figures_differ(left, right),
        *_additions(left, right),
        *_heard(one, other, kin),
        *_offers(one, other, closeness.offer, kin),
        closeness.resolved,
        closeness.last,
        closeness.score_resolved,
        closeness.score_last,
    ]
    return np.array(values, dtype=np.float32)


def is_retouched(numbers: Row) -> bool:
    """True where most clauses of both are the same word by word, and one that is not differs in what counts."""
    seen: dict[str, float] = dict(zip(NAMES, map(float, numbers), strict=True))
    differs = (
        seen["held"] > NOWHERE or max(seen[name] for name in ("edited", "weighed", "figure_shift")) > 0.0
    )
    return seen["identical"] >= _MOSTLY and differs


def _figures_differ(left: Side, right: Side) -> list[float]:
    """Count the rules of the gate about figures, names and kinds by which what both users told differs."""
    mine, theirs = ("\n".join(part.saying.text for part in side.kept) for side in (left, right))
    found = FIGURES.intersection(differences(mine, theirs))
    return [float(len(found & _COUNTED)), float(len(found & _NAMED)), float(len(found - _COUNTED - _NAMED))]


def _look(part: Matched, others: dict[Saying, tuple[Token, ...]], seen: _Seen, kin: Kin) -> None:
    mine, other = part.saying, part.other
    if other is None or mine.forms == other.forms:
        seen.overlaps.append(0.0 if other is None else 1.0)
        return
    seen.overlaps.append(part.overlap)
    theirs = others.get(other, ())
    if part.alone and theirs:
        _relate(part.alone, theirs, seen, kin)
    seen.held += aligning.exchanges(mine, other, part.alone, theirs)
    if part.overlap >= _CLOSE and not WEIGHED.isdisjoint(differences(mine.text, other.text)):
        seen.weighed += 1
    if part.overlap >= APART:
        _weigh(part, other, theirs, seen, kin)


def _weigh(part: Matched, other: Saying, theirs: tuple[Token, ...], seen: _Seen, kin: Kin) -> None:
    mine = part.saying
    touched, both = aligning.touches(mine, other)
    seen.touched, seen.both = max(seen.touched, touched), max(seen.both, both)
    seen.one_sided += 0 if theirs else len(part.alone)
    seen.denials = max(seen.denials, abs(_denials(mine) - _denials(other)))
    seen.unlike += len([unit for unit, _ in mine.tokens if unit not in other.units]) / len(mine.tokens)
    seen.figures += _figures(mine) != _figures(other)
    if part.overlap >= _CLOSE and not any(is_han(word) for word in mine.forms):
        seen.edited += edited(mine.text, other.text, frozenset(), lambda a, b: are_kin(a, b, kin))


def _relate(mine: Sequence[Token], theirs: Sequence[Token], seen: _Seen, kin: Kin) -> None:
    seen.exchanged += 1
    for _, words in mine:
        found = [
            relation for _, own in theirs if (relation := aligning.relation(words, own, kin)) is not None
        ]
        seen.cosine = min(seen.cosine, max((relation.cosine for relation in found), default=0.0))
        seen.sibling = max([seen.sibling, *(relation.sibling for relation in found)])
        seen.antonym = max([seen.antonym, *(relation.antonym for relation in found)])
        seen.broader = max([seen.broader, *(relation.broader for relation in found)])


def _leftovers(left: Side, right: Side) -> list[float]:
    counts = sorted(sum(len(part.alone) for part in side.kept) for side in (left, right))
    shares = sorted(
        sum(len(part.alone) for part in side.kept)
        / max(1, sum(len(part.saying.tokens) for part in side.kept))
        for side in (left, right)
    )
    echoed = max(sum(len(part.echoed) for part in side.kept) for side in (left, right))
    figures = sum(is_figure(unit) for side in (left, right) for part in side.kept for unit, _ in part.alone)
    return [*map(float, counts), *shares, float(echoed), float(figures)]


def _pairs(seen: _Seen) -> list[float]:
    pairs = max(1, len(seen.overlaps))
    return [
        seen.exchanged / pairs,
        seen.cosine,
        seen.sibling,
        seen.antonym,
        seen.broader,
        float(max(seen.held, default=NOWHERE)),
        len(seen.held) / pairs,
        min(seen.overlaps, default=1.0),
        sum(seen.overlaps) / pairs,
        seen.weighed / pairs,
        float(seen.touched),
        float(seen.both),
        seen.one_sided / pairs,
        float(seen.denials),
        seen.unlike / pairs,
        seen.figures / pairs,
        seen.edited / pairs,
    ]


def _shape(one: Telling, other: Telling, left: Side, right: Side) -> list[float]:
    forms = [frozenset(part.forms for part in teller.user) for teller in (one, other)]
    identical = min(
        sum(part.saying.forms in others for part in side.kept) / max(1, len(side.kept))
        for side, others in ((left, forms[1]), (right, forms[0]))
    )
    denials = [sum(_denials(part.saying) for part in side.kept) for side in (left, right)]
    noes = [sum(part.text.startswith(_NO) for part in teller.user) for teller in (one, other)]
    corrections = [sum(is_correction(part.saying.text) for part in side.kept) for side in (left, right)]
    clauses = sorted((len(left.kept), len(right.kept)))
    differ = [abs(pair[0] - pair[1]) for pair in (denials, noes, corrections)]
    return [identical, *map(float, differ), float(clauses[0]), float(clauses[1] - clauses[0])]


def _additions(left: Side, right: Side) -> list[float]:
    added = (*left.added, *right.added)
    return [
        float(len(added)),
        min((talk for talk, _ in added), default=1.0),
        float(max((reach for _, reach in added), default=0)),
        float(left.dropped + right.dropped),
    ]


def _heard(one: Telling, other: Telling, kin: Kin) -> list[float]:
    said = [teller.units | teller.heard_units for teller in (one, other)]
    shares = sorted(
        len(teller.heard_units - others) / max(1, len(teller.heard_units))
        for teller, others in ((one, said[1]), (other, said[0]))
    )
    figures = [
        unit
        for unit in one.heard_units ^ other.heard_units
        if is_figure(unit) and not (unit in said[0] and unit in said[1])
    ]
    exchanged, held = 0, NOWHERE
    for mine, theirs in ((one, other), (other, one)):
        found = _heard_otherwise(mine, theirs, kin)
        exchanged, held = exchanged + found[0], max(held, found[1])
    spoken = max(1, len(one.heard) + len(other.heard))
    return [*shares, float(len(figures)), exchanged / spoken, float(held)]


def _heard_otherwise(one: Telling, other: Telling, kin: Kin) -> tuple[int, int]:
    words = loose_words(other.heard, one.heard_units)
    others = loose_words(one.heard, other.heard_units)
    exchanged, held = 0, NOWHERE
    for part in one.heard:
        overlap, near = nearest(part, other.heard, kin)
        if near is None or near.forms == part.forms or overlap < APART:
            continue
        mine, theirs = alone(part, other.heard_units, words, kin), alone(near, one.heard_units, others, kin)
        if mine and theirs:
            exchanged += 1
            held = max(held, *aligning.exchanges(part, near, mine, theirs), NOWHERE)
        elif overlap >= _CLOSE and not _HEARD.isdisjoint(differences(part.text, near.text)):
            exchanged += 1
    return exchanged, held


def _offers(one: Telling, other: Telling, score: float, kin: Kin) -> list[float]:
    if not (one.record.reply or other.record.reply):
        return [1.0, 0.0, 0.0, float(one.record.index != other.record.index)]
    units = units_of(one.offer), units_of(other.offer)
    words = loose_words(other.offer, units[0]), loose_words(one.offer, units[1])
    left = sum(len(alone(part, units[1], words[0], kin)) for part in one.offer)
    right = sum(len(alone(part, units[0], words[1], kin)) for part in other.offer)
    differs = one.record.reply != other.record.reply or one.record.index != other.record.index
    return [score, *map(float, sorted((left, right))), float(differs)]


def _denials(part: Saying) -> int:
    return sum(word in DENIALS for word in words_of(part.text))


def _figures(part: Saying) -> frozenset[str]:
    return frozenset(unit for unit in part.units if is_figure(unit))
