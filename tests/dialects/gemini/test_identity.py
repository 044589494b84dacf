"""Two requests of Gemini are never taken for one, and one spelled in two ways is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from semcache.dialects.gemini.request import IRRELEVANT
from semcache.dialects.gemini.spelling import FORMS, spelled
from semcache.errors import RequestError
from tests.dialects.answers import texts
from tests.dialects.contract import leaves, mutated
from tests.dialects.gemini.natives import requests
from tests.dialects.gemini.test_requests import asked, body, config, identity
from tests.dialects.ollama.natives import plain_json, said

SPELLINGS = [
    (
        config(maxOutputTokens=5),
        {"contents": body("hi")["contents"], "generation_config": {"max_output_tokens": 5}},
    ),
    (body("hi"), {"contents": {"parts": {"text": "hi"}}}),
    (body("hi"), {"contents": [{"role": None, "parts": [{"text": "hi", "thought": None}]}], "tools": None}),
    (
        body("hi", systemInstruction={"parts": [{"text": "s"}]}),
        body("hi", system_instruction={"role": "system", "parts": {"text": "s"}}),
    ),
    (
        body("hi", tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"a_b": 1}}]}]),
        body("hi", tools={"function_declarations": {"name": "f", "parameters_json_schema": {"a_b": 1}}}),
    ),
    (
        body({"parts": [{"inlineData": {"mimeType": "image/png", "data": "Q"}}]}),
        body({"parts": [{"inline_data": {"mime_type": "image/png", "data": "Q"}}]}),
    ),
]


@pytest.mark.parametrize(("one", "other"), SPELLINGS, ids=str)
def test_both_spellings_are_one(one: Any, other: Any) -> None:
    assert identity(one) == identity(other)
    assert asked(one).body == asked(other).body
    assert asked(other).native == json.loads(json.dumps(other))


def test_names_that_users_give_are_not_respelled() -> None:
    def call(args: Any) -> dict[str, Any]:
        return body({"role": "model", "parts": [{"functionCall": {"name": "f", "args": args}}]}, "hi")

    assert identity(call({"a_b": 1})) != identity(call({"aB": 1}))
    properties = [{"type": "OBJECT", "properties": {name: {"type": "STRING"}}} for name in ("a_b", "aB")]
    tools = [
        body("hi", tools=[{"functionDeclarations": [{"name": "f", "parameters": p}]}]) for p in properties
    ]
    assert identity(tools[0]) != identity(tools[1])
    assert identity(body("hi", x_new={"a_b": 1})) != identity(body("hi", x_new={"aB": 1}))
    twice = {**config(topK=1), "generation_config": {"topK": 2}}
    assert identity(twice) != identity(config(topK=1))
    for nothing in ({}, [], ""):
        assert identity({**config(topK=1), "generation_config": nothing}) != identity(config(topK=1))
        stops = config(stopSequences=["x"], stop_sequences=nothing)
        assert identity(stops) != identity(config(stopSequences=["x"]))


def snake(value: Any, form: str) -> Any:
    """Respell every known name the other way."""
    if form.endswith("*"):
        return [snake(item, form[:-1]) for item in value] if isinstance(value, list) else value
    if not isinstance(value, dict) or not form:
        return value
    if form.endswith("%"):
        return {name: snake(item, form[:-1]) for name, item in value.items()}
    fields = FORMS[form]
    return {
        "".join("_" + c.lower() if c.isupper() and name in fields else c for c in name): snake(
            item, fields.get(name, "")
        )
        for name, item in value.items()
    }


@settings(max_examples=60)
@given(requests)
def test_any_request_may_be_spelled_both_ways(native: dict[str, Any]) -> None:
    assert spelled(snake(native, "request")) == spelled(native)
    assert identity(snake(native, "request")) == identity(native)


@settings(max_examples=80)
@given(requests, st.integers(0, 10**6))
def test_no_two_requests_are_one(native: dict[str, Any], at: int) -> None:
    places = [path for path, _ in leaves(native)]
    path = places[at % len(places)]
    other = mutated(native, path)
    assume(said(spelled(other)) != said(spelled(native)))
    assert path[0] not in IRRELEVANT
    try:
        before, after = identity(native), identity(other)
    except RequestError:
        return
    assert before != after, path


def with_roles(native: dict[str, Any]) -> Any:
    """Say that contents are a user's where nothing is said."""
    return said({**native, "contents": [{"role": "user", **one} for one in native["contents"]]})


@settings(max_examples=50)
@given(requests, requests)
def test_only_equal_requests_are_one(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name in one.keys() & other.keys():
        mixed = {**one, name: other[name]}
        if with_roles(mixed) != with_roles(one):
            assert identity(mixed) != identity(one), name


@given(texts, plain_json)
def test_any_field_that_nobody_knows_counts(name: str, value: Any) -> None:
    assume(said({name: value}))
    assert identity({**body("hi"), name: value}) != identity(body("hi"))
