"""Who shares an answer with whom, over all dialects: those who had the same asked of the same, and nobody else.

Requests of random dialects go to random upstreams, as bytes with headers. What each upstream is told is known from the
call itself; the keys are the pipeline's. Equal keys must mean equal calls, and the other way round.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.calling import call_of, flight_key, spoken
from semcache.core import Caller, Directives, Miss, TenantId
from semcache.dialects.dialect import Dialect
from semcache.embed.canonical import canonical_text
from semcache.embed.fingerprint import IRRELEVANT_FIELDS, exact_key, namespace_of
from semcache.errors import RequestError
from semcache.journey import Asked, Backend, Step, Trace, partition_of
from semcache.policy.loader import load_default
from semcache.proxy.headers import read_request_headers
from semcache.proxy.recent import read_request
from semcache.routing.aliases import Alias, effective
from tests.dialects import contract as by
from tests.dialects.answers import questions, requests
from tests.dialects.natures import SPEAKING, nature_of
from tests.fakes.generator import FakeGenerator, FakeReply

SNAPSHOT = load_default()
ALIASES = {"fast": Alias("m-2026")}
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"anthropic-version", b"2023-06-01"),
    (b"anthropic-beta", b"context-1m"),
    (b"openai-beta", b"assistants=v2"),
    (b"accept-language", b"de-CH, en;q=0.5"),
    (b"accept-language", b"fr"),
    (b"x-stainless-os", b"Linux"),
    (b"user-agent", b"sdk/1"),
)
_COUNT = ("anthropic-version", "anthropic-beta", "openai-beta", "accept-language")


def backend(name: str, *speaks: str) -> Backend:
    return Backend(FakeGenerator(lambda _: FakeReply(200)), name, speaks=frozenset(speaks))


BACKENDS = (
    backend("chat", "openai.chat"),
    backend("other", "openai.chat"),
    backend("all", *(dialect.name for dialect in SPEAKING)),
)
CALLERS = (
    Caller(TenantId("default")),
    Caller(TenantId("default"), "p1", authorization="Bearer one"),
    Caller(TenantId("default"), "p2", authorization="Bearer one", by_key=True),
)


@dataclass(frozen=True)
class Sent:
    """One request as a client sends it."""

    dialect: Dialect
    body: dict[str, Any]
    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    backend: Backend = BACKENDS[0]
    caller: Caller = CALLERS[0]


@dataclass(frozen=True)
class Found:
    key: str
    flight: str
    told: Any
    """What the answer may depend on, as far as the upstream is told, in one spelling."""
    framed: Any
    """The same with what says how the answer is framed."""


def of(sent: Sent) -> Found:
    headers = read_request_headers(sent.headers)
    parsed = read_request(sent.dialect, json.dumps(sent.body).encode(), sent.path, sent.query)
    request, _ = effective(parsed.request, ALIASES)
    asked = Asked(
        request,
        sent.caller,
        Directives(),
        headers=headers.forward,
        answer_changing=headers.answer_changing,
        dialect=sent.dialect,
    )
    asked = spoken(asked, sent.backend)
    policy = SNAPSHOT.resolve(asked.request, asked.caller, asked.directives)
    partition = partition_of(asked, policy, sent.backend)
    namespace = namespace_of(asked.request, partition)
    key = exact_key(namespace, asked.request)
    step = Step(
        asked, SNAPSHOT, policy, sent.backend, partition, namespace, key, Trace(policy, Miss("x"), "x")
    )
    call = call_of(asked, sent.backend, policy, SNAPSHOT)
    assert isinstance(call.body, bytes)
    said = sorted((name.decode(), language(name, value)) for name, value in call.headers)
    counted = [pair for pair in said if pair[0] in _COUNT]
    nature = nature_of(sent.dialect) if asked.request.native is not None else None
    body = json.loads(call.body)
    model = asked.request.model
    told = (
        asked.request.dialect,
        sent.caller.principal,
        sent.backend.identity,
        counted,
        model,
        spelled(without_silent(body, nature.no_identity if nature else frozenset())),
    )
    streams = (asked.request.stream, call.path, call.query) if nature else asked.request.stream
    return Found(key, flight_key(step, drafts=False), told, (told, streams))


def language(name: bytes, value: bytes) -> str:
    return value.decode().partition("-")[0] if name == b"accept-language" else value.decode()


def without_silent(body: dict[str, Any], more: frozenset[str]) -> dict[str, Any]:
    silent = (IRRELEVANT_FIELDS - {"messages"}) | more
    plain = {name: value for name, value in body.items() if name not in silent}
    return {name: value for name, value in plain.items() if (name, value) != ("tool_choice", "auto")}


def spelled(value: Any) -> Any:
    """Give a value in one spelling: empty fields away, texts as the cache reads them, a lone text part as its text."""
    match value:
        case [{"type": "text", "text": str() as text, **rest}] if not rest:
            return canonical_text(text)
        case str():
            return canonical_text(value)
        case dict():
            plain = {name: spelled(item) for name, item in value.items()}
            return {name: item for name, item in plain.items() if item is not None}
        case list():
            return [spelled(item) for item in value]
        case _:
            return value


@st.composite
def sendings(draw: st.DrawFn, chat: dict[str, Any]) -> Sent:
    """Draw a way to ask for something: a dialect, an upstream, a caller, headers."""
    dialect = draw(st.sampled_from(SPEAKING))
    try:
        written = dialect.write(chat)
    except RequestError:
        dialect = next(one for one in SPEAKING if one.name == "openai.chat")
        written = dialect.write(chat)
    headers = draw(st.lists(st.sampled_from(HEADERS), max_size=1))
    where, who = draw(st.sampled_from((0, 0, 0, 1, 2, 2))), draw(st.sampled_from((0, 0, 0, 1, 2)))
    body = {**written.body}
    if "model" in body and draw(st.booleans()):
        body["model"] = "fast"
    return Sent(dialect, body, written.path, written.query, tuple(headers), BACKENDS[where], CALLERS[who])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Sent, Sent]:
    """Draw two requests that say the same, but for one thing at most."""
    chat = draw(st.one_of(questions(), requests()))
    one, other = draw(sendings(chat)), draw(sendings(chat))
    if draw(st.booleans()):
        leaves = [path for path, _ in by.leaves(other.body)]
        body = by.mutated(other.body, draw(st.sampled_from(leaves)))
        other = Sent(other.dialect, body, other.path, other.query, other.headers, other.backend, other.caller)
    return one, other


@settings(max_examples=400)
@given(pairs())
def test_answers_are_shared_by_those_who_asked_the_same_of_the_same(pair: tuple[Sent, Sent]) -> None:
    try:
        one, other = of(pair[0]), of(pair[1])
    except RequestError:
        return
    assert (one.key == other.key) == (one.told == other.told), (one.told, other.told)
    if one.flight == other.flight:
        assert one.told == other.told
    if one.framed == other.framed:
        assert one.key == other.key


@pytest.mark.parametrize("name", ["anthropic-version", "anthropic-beta", "openai-beta", "accept-language"])
@pytest.mark.parametrize("dialect", SPEAKING, ids=lambda dialect: dialect.name)
def test_headers_that_an_upstream_hears_of_count_and_others_do_not(dialect: Dialect, name: str) -> None:
    written = dialect.write({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]})
    for at in BACKENDS:
        plain = Sent(dialect, written.body, written.path, written.query, (), at)
        named = Sent(dialect, written.body, written.path, written.query, ((name.encode(), b"x"),), at)
        hears = name.encode() in dict(call_headers(named))
        assert (of(plain).key != of(named).key) == hears


def call_headers(sent: Sent) -> list[tuple[bytes, bytes]]:
    headers = read_request_headers(sent.headers)
    parsed = read_request(sent.dialect, json.dumps(sent.body).encode(), sent.path, sent.query)
    asked = Asked(parsed.request, sent.caller, Directives(), headers.forward, dialect=sent.dialect)
    asked = spoken(asked, sent.backend)
    policy = SNAPSHOT.resolve(asked.request, asked.caller, asked.directives)
    return list(call_of(asked, sent.backend, policy, SNAPSHOT).headers)
