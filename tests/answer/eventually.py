"""Wait in a test for something that another task brings about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def eventually(condition: Callable[[], object], within: float = 1.0) -> None:
    """Return when `condition` holds; fail the test when it does not in `within` seconds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - conditions on fakes have no event to wait for
            await asyncio.sleep(0.005)
