"""A store that has all the memory it may have: it keeps what it has, takes nothing new, and costs nobody an answer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.e2e.running import Reply, running
from tests.fakes.upstream_server import Behaviour, ByRequest, Seen, chat_json, in_thread

_LETTERS = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def answering(seen: Seen) -> Behaviour:
    question = seen.json()["messages"][-1]["content"]
    chance = random.Random(question)
    return chat_json("".join(chance.choices(_LETTERS, k=300_000)))


@pytest.mark.slow
def test_a_full_store_forgets_nothing_and_costs_nobody_an_answer(tmp_path: Path) -> None:
    settings = {"SEMCACHE_STORE__MAX_BYTES": str(5 << 20), "SEMCACHE_STORE__NEAR_ENTRIES": "0"}
    with (
        in_thread(ByRequest(answering)) as upstream,
        running(tmp_path / "data", "--upstream", upstream.url, **settings) as proxy,
    ):

        def ask(number: int) -> Reply:
            return proxy.chat(f"Question {number} that fills it", {"semcache-mode": "exact"})

        first = [ask(number) for number in range(5)]
        assert {reply.headers["semcache-outcome"] for reply in first} == {"miss"}
        assert {ask(number).status for number in range(5, 20)} == {200}
        stored = proxy.metric("semcache_entries_stored_total")
        assert 5 < stored < 18, "so many fit, and no more"
        assert proxy.metric("semcache_cache_faults_total") > 0
        again = [ask(number) for number in range(5)]
        assert [reply.headers["semcache-outcome"] for reply in again] == ["exact"] * 5
        assert [reply.text for reply in again] == [reply.text for reply in first]
        late = ask(21)
        assert (late.status, late.headers["semcache-outcome"]) == (200, "miss")
