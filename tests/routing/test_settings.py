"""Upstreams, routes and aliases as a configuration file writes them, and what it is told when it errs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from semcache.errors import PolicyError
from semcache.routing.settings import UpstreamSettings, codes_of, statuses_of
from semcache.settings import Settings, key_of, load_settings

A = {"base_url": "http://127.0.0.1:1/v1"}
B = {"base_url": "http://127.0.0.1:2/v1"}
CLAUDE = {"base_url": "https://api.anthropic.com"}


def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **parts: Any) -> Settings:
    path = tmp_path / "semcache.yaml"
    path.write_text(yaml.safe_dump(parts))
    monkeypatch.setenv("SEMCACHE_CONFIG", str(path))
    return load_settings({})


@pytest.mark.parametrize(
    ("written", "speech", "base"),
    [
        ({"base_url": "https://api.openai.com/v1"}, "openai", "https://api.openai.com"),
        ({"base_url": "https://api.anthropic.com"}, "anthropic", "https://api.anthropic.com"),
        ({"base_url": "https://api.anthropic.com/v1/"}, "anthropic", "https://api.anthropic.com"),
        (
            {"base_url": "https://generativelanguage.googleapis.com/v1beta"},
            "gemini",
            "https://generativelanguage.googleapis.com",
        ),
        ({"base_url": "http://localhost:11434"}, "ollama", "http://localhost:11434"),
        ({"base_url": "http://localhost:11434/v1"}, "ollama", "http://localhost:11434"),
        ({"base_url": "http://h:11434/v1", "protocol": "openai"}, "openai", "http://h:11434"),
        ({"base_url": "https://gate.example/claude", "protocol": "anthropic"}, "anthropic", None),
    ],
)
def test_the_protocol_goes_by_the_host_unless_it_is_named(
    written: dict[str, str], speech: str, base: str | None
) -> None:
    upstream = UpstreamSettings.model_validate(written)
    assert upstream.speech == speech
    assert upstream.base == (base or written["base_url"])


@pytest.mark.parametrize(
    ("written", "native"),
    [
        (A, {"openai.chat", "openai.completions", "openai.responses", "openai.embeddings"}),
        (CLAUDE, {"anthropic.messages"}),
        ({**A, "speaks": ["openai.chat", "anthropic.messages"]}, {"openai.chat", "anthropic.messages"}),
        ({"base_url": "http://x", "protocol": "gemini"}, {"gemini.generate"}),
        (
            {"base_url": "http://x", "protocol": "ollama"},
            {"ollama.chat", "ollama.generate", "openai.chat", "openai.completions", "openai.embeddings"},
        ),
    ],
)
def test_what_is_spoken_natively(written: dict[str, Any], native: set[str]) -> None:
    assert UpstreamSettings.model_validate(written).native == native


def test_a_route_may_name_its_upstreams_in_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(
        tmp_path,
        monkeypatch,
        upstreams={"a": A, "b": B},
        routes={"pool": {"upstreams": ["a", {"name": "b", "weight": 2}], "balance": "prefix"}},
        models={"fast": "gpt-4o-mini", "gpt-4o": {"upstream": "pool"}},
        default_upstream="pool",
    )
    pool = settings.routes["pool"]
    assert [(target.name, target.weight) for target in pool.upstreams] == [("a", 1.0), ("b", 2.0)]
    assert (pool.floor, settings.first_upstream) == (4, "pool")
    assert settings.models["fast"].model == "gpt-4o-mini"
    assert settings.models["gpt-4o"].upstream == "pool"
    assert settings.upstream_names == {"a", "b", "pool"}


def test_the_local_engine_can_be_a_fallback_where_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"upstreams": {"a": A}, "routes": {"r": {"upstreams": ["a"], "fallback": ["local"]}}}
    with pytest.raises(
        PolicyError, match=r"routes\.r\.fallback\.0\.name: there is no upstream named 'local'"
    ):
        loaded(tmp_path, monkeypatch, **parts)
    assert (
        loaded(tmp_path, monkeypatch, **parts, engine={"always": True}).routes["r"].fallback[0].name
        == "local"
    )


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"routes": {"r": {"upstreams": ["alpa"]}}}, "routes.r.upstreams.0.name: .* did you mean alpha?"),
        ({"routes": {"r": {"upstreams": ["zzz"]}}}, "known: alpha, claude"),
        ({"routes": {"alpha": {"upstreams": ["alpha"]}}}, "routes.alpha: there is an upstream of that name"),
        ({"routes": {"r": {"upstreams": ["alpha", "alpha"]}}}, "'alpha' stands in this route already"),
        (
            {"routes": {"r": {"upstreams": ["alpha"], "fallback": ["alpha"]}}},
            "fallback.0.name: 'alpha' stands",
        ),
        ({"routes": {"r": {"upstreams": ["alpha", "claude"]}}}, "they have no dialect in common"),
        (
            {"routes": {"r": {"upstreams": ["alpha"], "fallback": ["claude"]}}},
            "fallback.0.model: say which model",
        ),
        (
            {"routes": {"r": {"upstreams": ["claude"], "fallback": ["alpha"]}}},
            "fallback.0.name: 'alpha' takes none of what .*anthropic.messages",
        ),
        ({"routes": {"r": {"upstreams": [{"name": "alpha", "weight": 0}]}}}, "every weight is 0"),
        ({"routes": {"r": {"upstreams": []}}}, "routes.r.upstreams: "),
        (
            {"routes": {"r": {"upstreams": [{"name": "alpha", "wieght": 1}]}}},
            "upstreams.0.wieght.*mean weight?",
        ),
        ({"routes": {"r": {"upstream": ["alpha"]}}}, "routes.r.upstream: .*did you mean upstreams?"),
        ({"routes": {"r": {"upstreams": ["alpha"], "retry_on": ["4xx"]}}}, "retry_on.0: must be a status"),
        ({"routes": {"r": {"upstreams": ["alpha"], "retry_on": [200]}}}, "retry_on.0: must be a status"),
        ({"routes": {"r": {"upstreams": ["alpha"], "nodes_per_prompt": 2}}}, "goes with balance: prefix"),
        ({"routes": {"two words": {"upstreams": ["alpha"]}}}, "routes.two words"),
        ({"models": {"m": {"upstream": "alpah"}}}, "models.m.upstream: .* did you mean alpha?"),
        ({"models": {"m": {"modle": "x"}}}, "models.m.modle: .*did you mean model?"),
        ({"upstreams": {"a": {"base_url": "https://x.example"}}}, "upstreams.a.base_url: must end in /v1"),
        ({"upstreams": {"a": {**A, "speaks": ["openai.chats"]}}}, "upstreams.a.speaks.0: .*openai.chat"),
        ({"upstreams": {"a": {**A, "speaks": []}}}, "upstreams.a.speaks: "),
        ({"upstreams": {"a": {**A, "max_concurent": 1}}}, "did you mean max_concurrent?"),
        ({"upstreams": {"a": {"base_url": "http://x:99999/v1"}}}, "upstreams.a.base_url: "),
        ({"upstreams": {"a": {**A, "speaks": ["openai.caht"]}}}, "speaks.0: did you mean openai.chat? It"),
        ({"upstreams": {"a": {**A, "speaks": "openai.chat"}}}, "upstreams.a.speaks: must be a list"),
        ({"upstreams": {"a": {**A, "protocol": "antropic"}}}, "protocol: did you mean anthropic?"),
        ({"upstreams": {"a": "https://x/v1"}}, "upstreams.a: must be a mapping"),
        ({"upstreams": {"a": {"base_url": "x.example/v1"}}}, "maybe https://x.example/v1"),
        ({"upstreams": {"a": {"base_url": "http://x/v1/chat/completions"}}}, "begins at http://x/v1"),
        ({"upstreams": {"a": {"base_url": "http://x:11434/api/chat"}}}, "begins at http://x:11434"),
        ({"upstreams": {"a": {"base_url": "http://x:11434/api"}}}, "begins at http://x:11434"),
        (
            {"upstreams": {"a": {"base_url": "https://api.anthropic.com/v1/messages"}}},
            "begins at https://api.anthropic.com/v1",
        ),
        (
            {"upstreams": {"a": {"base_url": "https://generativelanguage.googleapis.com/v1beta/openai/"}}},
            "must be https://generativelanguage.googleapis.com: ",
        ),
        ({"upstreams": {"a": {**CLAUDE, "cache_salt": True}}}, "cache_salt goes with openai.chat"),
        ({"upstreams": {"local": A}, "engine": {"always": True}}, "upstreams.local: the local engine"),
        ({"routes": {"r": {"upstreams": ["r"]}}}, "'r' is a route"),
        ({"models": {"fast": "quick", "quick": "x"}}, "models.fast.model: 'quick' stands in models too"),
        ({"default_upstream": "alhpa"}, "did you mean alpha?"),
        (
            {"default_upstream": "polo", "routes": {"pool": {"upstreams": ["alpha"]}}},
            "default_upstream 'polo'",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: dict[str, Any], told: str
) -> None:
    given = {"upstreams": {"alpha": A, "claude": CLAUDE}, **parts}
    with pytest.raises(PolicyError, match=told.replace(".", r"\.").replace(r"\.*", ".*").replace("?", r"\?")):
        loaded(tmp_path, monkeypatch, **given)


def test_nothing_stands_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "twice.yaml"
    file.write_text("upstreams:\n  a: {base_url: https://x/v1}\n  a: {base_url: https://y/v1}\n")
    monkeypatch.setenv("SEMCACHE_CONFIG", str(file))
    with pytest.raises(PolicyError, match=r"twice\.yaml:3: .*'a' stands twice"):
        load_settings({})


def test_a_refused_item_does_not_make_its_list_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError) as refused:
        loaded(tmp_path, monkeypatch, upstreams={"a": {**A, "speaks": ["none"]}})
    assert str(refused.value).count("upstreams.a.speaks") == 1


def test_failures_are_statuses_and_codes() -> None:
    said = (429, "5xx", "late", "disconnected")
    assert statuses_of(said) == {429, *range(500, 600)}
    assert codes_of(said) == {"upstream_timeout", "upstream_disconnected"}


def test_a_key_that_is_not_there_is_named_with_its_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(PolicyError, match=r"^upstreams\.alpha\.api_key: .*NO_SUCH_KEY is not set"):
        key_of("alpha", "env:NO_SUCH_KEY")
    with pytest.raises(PolicyError, match=r"^upstreams\.alpha\.api_key: a secret must be a reference"):
        key_of("alpha", "sk-bare")
