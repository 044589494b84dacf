"""How much memory the embedded server may take."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from semcache.store.memory import bound_of


def test_what_is_configured_holds(tmp_path: Path) -> None:
    assert bound_of(123, tmp_path / "none") == 123
    assert bound_of(0, tmp_path / "none") == 0


@pytest.mark.parametrize("said", [None, "max\n", "", "99999999999999999\n"])
def test_else_half_of_the_machine(tmp_path: Path, said: str | None) -> None:
    told = tmp_path / "memory.max"
    if said is not None:
        told.write_text(said)
    assert bound_of(None, told) == psutil.virtual_memory().total // 2


def test_or_of_the_container(tmp_path: Path) -> None:
    told = tmp_path / "memory.max"
    told.write_text(f"{1 << 30}\n")
    assert bound_of(None, told) == 1 << 29
