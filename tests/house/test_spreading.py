"""What is named where tests are spread over processes is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spreading import FIRST, TOGETHER, rank_of, scope_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", FIRST)
def test_folders_are_there(folder: str) -> None:
    assert list((ROOT / folder).glob("test_*.py"))


def test_files_that_share_go_together_and_all_others_alone() -> None:
    assert TOGETHER
    for folder in TOGETHER:
        assert scope_of(f"{folder}test_a.py::test_b[x::y]") == scope_of(f"{folder}test_c.py::T::d") == folder
    assert scope_of("tests/e2e/test_chat.py::test_b[tests/e2e/local/]") == "tests/e2e/test_chat.py"


def test_what_takes_long_begins_early() -> None:
    nodes = [
        "tests/a/test_x.py::t",
        "tests/engine/test_x.py::t",
        "tests/e2e/test_x.py::t",
        "tests/e2e/local/test_x.py::t",
    ]
    assert sorted(nodes, key=rank_of) == nodes[::-1]
