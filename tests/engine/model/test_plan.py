"""Spans and plans against their definitions: every key once, in order, blocks at absolute places."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.forward import Piece
from semcache.engine.model.plan import Plan, Segment, Tails, plan
from semcache.engine.model.spans import BLOCK, LEAST_KEYS, Span, common, joined, spans
from semcache.engine.runs import Run, cut, total
from tests.engine.model.arrange import Ground

run_lists = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 300)), min_size=1, max_size=12).map(
    lambda parts: tuple(_placed(parts))
)


def _placed(parts: list[tuple[int, int]]) -> list[Run]:
    """Runs with gaps; a gap of 0 makes neighbours that continue one another."""
    runs, at = [], 0
    for gap, length in parts:
        runs.append(Run(at + gap, length))
        at += gap + length
    return runs


def slots_of(runs: tuple[Run, ...]) -> list[int]:
    return [slot for run in runs for slot in range(run.start, run.end)]


@given(run_lists)
def test_joined_runs_have_the_same_slots(runs: tuple[Run, ...]) -> None:
    found = joined(runs)
    assert slots_of(found) == slots_of(runs)
    assert all(left.end != right.start for left, right in itertools.pairwise(found))


@given(run_lists, run_lists, st.integers(0, 500))
def test_what_two_sequences_share(left: tuple[Run, ...], right: tuple[Run, ...], shared: int) -> None:
    both = cut(left, 0, shared)
    moved = tuple(Run(run.start + 100_000, run.length) for run in right)
    found = common(joined(left), joined(both + moved))
    assert found == total(both)


@given(run_lists, st.integers(0, 3))
def test_spans_cover_every_key_once_and_begin_at_blocks(runs: tuple[Run, ...], blocks: int) -> None:
    runs = joined(runs)
    end = total(runs)
    start = min(blocks * BLOCK, end - end % BLOCK)
    at = start
    for span in spans(runs, start, end):
        assert span.column == at
        assert span.column % BLOCK == 0
        assert span.length >= LEAST_KEYS
        assert (span.length % BLOCK == 0) or span.length % BLOCK >= LEAST_KEYS
        assert span.is_gathered or len(span.runs) == 1
        at += total(span.runs)
        assert slots_of(span.runs) == slots_of(cut(runs, span.column, at))
        assert span.length >= total(span.runs)
        assert span.is_gathered or span.length == total(span.runs)
    assert at == end


def rows_of(found: Plan) -> dict[int, list[tuple[int, tuple[Run, ...]]]]:
    """Give for each row of the pass the parts that it attends to, in order: first position and runs."""
    rows: dict[int, list[tuple[int, tuple[Run, ...]]]] = {}
    for group in found.groups:
        for segment in group.segments:
            if isinstance(segment, Tails):
                assert segment.column % BLOCK == 0
                assert segment.length % BLOCK == 0 or segment.length % BLOCK >= LEAST_KEYS
                for offset, runs in enumerate(segment.runs):
                    assert total(runs) <= segment.length
                    rows.setdefault(group.first + segment.first + offset, []).append((segment.column, runs))
                continue
            for token in range(segment.first, segment.last):
                rows.setdefault(group.first + token, []).append((segment.span.column, segment.span.runs))
    return rows


@pytest.mark.parametrize("seed", range(60))
def test_every_row_attends_to_its_own_sequence(seed: int) -> None:
    choice = random.Random(seed)
    ground = Ground(10**6, choice)
    pieces: list[Piece] = []

    def grow(runs: list[Run], depth: int) -> None:
        own = runs + ground.scattered(choice.choice((1, 30, 128, 129, 300)))
        for _ in range(choice.choice((1, 2, 3))):
            count = choice.choice((1, 1, 5))
            tail = own + ground.scattered(count)
            position = total(own)
            tokens = tuple(choice.randrange(1000) for _ in range(count))
            pieces.append(Piece(tokens, position, tuple(tail), choice.randint(0, count)))
        if depth:
            grow(own, depth - 1)
            grow(own, depth - 1)

    grow([], 2)
    choice.shuffle(pieces)
    found = plan(pieces, 10**6)
    assert sorted(found.tokens) == sorted(token for one in pieces for token in one.tokens)
    rows = rows_of(found)
    firsts = {slot: number for number, slot in enumerate(slots_of(found.writes))}
    out = iter(found.outputs)
    for one, count in zip(pieces, found.counts, strict=True):
        slots = slots_of(one.runs)
        wanted = [next(out) for _ in range(count)]
        for offset in range(len(one.tokens)):
            row = firsts[slots[one.position + offset]]
            assert found.positions[row] == one.position + offset
            assert found.tokens[row] == one.tokens[offset]
            covered: list[int] = []
            for column, runs in rows[row]:
                assert column == len(covered)
                covered += slots_of(runs)
            assert covered == slots
        assert wanted == [firsts[slots[at]] for at in range(len(slots) - count, len(slots))]


def test_a_shared_part_is_read_once_on_every_level() -> None:
    """Public head, tenant's part, private tails: two tenants with two sequences each."""
    head, tenants = Run(0, 256), (Run(1000, 384), Run(2000, 128))
    pieces = [
        Piece((1,), total((head, tenant)) + 3, (head, tenant, Run(5000 + 100 * number, 4)))
        for number, tenant in enumerate((tenants[0], tenants[1], tenants[0], tenants[1]))
    ]
    [group] = plan(pieces, 10**4).groups
    own = [(Run(5000 + 100 * number, 4),) for number in (0, 2, 1, 3)]
    assert group.segments == (
        Segment(Span(0, 256, (head,), is_gathered=False), 0, 4),
        Segment(Span(256, 384, (tenants[0],), is_gathered=False), 0, 2),
        Tails(640, 16, 0, (own[0], own[1])),
        Segment(Span(256, 128, (tenants[1],), is_gathered=False), 2, 4),
        Tails(384, 16, 2, (own[2], own[3])),
    )


def test_long_ends_and_several_tokens_stand_alone() -> None:
    """Between two short ends: one of several tokens, and one too long to be copied beside others."""
    head = Run(0, 256)
    pieces = [
        Piece((1,), 260, (head, Run(1000, 5))),
        Piece((1,), 265, (head, Run(1100, 10))),
        Piece((1, 2), 260, (head, Run(1200, 6))),
        Piece((1,), 915, (head, Run(2000, 660))),
        Piece((1,), 260, (head, Run(3000, 5))),
    ]
    [group] = plan(pieces, 10**4).groups
    assert group.segments[1:] == (
        Tails(256, 16, 0, ((Run(1000, 5),), (Run(1100, 10),))),
        Segment(Span(256, 16, (Run(1200, 6),), is_gathered=True), 2, 4),
        Segment(Span(256, 660, (Run(2000, 660),), is_gathered=False), 4, 5),
        Segment(Span(256, 16, (Run(3000, 5),), is_gathered=True), 5, 6),
    )


def test_strangers_stand_apart_and_alone_everybody_does() -> None:
    long = [Piece((1,), 600, (Run(start, 601),)) for start in (0, 1000)]
    assert len(plan(long, 5000).groups) == 2
    short = [Piece((1,), 200, (Run(start, 201),)) for start in (0, 1000)]
    [group] = plan(short, 5000).groups
    assert group.segments == (Tails(0, 201, 0, ((Run(0, 201),), (Run(1000, 201),))),)
    shared = [Piece((1,), 200, (Run(0, 200), Run(start, 1))) for start in (1000, 2000)]
    assert len(plan(shared, 5000).groups) == 1
    careful = plan(shared, 5000, is_joint=False)
    assert [len(group.segments) for group in careful.groups] == [1, 1]
    for group in careful.groups:
        [segment] = group.segments
        assert isinstance(segment, Segment)
        assert segment.span.is_gathered


@pytest.mark.parametrize(
    "piece",
    [
        Piece((), 0, ()),
        Piece((1,), 0, (Run(0, 2),)),
        Piece((1,), 0, (Run(0, 1),), 2),
        Piece((1, 2), 0, (Run(0, 2),), -1),
        Piece((1,), -1, ()),
        Piece((1,), 0, (Run(-1, 1),)),
        Piece((1,), 0, (Run(100, 1),)),
        Piece((1,), 0, (Run(5, -1), Run(3, 2))),
    ],
)
def test_pieces_that_contradict_themselves_are_refused(piece: Piece) -> None:
    with pytest.raises(ValueError, match=r"piece|pool"):
        plan([piece], 100)
