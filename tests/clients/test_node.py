"""Official clients for Node: in every scenario on a miss, an exact hit, a hit by meaning, and a draft."""

from __future__ import annotations

import pytest

from tests.clients.conftest import cases, try_out
from tests.clients.lanes import Lane
from tests.clients.running import Rig

pytestmark = pytest.mark.clients


@pytest.mark.parametrize(("lane", "scenario"), cases("node"))
def test_client(rig: Rig, lane: Lane, scenario: str) -> None:
    try_out(rig, lane, scenario)
