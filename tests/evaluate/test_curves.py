"""What is drawn, and that it is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcache.errors import SemcacheError
from semcache.evaluate.curves import OUR_THRESHOLDS, pair_panel, stream_panel
from semcache.evaluate.pairs import Kind, Seen
from semcache.evaluate.plot import Line, Panel, check_target, draw
from semcache.evaluate.streams import Course
from tests.evaluate.scene import pair


def seen(similarity: float | None, *, same: bool, served: bool) -> Seen:
    swept = tuple(similarity is not None and similarity >= t for t in OUR_THRESHOLDS)
    kind = Kind.SEMANTIC if served else Kind.MISS
    return Seen(
        pair("a", "b", same=same), kind, "", (), 0.0, 0.0, (similarity is not None,), swept, similarity
    )


def test_pairs_are_swept_over_thresholds() -> None:
    panel = pair_panel(
        "f", [seen(0.91, same=True, served=True), seen(None, same=True, served=False), seen(0.86, same=False, served=False)],
        ["gptcache"],
    )  # fmt: skip
    ours, static, policy, peer = panel.lines
    by_threshold = dict(zip(OUR_THRESHOLDS, zip(ours.x, ours.y, strict=True), strict=True))
    assert by_threshold[0.85] == (100.0, 50.0)
    assert by_threshold[0.90] == (0.0, 50.0)
    assert by_threshold[0.92] == (0.0, 0.0)
    assert (static.x[0], static.y[0], static.y[-1]) == (100.0, 50.0, 0.0)
    assert (policy.x, policy.y, policy.mark) == ([0.0], [50.0], True)
    assert (peer.x, peer.y) == ([100.0], [50.0])


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
