"""A house of its own for each test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.budgeting.house import House


@pytest.fixture
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """A house under the costs that `costs` says."""
    made = House(tmp_path, *request.param)
    yield made
    for task in made.scene.tasks:
        task.cancel()
    await asyncio.gather(*made.scene.tasks, return_exceptions=True)
