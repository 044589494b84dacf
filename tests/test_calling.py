"""In which words a backend is asked, and under which key."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest

from semcache.calling import auth_of, call_of, is_translated, no_upstream, renamed, spoken
from semcache.core import Caller, Directives, TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.dialects.chat.wire import Chat
from semcache.dialects.dialect import Family
from semcache.dialects.request import in_chat
from semcache.dialects.unsaid import NothingAsked, refusal
from semcache.errors import RequestError
from semcache.journey import Asked, Backend
from semcache.policy.loader import load_default
from semcache.routing.aliases import Alias, effective
from tests.fakes.generator import FakeGenerator, FakeReply

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": True}
NATIVE = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hello"}]}
SNAPSHOT = load_default()
HEADERS = ((b"anthropic-version", b"1"), (b"x-own", b"kept"), (b"content-type", b"text/plain"))


class Other(Chat):
    """Another dialect, as far as the way of a call goes."""

    name = "anthropic.messages"


def backend(
    speaks: str, protocol: Family = "openai", authorization: str | None = "Bearer managed"
) -> Backend:
    async def answer(call: Any) -> FakeReply:
        raise NotImplementedError

    return Backend(FakeGenerator(answer), "up", authorization, speaks=frozenset((speaks,)), protocol=protocol)


def asked(unsayable: tuple[str, ...] = (), caller: Caller | None = None) -> Asked:
    request = replace(
        parse_chat(CHAT, "/v1/messages"),
        dialect=Other.name,
        native=NATIVE,
        extra={"top_k": 4},
        unsayable=unsayable,
        query=b"beta=true",
    )
    return Asked(
        request,
        caller or Caller(TenantId("default")),
        Directives(),
        headers=HEADERS,
        answer_changing=(("accept-language", "de"), ("anthropic-version", "1")),
        dialect=Other(),
    )


def called(of: Asked, who: Backend) -> tuple[dict[bytes, bytes], Any, str, bytes]:
    policy = SNAPSHOT.resolve(of.request, of.caller, of.directives)
    call = call_of(of, who, policy, SNAPSHOT)
    assert isinstance(call.body, bytes)
    return dict(call.headers), orjson.loads(call.body), call.path, call.query


def test_a_backend_that_speaks_the_clients_dialect_gets_the_clients_own_words() -> None:
    who = backend(Other.name)
    found = spoken(asked(unsayable=("top_k",)), who)
    headers, body, path, query = called(found, who)
    assert (body, path, query) == (NATIVE, "/v1/messages", b"beta=true")
    assert headers[b"anthropic-version"] == b"1"
    assert not is_translated(found)


def test_every_other_one_is_asked_in_chat() -> None:
    who = backend("openai.chat")
    found = spoken(asked(), who)
    headers, body, path, query = called(found, who)
    assert path == "/v1/chat/completions"
    assert query == b""
    assert body == {**CHAT, "stream_options": {"include_usage": True}}
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"x-own"] == b"kept"
    assert b"anthropic-version" not in headers
    assert found.answer_changing == (("accept-language", "de"),)
    assert is_translated(found)


def test_what_chat_cannot_say_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match="top_k") as caught:
        spoken(asked(unsayable=("top_k",)), backend("openai.chat"))
    assert (caught.value.status, caught.value.param) == (400, "top_k")


@pytest.mark.parametrize(
    ("dialect", "fields", "words"),
    [
        ("openai.embeddings", ("input",), "makes no embeddings; name an upstream"),
        ("openai.completions", ("prompt", "echo"), "Send one text in each request"),
        ("openai.responses", ("previous_response_id",), "earlier items in 'input' instead"),
        (
            "anthropic.messages",
            ("top_k", "thinking"),
            "nothing for 'top_k', 'thinking'. Leave them out, or name",
        ),
        ("gemini.generate", tuple("abcdefg"), "'a', 'b', 'c', 'd', 'e' ... Leave them out"),
    ],
)
def test_a_refusal_says_what_to_do(dialect: str, fields: tuple[str, ...], words: str) -> None:
    told = refusal(replace(asked().request, dialect=dialect, unsayable=fields), "up")
    assert words in str(told)
    assert "upstream 'up'" in str(told)
    assert "'Semcache-Upstream'" in str(told)
    assert (told.status, told.param) == (400, fields[0])
    assert not isinstance(told, NothingAsked)


def test_text_that_is_no_unicode_goes_on_as_it_came_or_escaped() -> None:
    raw = b'{"messages": "\\ud800"}'
    odd = replace(asked(), raw_body=raw)
    who = backend(Other.name)
    policy = SNAPSHOT.resolve(odd.request, odd.caller, odd.directives)
    assert call_of(spoken(odd, who), who, policy, SNAPSHOT).body == raw
    chat = replace(odd.request, body={**CHAT, "messages": [{"role": "user", "content": "\ud800"}]})
    other = backend("openai.chat")
    found = call_of(spoken(replace(odd, request=chat), other), other, policy, SNAPSHOT).body
    assert isinstance(found, bytes)
    assert b"\\ud800" in found


def test_text_that_is_no_unicode_gets_no_client_past_the_name_that_its_model_stands_for() -> None:
    raw = b'{"model": "mini", "model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "\\ud800"}]}'
    odd = {**NATIVE, "messages": [{"role": "user", "content": "\ud800"}]}
    came = replace(asked(), raw_body=raw)
    came = replace(came, request=replace(came.request, native=odd))
    told, _ = effective(came.request, {"m": Alias("mini")})
    for who, request in ((backend(Other.name), told), (backend("openai.chat"), in_chat(told))):
        found = renamed(came, request)
        policy = SNAPSHOT.resolve(found.request, found.caller, found.directives)
        body = call_of(found, who, policy, SNAPSHOT).body
        assert isinstance(body, bytes)
        assert json.loads(body, object_pairs_hook=list)[0] == ("model", "mini")
        assert body.count(b'"model"') == 1


def test_a_name_that_is_nearly_one_is_helped() -> None:
    assert str(no_upstream("opanai", ["openai", "claude"])).endswith("did you mean 'openai'?")
    assert str(no_upstream("x", ["openai"])) == "There is no upstream named 'x'."


TENANT = TenantId("t")


@pytest.mark.parametrize(
    ("protocol", "caller", "native", "expected"),
    [
        ("openai", None, False, (b"authorization", b"Bearer managed")),
        ("anthropic", None, False, (b"x-api-key", b"managed")),
        ("gemini", None, False, (b"x-goog-api-key", b"managed")),
        ("ollama", None, False, (b"authorization", b"Bearer managed")),
        (
            "openai",
            Caller(TENANT, "p", authorization="Bearer own", by_key=True),
            True,
            (b"authorization", b"Bearer own"),
        ),
        (
            "anthropic",
            Caller(TENANT, "p", authorization="Bearer own", by_key=True),
            True,
            (b"x-api-key", b"own"),
        ),
        (
            "anthropic",
            Caller(TENANT, "p", authorization="Bearer own"),
            True,
            (b"authorization", b"Bearer own"),
        ),
        ("anthropic", Caller(TENANT, "p", authorization="Bearer own"), False, (b"x-api-key", b"own")),
        ("gemini", Caller(TENANT, "p", authorization="Basic x"), False, (b"authorization", b"Basic x")),
        ("anthropic", Caller(TENANT, key_name="k"), True, (b"x-api-key", b"managed")),
    ],
)
def test_where_the_key_stands(
    protocol: Family, caller: Caller | None, native: bool, expected: tuple[bytes, bytes]
) -> None:
    assert auth_of(backend("openai.chat", protocol), caller, native=native) == [expected]


def test_without_any_key_none_is_sent() -> None:
    assert auth_of(backend("openai.chat", authorization=None), None) == []
