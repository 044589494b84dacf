"""One proxy, one scripted upstream and the clients' processes, shared by all tests of the clients."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.faults import FAULTS
from tests.clients.lanes import LANES, NATIVE_ONLY, Lane
from tests.clients.running import MANAGED, Clients, Rig, write_files
from tests.clients.scenes import SCENES
from tests.clients.sheet import Sheet
from tests.clients.upstream.world import World
from tests.e2e.running import running
from tests.fakes.upstream_server import ByRequest, in_thread


@pytest.fixture(scope="session")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    made = Clients(tmp_path_factory.mktemp("programs"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def rig(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("clients")
    world = World()
    with in_thread(ByRequest(world)) as server:
        files = write_files(folder / "files", server)
        with running(folder / "data", *files, TEST_MANAGED_KEY=MANAGED) as proxy:
            yield Rig(proxy, server, world, clients)
        assert server.errors == []


def sheet_of(lane: Lane, backend: str, scenario: str) -> Sheet:
    """Give what is written on; skips what cannot run here."""
    if not lane.is_there():
        pytest.skip("its environment was not made: run ./scripts/clients")
    report = os.environ.get("SEMCACHE_CLIENTS_REPORT")
    known = FAULTS.get((lane.name, backend, scenario), {})
    return Sheet(lane.name, backend, scenario, known, Path(report) if report else None)


def cases(*environments: str) -> list[Any]:
    """Give lanes and scenarios of the clients of these environments."""
    return [
        pytest.param(seat, scenario, id=f"{seat.name} at {seat.backend}-{scenario}")
        for lane in LANES
        if lane.environment in environments
        for seat in lane.seats
        for scenario in SCENES
        if seat.is_native or scenario not in NATIVE_ONLY
    ]


def try_out(rig: Rig, lane: Lane, scenario: str) -> None:
    """Go through one scenario, on an upstream that works as it should at its beginning and end."""
    sheet = sheet_of(lane, lane.backend, scenario)
    rig.world.calm()
    try:
        SCENES[scenario](rig, lane, sheet)
    finally:
        rig.world.calm()
    sheet.close()
