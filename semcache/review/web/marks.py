"""How a text is shown: cut into segments that are marked, with what cannot be seen made visible. Pure.

Gives values; what they look like is the templates' matter, and that they are escaped the template engine's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from semcache.review.web.diff import Kind, Piece

# Controls, formats, surrogates, private and unassigned characters, breaks, fillers and selectors, which show as nothing. Line ends
# and tabs do show. The two joiners belong to Persian, Hindi and emoji, and the selectors of emoji and text to one sign
# before them: several in a row, or between Latin letters, spell something.
_HIDDEN = regex.compile(
    r"[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Variation_Selector}\u034f\u17b4\u17b5\u180b-\u180f\u2028\u2029\u3164\u115f\u1160\uffa0\u2800]"
    r"--[\n\t\u200c\u200d\ufe0e\ufe0f]]"
    r"|(?<=[\p{Latin}\p{N}\p{Z}\u200c\u200d\ufe0e\ufe0f])[\u200c\u200d]|(?<=[\p{Latin}\p{Z}\u200c\u200d\p{Variation_Selector}])[\ufe0e\ufe0f]",
    regex.V1,
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of text that looks one way.

    `changed` is what a comparison said of it; `rules` the words of the gate that point at it; `control` the name
    of a character that cannot be seen (`U+202E`), which stands for the text then.
    """

    text: str
    changed: Kind = Kind.SAME
    rules: tuple[str, ...] = ()
    control: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """Characters [start, end) that a rule points at."""

    start: int
    end: int
    rule: str


def visible(text: str) -> tuple[Segment, ...]:
    """Cut a text at the characters that cannot be seen."""
    return tuple(_cut(Segment(text))) if text else ()


def shown(
    pieces: Iterable[Piece], side: Kind | None = None, marks: Sequence[Mark] = ()
) -> tuple[Segment, ...]:
    """Cut one side of a comparison (`GONE`: the old text, `NEW`: the new one, None: both in one) into segments.

    `marks` count in the characters of that side's text.
    """
    out: list[Segment] = []
    at = 0
    for piece in pieces:
        if side is not None and piece.kind not in (Kind.SAME, side):
            continue
        for start, end, rules in _stretches(at, at + len(piece.text), marks):
            part = piece.text[start - at : end - at]
            out.extend(_cut(Segment(part, piece.kind, rules)))
        at += len(piece.text)
    return tuple(out)


def plain(text: str) -> str:
    """Give a text on one line with every hidden character named: for titles and attributes."""
    named: str = _HIDDEN.sub(lambda found: f"[{_name(found.group())}]", text)
    return named.replace("\n", " ").replace("\t", " ")


def _stretches(start: int, end: int, marks: Sequence[Mark]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    cuts = {start, end}
    cuts.update(spot for mark in marks for spot in (mark.start, mark.end) if start < spot < end)
    ordered = sorted(cuts)
    for left, right in itertools.pairwise(ordered):
        rules = tuple(dict.fromkeys(mark.rule for mark in marks if mark.start <= left and right <= mark.end))
        yield left, right, rules


def _cut(whole: Segment) -> Iterator[Segment]:
    text, start = whole.text, 0
    for found in _HIDDEN.finditer(text):
        if found.start() > start:
            yield Segment(text[start : found.start()], whole.changed, whole.rules)
        yield Segment("", whole.changed, whole.rules, _name(found.group()))
        start = found.end()
    if start < len(text):
        yield Segment(text[start:], whole.changed, whole.rules) if start else whole


def _name(char: str) -> str:
    return f"U+{ord(char):04X}"
