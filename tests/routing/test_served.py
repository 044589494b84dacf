"""Routes and aliases in a proxy as a user runs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import yaml

from tests.e2e.running import Proxy, calm_policies, running
from tests.fakes.upstream_server import (
    ByRequest,
    Seen,
    UpstreamServer,
    chat_json,
    chat_sse,
    error_reply,
    in_thread,
)

NAMES = ("main", "spare", "n0", "n1", "n2")


def answering(name: str) -> ByRequest:
    def answer(seen: Seen) -> object:
        return chat_sse([name]) if seen.json().get("stream") else chat_json(name)

    return ByRequest(answer)  # type: ignore[arg-type]  # a behaviour


@pytest.fixture(scope="module")
def upstreams() -> Iterator[dict[str, UpstreamServer]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(in_thread(answering(name))) for name in NAMES}


@pytest.fixture(scope="module")
def proxy(upstreams: dict[str, UpstreamServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("routes")
    told = {
        "upstreams": {
            name: {"base_url": server.url, "api_key": f"env:KEY_{name}"} for name, server in upstreams.items()
        },
        "routes": {
            "chat": {"upstreams": ["main"], "fallback": [{"name": "spare", "model": "small"}]},
            "nodes": {"upstreams": ["n0", "n1", "n2"], "balance": "prefix"},
        },
        "models": {"fast": "m", "deep": {"model": "m", "upstream": "nodes"}},
        "default_upstream": "chat",
    }
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(told))
    keys = {f"KEY_{name}": f"sk-{name}" for name in NAMES}
    policies = str(calm_policies(folder / "policies"))
    with running(folder / "data", "--config", str(file), "--policies", policies, **keys) as started:
        yield started


@pytest.fixture(autouse=True)
def as_they_were(proxy: Proxy, upstreams: dict[str, UpstreamServer], request: pytest.FixtureRequest) -> None:
    proxy.namespace = request.node.name
    for name, server in upstreams.items():
        server.requests.clear()
        server.script = answering(name)


def test_an_answer_of_the_route_is_stored_under_whatever_name_was_asked(
    proxy: Proxy, upstreams: dict[str, UpstreamServer]
) -> None:
    first = proxy.chat("What is a fjord?", model="fast")
    assert (first.text, first.headers["semcache-outcome"]) == ("main", "miss")
    assert upstreams["main"].requests[0].json()["model"] == "m"
    assert upstreams["main"].requests[0].header("authorization") == "Bearer sk-main"
    assert proxy.outcome("What is a fjord?", model="m") == "exact"
    assert proxy.outcome("What is a fjord?", model="fast") == "exact"
    assert proxy.outcome("What is a fjord?", model="deep") == "miss", (
        "another route answers under another name"
    )


@pytest.mark.parametrize("stream", [False, True])
def test_a_fallback_answers_and_its_answer_is_not_kept(
    proxy: Proxy, upstreams: dict[str, UpstreamServer], stream: bool
) -> None:
    upstreams["main"].script = error_reply(503)
    for _ in range(2):
        reply = proxy.chat("Why is the sky blue?", stream=stream)
        assert (reply.status, reply.headers["semcache-outcome"]) == (200, "miss")
        assert b"spare" in reply.body
    asked = upstreams["spare"].requests
    assert [(seen.json()["model"], seen.header("authorization")) for seen in asked] == [
        ("small", "Bearer sk-spare")
    ] * 2
    upstreams["main"].script = answering("main")
    assert b"main" in proxy.chat("Why is the sky blue?", stream=stream).body
    assert proxy.outcome("Why is the sky blue?", stream=stream) == "exact"
    assert {record["backend"] for record in proxy.records()} >= {"spare", "main"}


def test_a_client_s_own_key_is_not_taken_to_the_fallback(
    proxy: Proxy, upstreams: dict[str, UpstreamServer]
) -> None:
    upstreams["main"].script = error_reply(503, "main is tired")
    reply = proxy.chat("Whose key is this?", {"authorization": "Bearer sk-own"})
    assert (reply.status, reply.json()["error"]["message"]) == (503, "main is tired")
    assert upstreams["main"].requests[0].header("authorization") == "Bearer sk-own"
    assert not upstreams["spare"].requests


def test_turns_of_a_conversation_reach_one_node(proxy: Proxy, upstreams: dict[str, UpstreamServer]) -> None:
    for number in range(9):
        turns = [{"role": "user", "content": f"Tell me about river {number}."}]
        for _ in range(3):
            reply = proxy.chat(turns, {"semcache-mode": "off"}, model="deep")
            turns += [{"role": "assistant", "content": reply.text}, {"role": "user", "content": "Go on."}]
    homes: dict[str, set[str]] = {}
    for name in ("n0", "n1", "n2"):
        for seen in upstreams[name].requests:
            homes.setdefault(seen.json()["messages"][0]["content"], set()).add(name)
    assert len(homes) == 9
    assert all(len(nodes) == 1 for nodes in homes.values())
    assert len(set.union(*homes.values())) > 1


def test_a_route_is_chosen_by_name_and_others_are_refused(
    proxy: Proxy, upstreams: dict[str, UpstreamServer]
) -> None:
    assert proxy.chat("Who are you?", {"semcache-upstream": "nodes"}).text in ("n0", "n1", "n2")
    assert proxy.chat("Who are you?", {"semcache-upstream": "spare"}, model="deep").text == "spare"
    refused = proxy.chat("Who are you?", {"semcache-upstream": "spares"})
    assert (refused.status, refused.json()["error"]["code"]) == (400, "unknown_upstream")


def test_who_answered_is_told(proxy: Proxy, upstreams: dict[str, UpstreamServer]) -> None:
    assert proxy.chat("Who answers?").headers["semcache-upstream"] == "main"
    upstreams["main"].script = error_reply(503)
    assert proxy.chat("How deep is Lake Baikal?").headers["semcache-upstream"] == "spare"


def test_routed_calls_are_counted(proxy: Proxy) -> None:
    before = proxy.metric("semcache_route_calls_total")
    proxy.chat("Is this one counted?", {"semcache-mode": "off"})
    assert proxy.metric("semcache_route_calls_total") == before + 1


def test_a_passed_file_goes_to_the_first_alone(proxy: Proxy, upstreams: dict[str, UpstreamServer]) -> None:
    upstreams["main"].script = error_reply(503)
    assert proxy.request("POST", "/v1/files", b"x" * 100, {"content-type": "text/plain"}).status == 503
    assert not upstreams["spare"].requests
