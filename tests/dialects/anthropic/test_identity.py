"""Two requests that may get different answers are never one: every change at a single place shows, but for a named few."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import TenantId
from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.anthropic.request import IRRELEVANT
from semcache.dialects.request import request_of
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import RequestError
from tests.dialects.anthropic.asked import MARK, Path, at, blocks_of, changes, requests

_PARTITION = Partition(TenantId("t"), "tenant", "", "", "up")


def identity(body: dict[str, Any], query: bytes = b"") -> tuple[str, str]:
    request = request_of(MESSAGES, json.loads(json.dumps(body)), "/v1/messages", query)
    namespace = namespace_of(request, _PARTITION)
    return namespace.digest, exact_key(namespace, request)


def is_free(path: Path, body: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a change cannot change the answer."""
    if path and path[0] in IRRELEVANT:
        return True
    if not path:
        return {name for name in {*body, *other} if body.get(name) != other.get(name)} <= IRRELEVANT
    return _spelled(body) == _spelled(other)


def _spelled(body: dict[str, Any]) -> Any:
    """Give what the API itself takes for the same in one spelling: neighbours of one role are one message."""
    out = copy.deepcopy(body)
    messages: list[dict[str, Any]] = []
    for message in out["messages"]:
        content = message.get("content")
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content
        plain = message.keys() == {"role", "content"} and isinstance(content, list)
        before = messages[-1] if messages else {}
        joins = before.keys() == {"role", "content"} and isinstance(before["content"], list)
        if plain and joins and message["role"] == before["role"] == "user":
            messages[-1]["content"] += content
        else:
            messages.append({**message, "content": content})
    return {**out, "messages": messages}


@settings(max_examples=100, deadline=None)
@given(requests, st.data())
def test_every_change_at_a_single_place_shows(body: dict[str, Any], data: st.DataObject) -> None:
    before = identity(body)
    found = list(changes(body))
    picked = data.draw(st.lists(st.integers(0, len(found) - 1), min_size=1, max_size=15, unique=True))
    for number in picked:
        path, other = found[number]
        try:
            after = identity(other)
        except RequestError:
            continue
        if is_free(path, body, other):
            continue
        assert after != before, (path, at(body, path[:-1]))


@settings(max_examples=80, deadline=None)
@given(requests, st.data())
def test_marks_of_the_prompt_cache_change_nothing(body: dict[str, Any], data: st.DataObject) -> None:
    before = identity(body)
    other = copy.deepcopy(body)
    for block in list(blocks_of(other)):
        if data.draw(st.booleans()):
            block["cache_control"] = MARK
    assert identity(other) == before


@given(requests)
@settings(max_examples=50, deadline=None)
def test_irrelevant_fields_change_nothing_and_nulls_are_absent(body: dict[str, Any]) -> None:
    before = identity(body)
    kept = {name: value for name, value in body.items() if name not in IRRELEVANT}
    assert identity(kept) == before
    assert identity({**kept, "stream": True, "service_tier": "auto", "speed": "fast"}) == before
    assert identity({**kept, "top_z": None, "fallbacks": None}) == before
    assert identity(dict(reversed(kept.items()))) == before


HI = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


def asked(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 5, "messages": list(messages), **fields}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


TEXT = {"type": "text", "text": "x"}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
DATA = {"type": "base64", "media_type": "image/png", "data": "aGk="}
LOOK_ALIKES = {
    "a text, a document that says it": (
        asked(user([TEXT])),
        asked(user([{"type": "document", "source": TEXT}])),
    ),
    "system, a system message": (
        asked(user("x"), system="s"),
        asked({"role": "system", "content": "s"}, user("x")),
    ),
    "system and a message of it, two messages": (
        asked({"role": "system", "content": "b"}, user("x"), system="a"),
        asked({"role": "system", "content": "a"}, {"role": "system", "content": "b"}, user("x")),
    ),
    "a call, a message with chat's calls": (
        asked(user("x"), assistant([USE]), user([RESULT])),
        asked(
            user("x"),
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            user([RESULT]),
        ),
    ),
    "a result, a tool message": (
        asked(user([RESULT])),
        asked({"role": "tool", "tool_call_id": "t1", "content": "r"}),
    ),
    "a result, one of a tool that failed": (
        asked(user([RESULT, TEXT])),
        asked(user([{**RESULT, "is_error": True}, TEXT])),
    ),
    "which of two failed": (
        asked(user([RESULT, {**RESULT, "is_error": True}])),
        asked(user([{**RESULT, "is_error": True}, RESULT])),
    ),
    "a call before or behind a text": (
        asked(user("x"), assistant([TEXT, USE]), user([RESULT])),
        asked(user("x"), assistant([USE, TEXT]), user([RESULT])),
    ),
    "an image as data, a URL that holds it": (
        asked(user([{"type": "image", "source": DATA}])),
        asked(user([{"type": "image", "source": {"type": "url", "url": "data:image/png;base64,aGk="}}])),
    ),
    "an image, a forged part of chat's": (
        asked(user([{"type": "image", "source": {"type": "url", "url": "https://a.example/"}}])),
        asked(user([{"type": "image_url", "image_url": {"url": "https://a.example/"}}])),
    ),
    "a wrapped block, a forged wrapper": (
        asked(user([{"type": "document", "x": 1}])),
        asked(user([{"type": "anthropic", "block": {"type": "document", "x": 1}}])),
    ),
    "a text, one with more to it": (
        asked(user([TEXT])),
        asked(user([{**TEXT, "citations": [{"type": "char_location"}]}])),
    ),
    "signed and unsigned thinking": (
        asked(
            user("x"), assistant([{"type": "thinking", "thinking": "t", "signature": "s"}, TEXT]), user("y")
        ),
        asked(
            user("x"), assistant([{"type": "thinking", "thinking": "t", "signature": ""}, TEXT]), user("y")
        ),
    ),
    "a server's tool, a client's of that name": (
        asked(user("x"), tools=[{"type": "web_search_20260318", "name": "web_search"}]),
        asked(user("x"), tools=[{"name": "web_search", "input_schema": {}}]),
    ),
    "stop, which is chat's word": (asked(user("x"), stop_sequences=["a"]), asked(user("x"), stop=["a"])),
    "tool_choice as chat has it": (asked(user("x")), asked(user("x"), tool_choice="auto")),
    "tool_choice as chat has it, beside another field": (
        asked(user("x"), top_k=5),
        asked(user("x"), top_k=5, tool_choice="auto"),
    ),
    "a forged mark": (
        asked({"role": "system", "content": "s"}, user("x")),
        asked(user("x"), system={"absent": True}),
    ),
    "a form of the answer": (
        asked(user("x"), output_config={"format": {"type": "json_schema", "schema": {"a": 1}}}),
        asked(user("x"), output_config={"format": {"type": "json_schema", "schema": {"a": 2}}}),
    ),
    "effort": (
        asked(user("x"), output_config={"effort": "low"}),
        asked(user("x"), output_config={"effort": "max"}),
    ),
    "thinking or not": (asked(user("x"), thinking={"type": "disabled"}), asked(user("x"))),
}


@pytest.mark.parametrize("pair", LOOK_ALIKES.values(), ids=LOOK_ALIKES.keys())
def test_look_alikes_differ(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert identity(pair[0]) != identity(pair[1])


SAME = {
    "a text, a block of it": (asked(user("x")), asked(user([TEXT]))),
    "system, a block of it": (
        asked(user("x"), system="s"),
        asked(user("x"), system=[{"type": "text", "text": "s"}]),
    ),
    "no system, an empty one": (asked(user("x")), asked(user("x"), system="")),
    "a custom tool by its type": (
        asked(user("x"), tools=[{"name": "f", "input_schema": {}}]),
        asked(user("x"), tools=[{"type": "custom", "name": "f", "input_schema": {}}]),
    ),
    "auto is what no choice means": (asked(user("x")), asked(user("x"), tool_choice={"type": "auto"})),
    "one form in two places": (
        asked(user("x"), output_config={"format": {"type": "json_schema", "schema": {"a": 1}}}),
        asked(user("x"), output_format={"type": "json_schema", "schema": {"a": 1}}),
    ),
    "results in a message of their own": (
        asked(user([RESULT]), user([TEXT])),
        asked(user([RESULT, TEXT])),
    ),
    "fields that an SDK fills with null": (
        asked(user("x"), assistant([{**TEXT, "citations": None}, {**USE, "caller": None}]), user([RESULT])),
        asked(user("x"), assistant([TEXT, USE]), user([RESULT])),
    ),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_what_the_api_takes_for_the_same_is_one(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert identity(pair[0]) == identity(pair[1])


def test_the_query_counts_but_for_credentials() -> None:
    assert identity(HI, b"beta=true") != identity(HI)
    assert identity(HI, b"key=secret") == identity(HI) == identity(HI, b"access_token=1&API_KEY=2")
    request = request_of(MESSAGES, HI, "/v1/messages", b"key=secret&beta=true")
    assert request.query == b"beta=true"


def test_a_change_of_the_last_text_alone_stays_in_the_namespace() -> None:
    one, other = identity(asked(user("x"), system="s")), identity(asked(user("y"), system="s"))
    assert one[0] == other[0]
    assert one[1] != other[1]
