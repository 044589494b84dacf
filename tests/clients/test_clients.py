"""Every official client in every scenario: on a miss, an exact hit, a hit by meaning, and a draft."""

from __future__ import annotations

import pytest

from tests.clients.conftest import sheet_of
from tests.clients.lanes import LANES, NATIVE_ONLY, Lane
from tests.clients.running import Rig
from tests.clients.scenes import SCENES

pytestmark = pytest.mark.clients
CASES = [
    pytest.param(
        seat,
        scenario,
        id=f"{seat.name} at {seat.backend}-{scenario}",
        marks=pytest.mark.xdist_group(lane.program),
    )
    for lane in LANES
    for seat in lane.seats
    for scenario in SCENES
    if seat.is_native or scenario not in NATIVE_ONLY
]


@pytest.mark.parametrize(("lane", "scenario"), CASES)
def test_client(rig: Rig, lane: Lane, scenario: str) -> None:
    sheet = sheet_of(lane, lane.backend, scenario)
    rig.world.calm()
    try:
        SCENES[scenario](rig, lane, sheet)
    finally:
        rig.world.calm()
    sheet.close()
