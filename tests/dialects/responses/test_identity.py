"""Two requests that may be answered differently are never the same request to the cache."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.core import TenantId
from semcache.dialects.request import request_of
from semcache.dialects.responses.wire import RESPONSES
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import RequestError
from tests.dialects.responses.asked import bodies, changed
from tests.dialects.responses.spelling import spelled

_PARTITION = Partition(TenantId("t"), "tenant", "", "", "up")


def identity(body: dict[str, Any], query: bytes = b"") -> str | None:
    try:
        request = request_of(RESPONSES, json.loads(json.dumps(body)), "/v1/responses", query)
    except RequestError:
        return None
    namespace = namespace_of(request, _PARTITION)
    return namespace.digest + exact_key(namespace, request)


@settings(max_examples=150)
@given(bodies, st.data())
def test_one_difference_anywhere_is_another_request(body: dict[str, Any], data: st.DataObject) -> None:
    after = data.draw(changed(body))
    before, now = identity(body), identity(after)
    assert before is not None
    if now == before:
        assert spelled(after) == spelled(body)


@settings(max_examples=100)
@given(bodies)
def test_every_field_is_told_or_kept(body: dict[str, Any]) -> None:
    told = RESPONSES.read(json.loads(json.dumps({**body, "x_vendor": {"a": 1}})), "/v1/responses", b"")
    assert told.extra["unknown"]["x_vendor"] == {"a": 1}
    assert "x_vendor" in told.unsayable
    assert json.loads(json.dumps(told.chat))["messages"]


PLAIN = {"model": "m", "input": [{"role": "user", "content": "hi"}], "store": False}
ANSWERED = [
    {"role": "user", "content": "hi"},
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "yes", "annotations": [], "logprobs": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c",
        "name": "f",
        "arguments": "{}",
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "c", "output": "1"},
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, {**PLAIN, "input": "hi"}),
        (PLAIN, {**PLAIN, "input": [{"type": "message", "role": "user", "content": "hi"}]}),
        (PLAIN, {**PLAIN, "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]}),
        (PLAIN, {**PLAIN, "store": True, "metadata": {"a": "b"}, "user": "u", "service_tier": "flex"}),
        (PLAIN, {**PLAIN, "stream": True, "stream_options": {"include_obfuscation": False}}),
        (PLAIN, {**PLAIN, "instructions": None, "tools": [], "previous_response_id": None, "include": []}),
        (PLAIN, {**PLAIN, "tool_choice": "auto"}),
        (
            {**PLAIN, "input": ANSWERED},
            {
                **PLAIN,
                "input": json.loads(json.dumps(ANSWERED).replace("msg_1", "msg_9").replace("fc_1", "fc_9")),
            },
        ),
        (
            {
                **PLAIN,
                "input": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}],
            },
            {
                **PLAIN,
                "input": [{"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "e"}],
            },
        ),
    ],
)
def test_other_spellings_are_the_same_request(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert identity(one) == identity(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({**PLAIN, "instructions": "be brief"}, {**PLAIN, "input": [{"role": "system", "content": "be brief"}, *PLAIN["input"]]}),
        ({**PLAIN, "input": [{"type": "reasoning", "id": "rs_1", "summary": []}]}, {**PLAIN, "input": [{"type": "reasoning", "id": "rs_2", "summary": []}]}),
        ({**PLAIN, "messages": []}, PLAIN),
        ({**PLAIN, "n": 1}, PLAIN),
        ({**PLAIN, "input": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}, PLAIN),
        ({**PLAIN, "tools": [{"type": "function", "name": "f"}]}, {**PLAIN, "tools": [{"type": "function", "function": {"name": "f", "strict": None}}]}),
        ({**PLAIN, "tools": [{"type": "function", "name": "f"}]}, {**PLAIN, "tools": [{"type": "function", "name": "f", "strict": False}]}),
        ({**PLAIN, "text": {"verbosity": "low"}}, {**PLAIN, "verbosity": "low"}),
        ({**PLAIN, "max_output_tokens": 5}, {**PLAIN, "max_completion_tokens": 5}),
    ],
)  # fmt: skip
def test_look_alikes_are_other_requests(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert identity(one) != identity(other)


def test_the_query_counts() -> None:
    assert identity(PLAIN, b"api-version=preview") != identity(PLAIN)


def test_depth_is_no_weapon() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = {"a": [deep]}
    assert RESPONSES.read({**PLAIN, "input": [deep]}, "/v1/responses", b"").unsayable == ("input[0]",)
