"""Two texts that are meant to begin alike: why they part, and how much behind that place both have. Pure.

What counts as shared is what follows the variable text in both, up to the next difference of another kind: no more
than that is won by mending the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from semcache.cost_port import Cause
from semcache.linting.compare import (
    common_head,
    common_tail,
    differ_in_blanks,
    masked,
    past_blanks,
    pieces_of,
)
from semcache.linting.rearranged import has_slid, is_same_json, other_order
from semcache.linting.variable import Kind, Spot, number_at, variable_at
from semcache.tokens import tokens_of

CAUSES = {
    Kind.TIME: Cause.TIME,
    Kind.UUID: Cause.UUID,
    Kind.IDENTIFIER: Cause.IDENTIFIER,
    Kind.NUMBER: Cause.COUNTER,
    Kind.BLANK: Cause.WHITESPACE,
}
_LOOPS = 24
_RUN = 80
"""Characters that follow variable text before they count: between the numbers of a table stand its titles."""
_CONTEXT = 24
_SAMPLE = 40
_WORD = 16
_SENTENCES = "\n.!?。！？"
_LEAST_MIDDLE = 8
_SHORT_RUNS = 3


@dataclass(frozen=True, slots=True)
class Parting:
    """Where a text parts from an earlier one.

    `at` is the first character that differs, `start` where the differing word begins; `shared` counts tokens behind it that
    both have, `overlap` is the share of the longer text that both have. `label` is the text right before the
    place and `site` what tells places apart; both stay in memory. `numbers`: both values, where they are numbers.
    """

    cause: Cause
    at: int
    start: int
    shared: int
    overlap: float
    sample: str
    label: str
    site: str
    numbers: tuple[float, float] | None = None
    template: bool = False
    """Both begin and end alike, around a hole of any size."""
    is_edit: bool = False
    """Words were only put in or left out: somebody writes on."""


def part(one: str, other: str) -> Parting | None:
    """Compare a text with an earlier one; None where one of them is the beginning of the other."""
    at = common_head(one, other)
    if at in (len(one), len(other)):
        return None
    tail = common_tail(one, other, at)
    middles = one[at : len(one) - tail], other[at : len(other) - tail]
    if min(map(len, middles)) >= _LEAST_MIDDLE:
        found = _rearranged(one, other, at, tail)
        if found is not None:
            return found
    spot = _spot(one, other, at)
    if spot is not None:
        return _varied(one, other, at, spot)
    if differ_in_blanks(*middles):
        return made(Cause.WHITESPACE, other, at, at, other[at:], overlap=1.0)
    return _worded(one, other, at, tail)


def made(
    cause: Cause,
    other: str,
    at: int,
    start: int,
    shared: str,
    *,
    overlap: float,
    end: int = 0,
    numbers: tuple[float, float] | None = None,
) -> Parting:
    """Put a parting together; `shared` is the text behind it that both have, `end` where the differing word ends."""
    before = max(0, start - _CONTEXT)
    sample = other[before : min(max(start + 1, end or start + _WORD), start + _SAMPLE)]
    tokens = tokens_of(shared) if shared else 0
    label = site = other[before:start]
    if cause is Cause.USER_TEXT:
        # Words part at any place of a sentence; the sentence is the place.
        begin = 1 + max(other.rfind(mark, 0, start) for mark in _SENTENCES)
        site = other[max(0, begin - _CONTEXT) : begin]
    return Parting(cause, at, start, tokens, overlap, masked(sample), label, site, numbers)


def words_back(text: str, at: int) -> int:
    """Go back to where the word begins that a place stands in."""
    least = max(0, at - _SAMPLE)
    while at > least and (text[at - 1].isalnum() or text[at - 1] in "_-"):
        at -= 1
    return at


def _rearranged(one: str, other: str, at: int, tail: int) -> Parting | None:
    """The same pieces in another order, or the same JSON, or a window that slid on."""
    begin, ends = _line(other, at), (_line_end(one, len(one) - tail), _line_end(other, len(other) - tail))
    if '":' in other[at:] and is_same_json(one, other, at):
        return made(Cause.KEY_ORDER, other, at, at, other[at:], overlap=1.0)
    moved = other_order(one[begin : ends[0]], other[begin : ends[1]])
    if moved is not None:
        behind = other[begin + moved[1] :]
        shared = other[at : begin + moved[1]] + behind[: common_head(one[begin + moved[0] :], behind)]
        overlap = (at + len(shared)) / max(len(one), len(other))
        return made(Cause.REORDERED, other, at, at, shared, overlap=overlap)
    before, after = pieces_of(one[begin : ends[0]]), pieces_of(other[begin : ends[1]])
    if has_slid(before, after):
        shared = "\n".join(set(before).intersection(after))
        overlap = (at + len(shared) + tail) / max(len(one), len(other))
        return made(Cause.HISTORY_WINDOW, other, at, at, shared, overlap=overlap)
    return None


def _line(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _varied(one: str, other: str, at: int, first: Spot) -> Parting:
    """The first difference is variable text; go on behind it over more of that kind as long as both are alike."""
    runs: list[str] = []
    rests, spot, short = (one, other), first, 0
    for _ in range(_LOOPS):
        rests = rests[0][spot.end_one :], rests[1][spot.end_other :]
        run = common_head(*rests)
        short = 0 if run >= _RUN else short + 1
        if run >= _RUN:
            runs.append(rests[1][:run])
        if short > _SHORT_RUNS or run in (len(rests[0]), len(rests[1])):
            break
        again = _spot(*rests, run)
        if again is None:
            break
        spot = again
    shared = "".join(runs)
    numbers = None
    if first.kind is Kind.NUMBER:
        numbers = number_at(one, first.start, first.end_one), number_at(other, first.start, first.end_other)
    overlap = (first.start + len(shared)) / max(len(one), len(other))
    return made(
        CAUSES[first.kind],
        other,
        at,
        first.start,
        shared,
        overlap=overlap,
        end=first.end_other,
        numbers=numbers,
    )


def _worded(one: str, other: str, at: int, tail: int) -> Parting:
    """Words differ; what both have behind them are the end of the text, and pieces found in both."""
    end = len(other) - tail
    known = set(pieces_of(one[at : len(one) - tail]))
    pieces = [piece for piece in pieces_of(other[at:end]) if piece in known]
    shared = "\n".join([*pieces, other[end:]])
    longest = max(len(one), len(other))
    start = words_back(other, at)
    whole = start + sum(map(len, pieces)) + tail
    parting = made(Cause.USER_TEXT, other, at, start, shared, overlap=whole / longest)
    return replace(
        parting,
        template=at >= _CONTEXT and tail >= _CONTEXT * _WORD,
        is_edit=len(one) - tail == at or end == at,
    )


def _spot(one: str, other: str, at: int) -> Spot | None:
    return _blank_at(one, other, at) or variable_at(one, other, at)


def _blank_at(one: str, other: str, at: int) -> Spot | None:
    """White space (or marks without width) where the other text has none, or another."""
    here, there = past_blanks(one, at), past_blanks(other, at)
    if here == there == at or here == len(one) or there == len(other) or one[here] != other[there]:
        return None
    return Spot(Kind.BLANK, at, here, there)
