"""Names that stand for models."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import ChatRequest, TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.routing.aliases import Alias, effective, path_under

ALIASES = {"fast": Alias("gpt-4o-mini", "pool"), "here": Alias("here", "pool"), "loop": Alias("fast")}


def asked(model: str) -> ChatRequest:
    body = {"temperature": 0, "model": model, "messages": [{"role": "user", "content": "hi"}], "x": 1}
    return parse_chat(body, "/v1/chat/completions")


def test_the_real_name_stands_everywhere_and_the_order_of_fields_stays() -> None:
    request = replace(asked("fast"), native={"model": "fast", "input": "hi"})
    got, upstream = effective(request, ALIASES)
    assert (got.model, got.body["model"], got.native) == (
        "gpt-4o-mini",
        "gpt-4o-mini",
        {"model": "gpt-4o-mini", "input": "hi"},
    )
    assert list(got.body) == list(request.body)
    assert upstream == "pool"
    assert request.body["model"] == "fast", "the request itself is not touched"


def test_an_alias_shares_the_namespace_of_what_it_stands_for() -> None:
    partition = Partition(TenantId("t"), "tenant", "", "", "up")
    request = asked("fast")
    request.keys[partition] = (namespace := namespace_of(request, partition), exact_key(namespace, request))
    got, _ = effective(request, ALIASES)
    assert not got.keys, "what was keyed under the alias is forgotten"
    assert namespace_of(got, partition) == namespace_of(asked("gpt-4o-mini"), partition) != namespace


def test_an_alias_may_only_choose_who_answers() -> None:
    request = asked("here")
    assert effective(request, ALIASES) == (request, "pool")


def test_aliases_are_one_step() -> None:
    assert effective(asked("loop"), ALIASES)[0].model == "fast"


def test_other_models_are_left_alone() -> None:
    request = asked("gpt-4o")
    got, upstream = effective(request, ALIASES)
    assert got is request
    assert upstream == ""


def test_a_native_body_without_a_model_stays_so() -> None:
    request = replace(asked("fast"), native={"contents": []}, path="/v1beta/models/fast:generateContent")
    got, _ = effective(request, ALIASES)
    assert got.native == {"contents": []}
    assert got.path == "/v1beta/models/gpt-4o-mini:generateContent"


@pytest.mark.parametrize(
    ("path", "said", "model", "expected"),
    [
        ("/v1beta/models/a:generateContent", "a", "b", "/v1beta/models/b:generateContent"),
        ("/v1beta/models/a:streamGenerateContent", "a", "b/c", "/v1beta/models/b%2Fc:streamGenerateContent"),
        ("/v1beta/models/a%20b:countTokens", "a b", "c", "/v1beta/models/c:countTokens"),
        ("/v1beta/models/ab:countTokens", "a", "c", "/v1beta/models/ab:countTokens"),
        ("/v1beta/models/%61:generateContent", "a", "b", "/v1beta/models/b:generateContent"),
        ("/v1beta/models/a%20b:countTokens", "a%20b", "c", "/v1beta/models/c:countTokens"),
        ("/v1beta/models/a:countTokens", "a", "models/b", "/v1beta/models/b:countTokens"),
        ("/v1beta/tunedModels/a:generateContent", "tunedModels/a", "b", "/v1beta/models/b:generateContent"),
        ("/v1beta/models/a:generateContent", "a", "tunedModels/b", "/v1beta/tunedModels/b:generateContent"),
        ("/v1beta/tunedModels/b:generateContent", "c", "a", "/v1beta/tunedModels/b:generateContent"),
        ("/gate/v1beta/models/a:b:c", "a:b", "x y", "/gate/v1beta/models/x%20y:c"),
        ("/v1/models/a:b:c", "a", "x", "/v1/models/a:b:c"),
        ("/v1beta/models/%FF:countTokens", "\ufffd", "b", "/v1beta/models/%FF:countTokens"),
        ("/v1/chat/completions", "a", "b", "/v1/chat/completions"),
    ],
)
def test_names_in_paths(path: str, said: str, model: str, expected: str) -> None:
    assert path_under(path, said, model) == expected


@given(st.text(min_size=1))
def test_any_name_may_be_one(name: str) -> None:
    got, _ = effective(asked(name), {name: Alias("m")})
    assert got.model == got.body["model"] == "m"
