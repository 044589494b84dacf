"""The programs and the scripted upstream say the same to each other: what the tests of the proxy go by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.lanes import LANES, Lane
from tests.clients.running import Clients, job_of
from tests.clients.upstream.said import INPUT, Said
from tests.clients.upstream.world import CAPITAL, DONE, PARIS, World, fact
from tests.fakes.upstream_server import ByRequest, in_thread


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with in_thread(ByRequest(World())) as server:
        yield server.origin
        assert server.errors == []


# Those of the main environment are tried in every run, the others where theirs was made.
CASES = [
    pytest.param(lane, id=lane.name, marks=() if lane.environment == "main" else (pytest.mark.clients,))
    for lane in LANES
]


@pytest.mark.parametrize("lane", CASES)
def test_a_client_and_the_upstream_understand_each_other(clients: Clients, origin: str, lane: Lane) -> None:
    if not lane.is_there():
        pytest.skip("its environment was not made: run ./scripts/clients")

    def ask(question: str = CAPITAL, **job: Any) -> dict[str, Any]:
        return clients.of(lane).do(job_of(lane, origin, question, {}, **job))

    for stream in (False, True):
        plain = ask(stream=stream)
        assert (plain["text"], plain["finish"], plain["error"]) == (PARIS, lane.finish[0], None)
        assert plain["usage"] == {"input": INPUT, "output": Said(PARIS).output, "saved": False}
        calling = ask(stream=stream, tools=True)
        assert calling["calls"] == [{"name": "look_up", "arguments": {"subject": "France", "limit": 3}}]
        assert calling["finish"] == lane.finish[1]
        assert ask(stream=stream, tools=True, told=True)["text"] == DONE
        assert ask(stream=stream, schema=True, model=lane.schema_model)["parsed"] == fact(CAPITAL)
    failed = ask("Fail. (status 429)")["error"]
    assert failed is not None
    assert failed["status"] == 429
    assert failed["class"] == (lane.errors.get(429) or lane.errors[0])
