"""Every official client at a proxy that was just started, with nothing behind it but its own engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.conftest import sheet_of
from tests.clients.lanes import LANES, Lane
from tests.clients.running import Clients, job_of
from tests.clients.table import ENGINE
from tests.e2e.running import Proxy, running

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with running(tmp_path_factory.mktemp("fresh") / "data") as proxy:
        yield proxy


@pytest.mark.parametrize("lane", LANES, ids=lambda lane: lane.name)
def test_it_gets_an_answer_and_gets_it_again(fresh: Proxy, clients: Clients, lane: Lane) -> None:
    sheet = sheet_of(lane, ENGINE, ENGINE)
    client = clients.of(lane)

    def ask(*, stream: bool) -> tuple[str, int]:
        headers = {"semcache-namespace": lane.name}
        known = len(outcomes(fresh))
        job = job_of(
            lane,
            fresh.url,
            "Say hello.",
            headers,
            model="local",
            key="sk-anything",
            timeout=60.0,
            stream=stream,
        )
        seen = client.do(job)
        assert seen["error"] is None, seen["error"]
        fresh.wait_until(lambda: len(outcomes(fresh)) > known)
        return seen["text"], known

    with sheet.cell("miss"):
        first, at = ask(stream=False)
        assert len(first) > 2
        assert outcomes(fresh)[at] == "miss"
    with sheet.cell("exact"):
        again, at = ask(stream=True)
        assert again == first
        assert outcomes(fresh)[at] == "exact"
    sheet.close()


def outcomes(proxy: Proxy) -> list[str]:
    """Of requests that ask a model; some clients look models up beside."""
    return [line["outcome"] for line in proxy.records(wait=0.0) if line.get("route", "other") != "other"]
