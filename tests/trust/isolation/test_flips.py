"""A request that differs in any one field that counts is another request: nothing stored for the first is ever served to it.

Over sockets, through a real proxy, in every dialect. `scripts/trust/isolation --flips` is the long run.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.trust.isolation.flip_run import Flipped, run


def hold(flipped: Flipped, tries: int) -> None:
    """See that no flip was served, and that everything else was."""
    assert flipped.wrong == []
    assert flipped.tries >= tries
    assert flipped.unheard < tries / 100
    assert set(flipped.by_kind) >= {"value", "type", "added", "removed", "renamed", "header", "question"}
    assert len(flipped.by_dialect) == 8
    for what in ("the same again", "quiet", "in other words"):
        assert flipped.expected[what] > tries / 20
        assert flipped.recall(what) >= 0.99, flipped.missed


def test_one_field_changed_is_another_request(tmp_path: Path) -> None:
    hold(asyncio.run(run(300, 21, tmp_path / "run")), 300)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_one_field_changed_is_another_request_ten_thousand_times(tmp_path: Path) -> None:
    hold(asyncio.run(run(10_000, 22, tmp_path / "run")), 10_000)
