"""A fresh scene for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.review.scene import Scene, scene


@pytest.fixture
def at(tmp_path: Path) -> Scene:
    return scene(tmp_path)
