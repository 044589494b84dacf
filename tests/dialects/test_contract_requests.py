"""Every dialect writes chat requests that it reads back, and nothing that may change an answer is left out of identity."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import ChatRequest, TenantId
from semcache.dialects.dialect import Dialect
from semcache.dialects.request import in_chat, request_of
from semcache.embed.fingerprint import IRRELEVANT_FIELDS, Partition, exact_key, namespace_of
from semcache.errors import RequestError
from tests.dialects import contract as by
from tests.dialects.answers import questions, requests
from tests.dialects.natures import SPEAKING, nature_of

each = pytest.mark.parametrize("dialect", SPEAKING, ids=lambda dialect: dialect.name)
few = settings(max_examples=25)
_PARTITION = Partition(TenantId("t"), "tenant", "", "", "up")
_NOT_IDENTITY = IRRELEVANT_FIELDS - {"messages", "model"}


def identity(dialect: Dialect, body: dict[str, Any], path: str, query: bytes) -> str:
    request = request_of(dialect, json.loads(json.dumps(body)), path, query)
    namespace = namespace_of(request, _PARTITION)
    return namespace.digest + exact_key(namespace, request)


def spelled(value: Any) -> Any:
    """Give a message or field in one spelling: a lone text part is a text, arguments of calls are their values."""
    match value:
        case [{"type": "text", "text": str() as text}]:
            return text
        case dict():
            plain = {key: spelled(item) for key, item in value.items()}
            if isinstance(plain.get("arguments"), str):
                plain["arguments"] = json.loads(plain["arguments"] or "{}")
            return {key: item for key, item in plain.items() if item not in (None, "", [])}
        case list():
            return [spelled(item) for item in value]
        case _:
            return value


def without_ids(value: Any) -> Any:
    match value:
        case dict():
            return {k: without_ids(v) for k, v in value.items() if k not in ("id", "tool_call_id", "name")}
        case list():
            return [without_ids(item) for item in value]
        case _:
            return value


def read_back(dialect: Dialect, chat: dict[str, Any]) -> ChatRequest:
    written = dialect.write(chat)
    assert written.path.startswith("/")
    return request_of(dialect, json.loads(json.dumps(written.body)), written.path, written.query)


def agree(dialect: Dialect, chat: dict[str, Any], request: ChatRequest) -> None:
    told: Any = dict(request.body)
    wanted: Any = {name: value for name, value in chat.items() if name != "stream"}
    # Chat has two names for one limit, others have one.
    told.setdefault("max_tokens", told.get("max_completion_tokens"))
    told = {name: told.get(name) for name in wanted}
    if not nature_of(dialect).has_call_ids:
        told, wanted = without_ids(told), without_ids(wanted)
    assert spelled(told) == spelled(wanted)
    assert request.stream == bool(chat.get("stream"))
    assert request.dialect == dialect.name


@each
@few
@given(questions(), st.booleans())
def test_a_question_is_said_and_read_back(dialect: Dialect, chat: dict[str, Any], stream: bool) -> None:
    chat = {**chat, "stream": True} if stream else chat
    request = read_back(dialect, chat)
    agree(dialect, chat, request)
    assert request.prompt == chat["messages"][-1]["content"]
    assert request.unsayable == ()
    assert request.exact_only is None
    assert request.uncacheable is None
    asked = in_chat(request)
    assert asked.native is None
    assert asked.dialect == "openai.chat"


@each
@few
@given(requests())
def test_a_request_is_said_and_read_back_or_refused_by_name(dialect: Dialect, chat: dict[str, Any]) -> None:
    refused: RequestError | None = None
    try:
        agree(dialect, chat, read_back(dialect, chat))
    except RequestError as error:
        refused = error
    if refused is not None:
        assert dialect.name != "openai.chat"
        assert refused.status == 400
        assert refused.param


def written(dialect: Dialect, chat: dict[str, Any], question: dict[str, Any]) -> Any:
    try:
        return dialect.write(chat)
    except RequestError:
        return dialect.write(question)


@each
@few
@given(requests(), questions(), st.integers(0, 10**6))
def test_whatever_may_change_an_answer_is_part_of_the_identity(
    dialect: Dialect, chat: dict[str, Any], question: dict[str, Any], at: int
) -> None:
    asked = written(dialect, chat, question)
    body, place = asked.body, (asked.path, asked.query)
    before = identity(dialect, body, *place)
    assert identity(dialect, dict(reversed(body.items())), *place) == before
    assert identity(dialect, {**body, "x_vendor": 1}, *place) != before
    assert identity(dialect, {**body, "x_vendor": 1}, *place) != identity(
        dialect, {**body, "x_vendor": 2}, *place
    )
    leaves = [path for path, _ in by.leaves(body)]
    path = leaves[at % len(leaves)]
    try:
        after = identity(dialect, by.mutated(body, path), *place)
    except RequestError:
        return
    alike = path[0] in _NOT_IDENTITY | nature_of(dialect).no_identity
    assert (after == before) == alike, path


_HINTS = frozenset(("cache_control", "stream_options", "metadata", "labels"))
"""Objects that only say how a call is handled."""


@each
@few
@given(requests(), questions(), st.sampled_from((1, "", [], {}, False, 0)), st.integers(0, 10**6))
def test_what_nobody_knows_counts_wherever_it_stands_whatever_it_holds(
    dialect: Dialect, chat: dict[str, Any], question: dict[str, Any], value: Any, at: int
) -> None:
    """Servers may fold the case of names, or know fields that we do not: an empty `System` may undo a `system`."""
    asked = written(dialect, chat, question)
    body, place = asked.body, (asked.path, asked.query)
    before = identity(dialect, body, *place)
    found = [(path, one) for path, one in by.objects(body) if not _HINTS.intersection(path)]
    path, one = found[at % len(found)]
    for name in ("x_vendor", *(known.capitalize() for known in one if known.capitalize() != known)):
        changed = json.loads(json.dumps(body))
        inner = changed
        for step in path:
            inner = inner[step]
        inner[name] = value
        try:
            after = identity(dialect, changed, *place)
        except RequestError:
            continue
        if path == () and name.lower() in _NOT_IDENTITY and dialect.family != "ollama":
            continue
        assert after != before, (*path, name)


def in_chats_words(dialect: Dialect, body: dict[str, Any], place: tuple[str, bytes]) -> str | None:
    """Give the identity at a backend that is asked in chat; None where it would be refused."""
    request = request_of(dialect, json.loads(json.dumps(body)), *place)
    if request.unsayable:
        return None
    asked = in_chat(request)
    namespace = namespace_of(asked, _PARTITION)
    return namespace.digest + exact_key(namespace, asked)


@each
@few
@given(requests(), questions(), st.integers(0, 10**6))
def test_a_translation_loses_nothing_without_saying_so(
    dialect: Dialect, chat: dict[str, Any], question: dict[str, Any], at: int
) -> None:
    """What is asked in chat's words shares its answers with clients of chat: no difference may get lost on the way."""
    asked = written(dialect, chat, question)
    body, place = asked.body, (asked.path, asked.query)
    before = in_chats_words(dialect, body, place)
    assert before is not None
    unknown = in_chats_words(dialect, {**body, "x_vendor": 1}, place)
    assert unknown is None or unknown != before
    leaves = [path for path, _ in by.leaves(body)]
    path = leaves[at % len(leaves)]
    try:
        after = in_chats_words(dialect, by.mutated(body, path), place)
    except RequestError:
        return
    alike = path[0] in _NOT_IDENTITY | nature_of(dialect).no_identity
    assert after is None or (after == before) == alike, path


@each
@few
@given(questions())
def test_a_request_for_a_whole_answer_asks_the_same(dialect: Dialect, chat: dict[str, Any]) -> None:
    request = read_back(dialect, {**chat, "stream": True})
    for temperature in (None, 0.7):
        plain = dialect.unstreamed(request, temperature)
        assert not plain.stream
        assert plain.prompt == request.prompt
        assert not plain.body.get("stream")
        native = plain.native
        if native is not None:
            again = request_of(dialect, dict(native), plain.path, plain.query)
            assert not again.stream
            assert again.prompt == request.prompt
            if temperature is not None:
                assert (again.temperature or 0) >= temperature
        if temperature is not None:
            assert plain.body["temperature"] >= temperature


@each
@pytest.mark.parametrize("value", [None, 5, [], {}], ids=str)
@pytest.mark.parametrize("name", ["model", "messages", "contents", "prompt", "input"])
def test_a_request_without_what_the_cache_relies_on_is_refused_by_name(
    dialect: Dialect, name: str, value: Any
) -> None:
    asked = dialect.write({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    if name not in asked.body:
        return
    refused: RequestError | None = None
    try:
        request = request_of(dialect, {**asked.body, name: value}, asked.path, asked.query)
        assert request.prompt is None
    except RequestError as error:
        refused = error
    assert refused is None or (refused.status == 400 and refused.param)
