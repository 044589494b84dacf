"""What a worker's index is put together from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from semcache.index_parts import indexing
from semcache.settings import Settings
from tests.lookup.scripted_store import ScriptedStore
from tests.lookup.snapshots import block, saved


@pytest.mark.parametrize("snapshots", [True, False])
async def test_snapshots_that_are_switched_off_do_not_lie_about(tmp_path: Path, snapshots: bool) -> None:
    folder = tmp_path / "index"
    saved(folder, block(3))
    before = sorted(path.name for path in folder.iterdir())
    settings = Settings.model_validate({"data": tmp_path, "index": {"snapshots": snapshots}})
    store: Any = ScriptedStore()
    async with indexing(settings, store, None, lambda change: None) as made:
        assert made.keeper is None
    assert sorted(path.name for path in folder.iterdir()) == (before if snapshots else ["lock"])
