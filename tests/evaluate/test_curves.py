"""What is drawn, and that it is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcache.errors import SemcacheError
from semcache.evaluate.curves import pair_panel, stream_panel
from semcache.evaluate.pairs import Kind, Seen
from semcache.evaluate.plot import Line, Panel, check_target, draw
from semcache.evaluate.streams import Course
from semcache.evaluate.sweeps import OUR_SCORES, OUR_THRESHOLDS, VARIATIONS
from semcache.evaluate.tally import pair_records
from tests.evaluate.scene import pair


def seen(similarity: float | None, *, same: bool, served: bool, score: float | None = None) -> Seen:
    near = [
        similarity is not None and similarity >= v.threshold for v in VARIATIONS if v.threshold is not None
    ]
    sure = [score is not None and score >= v.min_score for v in VARIATIONS if v.min_score is not None]
    kind = Kind.SEMANTIC if served else Kind.MISS
    peers = (similarity is not None,)
    return Seen(pair("a", "b", same=same), kind, "", (), 0.0, 0.0, peers, (*near, *sure), similarity, score)


def test_pairs_are_swept_over_thresholds() -> None:
    rows = [
        seen(0.91, same=True, served=True),
        seen(None, same=True, served=False),
        seen(0.86, same=False, served=False),
    ]
    ours, static, stated, peer = pair_panel("f", rows, ["gptcache"]).lines
    by_threshold = dict(zip(OUR_THRESHOLDS, zip(ours.x, ours.y, strict=True), strict=True))
    assert by_threshold[0.85] == (100.0, 50.0)
    assert by_threshold[0.90] == (0.0, 50.0)
    assert by_threshold[0.92] == (0.0, 0.0)
    assert (static.x[0], static.y[0], static.y[-1]) == (100.0, 50.0, 0.0)
    assert (stated.x, stated.y, stated.mark) == ([0.0], [50.0], True)
    assert (peer.x, peer.y) == ([100.0], [50.0])


def test_pairs_are_swept_over_scores_where_there_are_any() -> None:
    rows = [seen(0.9, same=True, served=True, score=0.97), seen(0.9, same=False, served=False, score=0.45)]
    _, by_score, *_ = pair_panel("f", rows, []).lines
    at = dict(zip(OUR_SCORES, zip(by_score.x, by_score.y, strict=True), strict=True))
    assert (at[0.4], at[0.5], at[0.95], at[0.98]) == ((100.0, 100.0), (0.0, 100.0), (0.0, 100.0), (0.0, 0.0))


def test_records_hold_the_sweeps() -> None:
    rows = [seen(0.91, same=True, served=True), seen(0.86, same=False, served=False)]
    (record,) = pair_records("f", rows, [])
    assert (0.85, 1, 1) in record["sweep"]["threshold"]
    assert (0.9, 1, 0) in record["sweep"]["bare"]
    assert record["sweep"]["min_score"] == []
    scored = [seen(0.9, same=True, served=True, score=0.97)]
    assert (0.95, 1, 0) in pair_records("f", scored, [])[0]["sweep"]["min_score"]


def test_streams_show_hits_and_wrong_hits() -> None:
    panel = stream_panel(
        "f", [Course(curve=[(1, 0, 0), (2, 1, 1)]), Course(curve=[(1, 0, 0), (2, 0, 0)])], ["redisvl"]
    )
    assert [(line.label, list(line.y), line.dashed) for line in panel.lines] == [
        ("semcache, hits", [0, 1], False),
        ("semcache, wrong", [0, 1], True),
        ("redisvl, hits", [0, 0], False),
        ("redisvl, wrong", [0, 0], True),
    ]


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_files_are_drawn(tmp_path: Path, name: str, begins: bytes) -> None:
    lines = [
        Line("one", [0, 1], [0, 2]),
        Line("two", [0, 1], [0, 1], dashed=True),
        Line("three", [1], [1], mark=True),
    ]
    draw(tmp_path / name, [Panel("数据 $x_1$.jsonl", "x", "y", lines)] * 3)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_targets_are_checked_before_anything_is_measured(tmp_path: Path) -> None:
    check_target(tmp_path / "a.png")
    with pytest.raises(SemcacheError, match=r"a plot ends in \.png or \.svg"):
        check_target(tmp_path / "a.pdf")
    with pytest.raises(SemcacheError, match="there is no directory"):
        check_target(tmp_path / "missing" / "a.svg")
    (tmp_path / "a.png").mkdir()
    with pytest.raises(SemcacheError, match="cannot be written"):
        draw(tmp_path / "a.png", [Panel("t", "x", "y", [Line("one", [0], [0])])])
