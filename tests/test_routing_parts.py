"""Upstreams, routes and aliases as they are built from a configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semcache.answer.upstream import HttpUpstream
from semcache.errors import PolicyError, UpstreamError
from semcache.journey import Backend
from semcache.routing.aliases import Alias
from semcache.routing.hearing import Ears
from semcache.routing.route import Route
from semcache.routing.salting import Salting
from semcache.routing.sharing import Sharing
from semcache.routing.target import Target
from semcache.routing.told import Answered, answered
from semcache.routing.widths import Widths
from semcache.routing_parts import aliases_of, backends_of
from semcache.settings import Settings, load_settings
from tests.fakes.upstream_server import UpstreamServer, error_reply, json_reply
from tests.routing.members import Ears as Listener
from tests.routing.members import chat

A = {"base_url": "http://127.0.0.1:1/v1"}
B = {"base_url": "http://127.0.0.1:2/v1"}


def built(**parts: Any) -> dict[str, Backend]:
    return backends_of(load_settings(parts), "", None)


def targets(backend: Backend) -> list[Target]:
    assert isinstance(backend.generator, Route)
    return list(backend.generator.targets)


def test_an_upstream_is_told_what_its_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-1")
    given = {
        "base_url": "https://api.anthropic.com/v1",
        "api_key": "env:KEY",
        "max_concurrent": 3,
        "breaker_on": [429, "late"],
        "stream_usage": True,
    }
    backend = built(upstreams={"claude": given})["claude"]
    assert isinstance(backend.generator, HttpUpstream)
    assert (backend.identity, backend.protocol, backend.authorization) == (
        "claude",
        "anthropic",
        "Bearer sk-1",
    )
    assert backend.speaks == {"anthropic.messages"}
    limits = backend.generator._limits
    assert (limits.concurrent, limits.breaker_statuses) == (3, {429})
    assert limits.breaker_codes == {"upstream_timeout"}


def test_a_route_shares_the_clients_of_its_upstreams() -> None:
    backends = built(upstreams={"a": A, "b": B}, routes={"r": {"upstreams": ["a"], "fallback": ["b"]}})
    first, second = targets(backends["r"])
    assert first.member is backends["a"].generator
    assert second.member is backends["b"].generator
    assert backends["r"].authorization is None, "each upstream has its own"
    assert (first.is_fallback, second.is_fallback) == (False, True)


def test_whose_answers_may_be_kept() -> None:
    told = {
        "upstreams": ["a", {"name": "b"}, {"name": "a", "model": "x"}],
        "fallback": [{"name": "c", "stored": True}, {"name": "c", "model": "y"}],
    }
    backends = built(upstreams={"a": A, "b": B, "c": A}, routes={"r": told})
    assert [target.is_own for target in targets(backends["r"])] == [True, True, False, True, False]


def test_nodes_may_come_and_go_and_another_model_is_another_identity() -> None:
    def identity(*upstreams: Any) -> str:
        return built(upstreams={"a": A, "b": B}, routes={"r": {"upstreams": list(upstreams)}})["r"].identity

    assert identity("a") == identity("a", "b") == identity("b")
    assert identity("a") != identity({"name": "a", "model": "x"})


@pytest.mark.parametrize(
    ("others", "policy", "expected"),
    [
        (B, {}, [True, False]),
        (A, {}, [True, True]),
        ({"base_url": "http://127.0.0.1:1/other/v1"}, {}, [True, True]),
        (B, {"client_keys": "all"}, [True, True]),
    ],
)
def test_who_may_get_a_client_s_own_key(
    others: dict[str, str], policy: dict[str, str], expected: list[bool]
) -> None:
    backends = built(upstreams={"a": A, "b": others}, routes={"r": {"upstreams": ["a", "b"], **policy}})
    assert [target.takes_client_keys for target in targets(backends["r"])] == expected


def test_managed_keys_are_written_as_each_family_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-1")
    claude = {"base_url": "https://api.anthropic.com", "api_key": "env:KEY"}
    proxy = {**A, "api_key": "env:KEY", "speaks": ["anthropic.messages"]}
    backend = built(
        upstreams={"claude": claude, "proxy": proxy},
        routes={"r": {"upstreams": ["claude"], "fallback": ["proxy"]}},
    )["r"]
    assert [target.key for target in targets(backend)] == [
        (b"x-api-key", b"sk-1"),
        (b"authorization", b"Bearer sk-1"),
    ]
    assert (backend.speaks, backend.protocol) == ({"anthropic.messages"}, "anthropic")


def test_a_key_that_is_not_there_is_told_at_the_start() -> None:
    with pytest.raises(PolicyError, match="NOT_SET"):
        built(
            upstreams={"a": {**A, "api_key": "env:NOT_SET"}},
        )


async def test_a_fallback_with_another_api_is_asked_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-1")
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": "Paris."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    async with UpstreamServer(error_reply(503)) as first, UpstreamServer(json_reply(answer)) as second:
        claude = {"base_url": second.origin, "protocol": "anthropic", "api_key": "env:KEY"}
        told = {"upstreams": ["a"], "fallback": [{"name": "claude", "model": "claude-x"}]}
        backends = built(upstreams={"a": {"base_url": first.url}, "claude": claude}, routes={"r": told})
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Capital?"}], "max_tokens": 9}
        headers = ((b"content-type", b"application/json"), (b"openai-organization", b"org"))
        route = backends["r"].generator
        reply = await route.open(chat(body, headers=headers))
        said = json.loads(b"".join([part async for part in reply.body()]))
        await reply.aclose()
        assert answered(reply.headers) == Answered("claude", "claude-x", is_own=False)
        assert said["choices"][0]["message"]["content"] == "Paris."
        seen = second.requests[0]
        assert (seen.target, seen.json()["model"]) == ("/v1/messages", "claude-x")
        assert (seen.header("x-api-key"), seen.header("anthropic-version")) == ("sk-1", "2023-06-01")
        assert seen.header("openai-organization") is None
        assert first.requests[0].header("openai-organization") == "org"
        # What cannot be said there is no fallback's to answer: the first one's word counts.
        reply = await route.open(chat({**body, "logprobs": True, "n": 3}))
        assert (reply.status, second.calls) == (503, 1)
        await reply.aclose()
        # Nor is another dialect.
        reply = await route.open(chat({"model": "m", "input": "x"}, path="/v1/responses"))
        assert (reply.status, second.calls) == (503, 1)
        await reply.aclose()
        for backend in backends.values():
            await backend.generator.aclose()


def test_a_route_speaks_what_all_its_upstreams_do() -> None:
    ollama = {"base_url": "http://localhost:11434"}
    backend = built(upstreams={"a": A, "o": ollama}, routes={"r": {"upstreams": ["a", "o"]}})["r"]
    assert backend.speaks == {"openai.chat", "openai.completions", "openai.embeddings"}


def test_usage_is_asked_for_where_all_are_to_be_asked() -> None:
    asking = {**A, "stream_usage": True}
    route = {"r": {"upstreams": ["a", "b"]}}
    assert built(upstreams={"a": asking, "b": asking}, routes=route)["r"].stream_usage
    assert not built(upstreams={"a": asking, "b": B}, routes=route)["r"].stream_usage


def test_nodes_can_be_told_whose_prompts_they_get() -> None:
    backends = built(upstreams={"a": {**A, "cache_salt": True}}, routes={"r": {"upstreams": ["a"]}})
    assert isinstance(backends["a"].generator, Salting)
    assert targets(backends["r"])[0].member is backends["a"].generator
    assert "openai.embeddings" not in backends["a"].speaks


def test_the_local_engine_on_a_route_is_salted_and_keeps_its_own_pages(tmp_path: Path) -> None:
    settings = load_settings(
        {
            "data": tmp_path,
            "upstreams": {"a": A},
            "engine": {"always": True, "model": str(tmp_path)},
            "routes": {"r": {"upstreams": ["a"], "fallback": [{"name": "local", "model": "local"}]}},
        }
    )
    backends = backends_of(settings, str(tmp_path / "engine.sock"), None)
    engine = targets(backends["r"])[1]
    assert isinstance(engine.member, Salting)
    assert engine.is_inner
    assert not engine.takes_client_keys
    assert isinstance(backends["local"].generator, HttpUpstream)
    assert backends["local"].speaks == {"openai.chat"}


async def test_what_becomes_of_routed_calls_is_heard_by_whoever_comes() -> None:
    ears, listener = Ears(), Listener()
    settings = load_settings({"upstreams": {"a": A}, "routes": {"r": {"upstreams": ["a"]}}})
    backends = backends_of(settings, "", None, ears)
    assert [member.name for member in ears.members] == ["a"]
    call = chat()
    with pytest.raises(UpstreamError):
        await backends["r"].generator.open(call)
    ears.listener = listener
    with pytest.raises(UpstreamError):
        await backends["r"].generator.open(call)
    assert listener.heard == [("r", "a", "failed")]
    await backends["a"].generator.aclose()


def test_aliases() -> None:
    settings: Settings = load_settings(
        {"upstreams": {"a": A}, "models": {"fast": "m", "big": {"upstream": "a"}, "own": {"model": "x"}}}
    )
    assert aliases_of(settings) == {"fast": Alias("m"), "big": Alias("big", "a"), "own": Alias("x")}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"balance": "prefix"}, Widths),
        ({"balance": "prefix", "nodes_per_prompt": 2}, int),
        ({"balance": "prefix", "nodes_per_prompt": "all"}, type(None)),
        ({}, type(None)),
    ],
)
def test_on_how_many_nodes_a_prompt_is(told: dict[str, Any], expected: type) -> None:
    generator = built(upstreams={"a": A}, routes={"r": {"upstreams": ["a"], **told}})["r"].generator
    assert isinstance(generator, Route)
    assert isinstance(generator.sharing, Sharing)
    assert isinstance(generator.sharing.near, expected)
