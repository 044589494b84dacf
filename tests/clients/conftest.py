"""One proxy, one scripted upstream and the clients' processes, shared by all tests of the clients."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.faults import FAULTS
from tests.clients.lanes import Lane
from tests.clients.running import MANAGED, Clients, Rig, write_files
from tests.clients.sheet import Sheet
from tests.clients.upstream.world import World
from tests.e2e.running import running
from tests.fakes.upstream_server import ByRequest, in_thread


def pytest_configure(config: pytest.Config) -> None:
    # Known already where tests are spread over processes; it must not be a mistake where they are not.
    config.addinivalue_line("markers", "xdist_group(name): goes to one process with all of its name")


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
