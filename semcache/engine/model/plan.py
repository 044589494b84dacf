"""One forward pass laid out: which rows attend to which spans together. Pure integers, no tensors.

Pieces whose sequences begin with the same slots form a group: their rows stand side by side, so
that the shared part of keys and values is read once for all of them, on every level of the tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from semcache.engine.forward import Piece
from semcache.engine.model.spans import BLOCK, LEAST_KEYS, Span, common, gathered, joined, spans
from semcache.engine.runs import Run, cut, total

_COLUMNS = 64
"""Rows of scores are this much wider at a time, so that the softmax's sums keep their order."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A span of keys and the tokens `first` up to `last` of the group that attend to it."""

    span: Span
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Tails:
    """Short private ends of neighbouring tokens, one token each: token `first` + n attends to `runs[n]`.

    All begin at position `column`, a multiple of BLOCK, and are filled up with zeros to `length`.
    """

    column: int
    length: int
    first: int
    runs: tuple[tuple[Run, ...], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Tokens of the pass from `first` on that share one table of scores.

    `lengths` says for each token how many keys it sees; `columns` is the width of the table.
    Segments are ordered by position for every token.
    """

    first: int
    lengths: tuple[int, ...]
    columns: int
    segments: tuple[Segment | Tails, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A pass: tokens in the order in which they are computed.

    `writes` are the slots of the new tokens.
    `outputs` are the rows whose logits are wanted, piece after piece in the caller's order;
    `counts` says how many belong to each.
    """

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    writes: tuple[Run, ...]
    groups: tuple[Group, ...]
    outputs: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    """A piece with its joined runs, and the place of its first token in the pass."""

    piece: Piece
    runs: tuple[Run, ...]
    first: int

    @property
    def end(self) -> int:
        return self.piece.position + len(self.piece.tokens)


def plan(pieces: Sequence[Piece], slots: int, *, is_joint: bool = True) -> Plan:
    """Lay a pass out.

    Not `is_joint`: every sequence stands alone and its keys are gathered, so that its products
    have shapes that depend on nothing but its own place and number of new tokens.

    Raises:
        ValueError: a piece without tokens, or whose runs do not fit its tokens or the pool.
    """
    for piece in pieces:
        _check(piece, slots)
    runs = [joined(piece.runs) for piece in pieces]
    order = sorted(range(len(pieces)), key=lambda number: runs[number])
    members: list[_Member] = []
    first = 0
    firsts = [0] * len(pieces)
    for number in order:
        members.append(_Member(pieces[number], runs[number], first))
        firsts[number] = first
        first += len(pieces[number].tokens)
    return Plan(
        tokens=tuple(token for member in members for token in member.piece.tokens),
        positions=tuple(at for m in members for at in range(m.piece.position, m.end)),
        writes=joined([run for m in members for run in cut(m.runs, m.piece.position, m.end)]),
        groups=_groups(members) if is_joint else tuple(map(_alone, members)),
        outputs=tuple(
            firsts[number] + len(piece.tokens) - back
            for number, piece in enumerate(pieces)
            for back in range(piece.logits, 0, -1)
        ),
        counts=tuple(piece.logits for piece in pieces),
    )


def _check(piece: Piece, slots: int) -> None:
    if not piece.tokens or not 0 <= piece.logits <= len(piece.tokens) or piece.position < 0:
        raise ValueError("a piece needs new tokens, and at least as many as logits are wanted of it")
    if total(piece.runs) != piece.position + len(piece.tokens):
        raise ValueError("the runs of a piece are not as long as its sequence")
    if any(run.start < 0 or run.length < 0 or run.end > slots for run in piece.runs):
        raise ValueError("a run is outside of the pool")


def _parts(members: Sequence[_Member], after: int) -> list[tuple[Sequence[_Member], int]]:
    """Cut neighbours apart where they share no whole block behind `after`; give each part and what it shares."""
    parts: list[tuple[Sequence[_Member], int]] = []
    begin, shared = 0, members[0].end if members else 0
    for number in range(1, len(members) + 1):
        both = _shared(members[number - 1], members[number]) if number < len(members) else 0
        if both > after:
            shared = min(shared, both)
            continue
        parts.append((members[begin:number], shared))
        if number < len(members):
            begin, shared = number, members[number].end
    return parts


def _shared(left: _Member, right: _Member) -> int:
    """Count the whole blocks' slots that two neighbours share, all of them older than their new tokens."""
    both = min(common(left.runs, right.runs), left.piece.position, right.piece.position)
    return both - both % BLOCK


def _groups(members: Sequence[_Member]) -> tuple[Group, ...]:
    groups: list[Group] = []
    for part, shared in _bundled(_parts(members, 0), 0):
        segments = (
            [_tails(part, 0, part[0].first)] if shared is None else _segments(part, 0, shared, part[0].first)
        )
        groups.append(_group(part, tuple(segments)))
    return tuple(groups)


def _alone(member: _Member) -> Group:
    whole = gathered(member.runs, 0, member.end)
    return _group([member], (Segment(whole, 0, len(member.piece.tokens)),))


def _group(members: Sequence[_Member], segments: tuple[Segment | Tails, ...]) -> Group:
    return Group(
        first=members[0].first,
        lengths=tuple(at + 1 for m in members for at in range(m.piece.position, m.end)),
        columns=-(-max(member.end for member in members) // _COLUMNS) * _COLUMNS,
        segments=segments,
    )


def _segments(members: Sequence[_Member], start: int, shared: int, first: int) -> list[Segment | Tails]:
    """Cover what all members share behind `start`, then what parts of them share, down to each one's own."""
    low = members[0].first - first
    high = members[-1].first + len(members[-1].piece.tokens) - first
    found: list[Segment | Tails] = [
        Segment(span, low, high) for span in spans(members[0].runs, start, shared)
    ]
    if len(members) > 1:
        for part, further in _bundled(_parts(members, shared), shared):
            found += (
                [_tails(part, shared, first)] if further is None else _segments(part, shared, further, first)
            )
    return found


_Part = tuple[Sequence[_Member], int]


def _bundled(parts: Sequence[_Part], start: int) -> Iterator[tuple[Sequence[_Member], int | None]]:
    """Put neighbouring lone tokens with short ends behind `start` together (None), and leave the others."""
    for is_short, run in itertools.groupby(parts, lambda part: _is_short(part[0], start)):
        some = list(run)
        if is_short and len(some) > 1:
            yield [member for members, _ in some for member in members], None
        else:
            yield from some


def _is_short(members: Sequence[_Member], start: int) -> bool:
    return len(members) == 1 and len(members[0].piece.tokens) == 1 and members[0].end - start <= _SHORT


_SHORT = 3 * BLOCK
"""Keys up to which copying an end beside the others' costs less than products of its own."""


def _tails(members: Sequence[_Member], start: int, first: int) -> Tails:
    length = max(member.end for member in members) - start
    rest = length % BLOCK
    return Tails(
        column=start,
        length=length + (max(0, LEAST_KEYS - rest) if rest else 0),
        first=members[0].first - first,
        runs=tuple(cut(member.runs, start, member.end) for member in members),
    )
