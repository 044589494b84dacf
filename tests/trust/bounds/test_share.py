"""Who floods a tenant's room pushes out their own answers, and what is asked again and again stays."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from semcache.store.embedded import embedded_url
from tests.e2e.running import Proxy, running
from tests.e2e.tenants import bearer, policy
from tests.fakes.upstream_server import Behaviour, ByRequest, Seen, chat_json, in_thread
from tests.store.servers import command

LOUD, QUIET = "sk-loud", "sk-quiet"
ROOM = 20


def answering(seen: Seen) -> Behaviour:
    return chat_json(f"Answer to {seen.json()['messages'][-1]['content']}")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("share")
    policies = folder / "policies"
    policies.mkdir()
    (policies / "acme.yaml").write_text(
        policy("acme", LOUD, QUIET, more=f"quotas: {{max_entries: {ROOM}, max_share_per_key: 0.5}}\n")
    )
    with in_thread(ByRequest(answering)) as upstream:
        arguments = ("--upstream", upstream.url, "--policies", str(policies))
        with running(folder / "data", *arguments, SEMCACHE_STORE__NEAR_ENTRIES="0") as started:
            yield started


def ask(proxy: Proxy, key: str, question: str, **fields: str) -> str:
    return proxy.outcome(question, {"semcache-mode": "exact", **bearer(key)}, **fields)


def test_a_flood_under_one_key_leaves_the_other_keys_answers_alone(proxy: Proxy) -> None:
    quiet = [f"Quiet question {n}" for n in range(8)]
    assert {ask(proxy, QUIET, question) for question in quiet} == {"miss"}
    # Under a new name each time: it is one key all the same.
    for n in range(3 * ROOM):
        assert ask(proxy, LOUD, f"Loud question {n}", user=f"somebody {n}") == "miss"
    assert {ask(proxy, QUIET, question) for question in quiet} == {"exact"}
    assert ask(proxy, LOUD, f"Loud question {3 * ROOM - 1}", user="anybody") == "exact", "the newest stay"
    assert ask(proxy, LOUD, "Loud question 0") == "miss", "its own oldest went"


def test_what_is_asked_again_and_again_outlives_a_flood_under_its_own_key(proxy: Proxy) -> None:
    assert ask(proxy, LOUD, "The hot question") == "miss"
    for _ in range(30):
        assert ask(proxy, LOUD, "The hot question") == "exact"

    def lead() -> float:
        """By how many halvings the most valuable leads: hits are told to the store every few seconds."""
        rows = asyncio.run(command(embedded_url(proxy.data), "ZRANGE", "sc:{acme}:val", -2, -1, "WITHSCORES"))
        return float(rows[3]) - float(rows[1])

    proxy.wait_until(lambda: lead() > 3)
    for n in range(5 * ROOM):
        assert ask(proxy, LOUD, f"Another question {n}") == "miss"
    assert ask(proxy, LOUD, "The hot question") == "exact"
