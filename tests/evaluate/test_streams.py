"""Streams: inserted on a miss, wrong when the class differs, in an order that the seed decides."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from semcache.evaluate.baselines.named import baseline
from semcache.evaluate.rows import Labelled
from semcache.evaluate.streams import StreamRun, in_order, run_stream
from tests.evaluate.scene import rig

COSINES = {
    "Where is the parcel?": 1.0,
    "Where has the parcel got to?": 0.96,
    "Where might the parcel go?": 0.94,
    "Open an account for me": -1.0,
}
ROWS = [
    Labelled("Where is the parcel?", "where"),
    Labelled("Where has the parcel got to?", "where"),
    Labelled("Where might the parcel go?", "send"),
    Labelled("Open an account for me", "open"),
    Labelled("Open an  account for me ", "open"),
]


def test_the_seed_decides_the_order_and_the_limit_takes_from_its_front() -> None:
    rows = [Labelled(str(number), "x") for number in range(50)]
    assert in_order(rows, 1, 0) == in_order(rows, 1, 0) != in_order(rows, 2, 0)
    assert sorted(row.text for row in in_order(rows, 1, 0)) == sorted(row.text for row in rows)
    assert in_order(rows, 1, 7) == in_order(rows, 1, 0)[:7]


async def test_hits_and_wrong_hits_are_counted_against_queries(tmp_path: Path) -> None:
    seed = next(seed for seed in range(1000) if in_order(ROWS, seed, 0) == ROWS)
    async with rig(tmp_path, COSINES) as made:
        makers = [
            partial(baseline(name).make, made.peer_scale)
            for name in ("static:0.95", "gptcache", "vcache:0.1")
        ]
        ours, static, gptcache, vcache = await run_stream(
            made, ROWS, StreamRun("test", makers, seed), lambda: None
        )
    # Served: the second (right), the third (nearest is the first: another class), the fifth (equal text).
    assert (ours.n, ours.hits, ours.wrong, ours.exact) == (5, 3, 1, 1)
    assert ours.curve == [(1, 0, 0), (2, 1, 0), (3, 2, 1), (4, 2, 1), (5, 3, 1)]
    assert len(ours.seconds) == len(ours.cpu) == 5
    # 0.94 is below its threshold; the last one's odd blanks hide from the fake encoder which text it is.
    assert (static.hits, static.wrong) == (1, 0)
    assert (gptcache.hits, gptcache.wrong) == (2, 1)
    assert (vcache.n, vcache.hits) == (5, 0)


async def test_what_was_served_is_not_stored_again(tmp_path: Path) -> None:
    """The second and third are near each other, but only the first is stored."""
    rows = [ROWS[0], ROWS[1], Labelled("Where has the parcel gone?", "where")]
    seed = next(seed for seed in range(1000) if in_order(rows, seed, 0) == rows)
    cosines = {**COSINES, "Where has the parcel gone?": 0.80}
    async with rig(tmp_path, cosines) as made:
        (ours,) = await run_stream(made, rows, StreamRun("test", (), seed), lambda: None)
    assert (ours.hits, ours.drafts) == (1, 1)


async def test_two_streams_on_one_rig_do_not_meet(tmp_path: Path) -> None:
    async with rig(tmp_path, COSINES) as made:
        (first,) = await run_stream(made, ROWS[:1], StreamRun("one"), lambda: None)
        (second,) = await run_stream(made, ROWS[:1], StreamRun("two"), lambda: None)
    assert first.hits == second.hits == 0


async def test_long_curves_are_thinned_and_end_at_the_end(tmp_path: Path) -> None:
    rows = [Labelled("Where is the parcel?", "where")] * 450
    async with rig(tmp_path, COSINES) as made:
        (ours,) = await run_stream(made, rows, StreamRun("test"), lambda: None)
    assert ours.hits == 449
    assert len(ours.curve) <= 226
    assert ours.curve[-1] == (450, 449, 0)
