"""Gemini's requests in chat's words: what can be said, what cannot, and that two requests are never taken for one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from semcache.core import TenantId
from semcache.dialects.gemini.wire import GEMINI
from semcache.dialects.request import request_of
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import RequestError
from semcache.routing.aliases import Alias, effective
from tests.dialects.gemini.natives import SCHEMA, STREAM, WHOLE

PARTITION = Partition(TenantId("t"), "tenant", "", "", "up")


def asked(body: dict[str, Any], path: str = WHOLE, query: bytes = b"") -> Any:
    return request_of(GEMINI, json.loads(json.dumps(body)), path, query)


def body(*contents: Any, **more: Any) -> dict[str, Any]:
    turns = [{"role": "user", "parts": [{"text": one}]} if isinstance(one, str) else one for one in contents]
    return {"contents": turns, **more}


def config(**settings: Any) -> dict[str, Any]:
    return body("hi", generationConfig=settings)


def identity(native: dict[str, Any], path: str = WHOLE, query: bytes = b"") -> str:
    request = asked(native, path, query)
    namespace = namespace_of(request, PARTITION)
    return namespace.digest + exact_key(namespace, request)


def test_model_and_way_of_answering_stand_in_the_path() -> None:
    for path, query, stream in ((WHOLE, b"", False), (STREAM, b"alt=sse", True), (STREAM, b"", True)):
        request = asked(body("hi"), path, query)
        assert (request.model, request.stream, request.include_usage) == ("gemini-3-flash", stream, stream)
        assert (request.prompt, request.exact_only, request.uncacheable) == ("hi", None, None)
        assert (request.path, request.unsayable, request.extra) == (path, (), {})
        assert identity(body("hi"), path, query) == identity(body("hi"))
    assert identity(body("hi"), WHOLE.replace("flash", "pro")) != identity(body("hi"))


def test_keys_in_the_query_go_nowhere_and_other_parameters_count() -> None:
    request = asked(body("hi"), STREAM, b"key=sk-1&alt=sse&access_token=t&k%65y=sk-2&prettyPrint=true")
    assert request.query == b"alt=sse&prettyPrint=true"
    assert request.unsayable == ()
    masked = asked(body("hi"), WHOLE, b"fields=candidates&key=1")
    assert (masked.query, masked.unsayable) == (b"fields=candidates", ("query.fields",))
    assert identity(body("hi"), WHOLE, b"fields=candidates") != identity(body("hi"))
    assert identity(body("hi"), WHOLE, b"fields=a") != identity(body("hi"), WHOLE, b"fields=b")
    assert identity(body("hi"), WHOLE, b"key=1") == identity(body("hi"), WHOLE, b"key=2")


@pytest.mark.parametrize("name", ["gemini-3-flash", "gemini%2D3%2dflash", "%67emini-3-flash"])
def test_an_alias_is_found_however_a_path_spells_it(name: str) -> None:
    """Else the model that a client named would answer under the name, and in the cache, of the one that is meant."""
    request = asked(body("hi"), f"/v1beta/models/{name}:generateContent")
    assert request.path == WHOLE
    told, _ = effective(request, {"gemini-3-flash": Alias("gemini-2-mini")})
    assert (told.model, told.path) == ("gemini-2-mini", "/v1beta/models/gemini-2-mini:generateContent")


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_versions_of_the_api_may_answer_differently(version: str) -> None:
    path = WHOLE.replace("v1beta", version)
    assert asked(body("hi"), path).path == path
    assert identity(body("hi"), path) != identity(body("hi"))
    assert asked(body("hi"), path).unsayable == ()


def test_settings_have_chats_words() -> None:
    request = asked(
        config(
            temperature=0.2, topP=0.9, maxOutputTokens=50, stopSequences=["a"], candidateCount=2, seed=7,
            presencePenalty=1, frequencyPenalty=0.5, thinkingConfig={"thinkingLevel": "LOW"},
            responseLogprobs=True, logprobs=3,
        )
    )  # fmt: skip
    told = {name: value for name, value in request.body.items() if name not in ("model", "messages")}
    assert told == {
        "temperature": 0.2, "top_p": 0.9, "max_tokens": 50, "stop": ["a"], "n": 2, "seed": 7,
        "presence_penalty": 1, "frequency_penalty": 0.5, "reasoning_effort": "low", "logprobs": True,
        "top_logprobs": 3,
    }  # fmt: skip
    assert (request.temperature, request.unsayable, request.extra) == (0.2, (), {})


def test_numbers_may_be_texts() -> None:
    assert asked(config(temperature="0.5")).temperature == 0.5
    for wrong in ("hot", True, "NaN", "Infinity", [1]):
        with pytest.raises(RequestError) as caught:
            asked(config(temperature=wrong))
        assert caught.value.param == "generationConfig.temperature"


@pytest.mark.parametrize(
    ("native", "names"),
    [
        (config(topK=5), ["generationConfig.topK"]),
        (config(mediaResolution="MEDIA_RESOLUTION_LOW"), ["generationConfig.mediaResolution"]),
        (config(responseModalities=["IMAGE"]), ["generationConfig.responseModalities"]),
        (config(thinkingConfig={"thinkingBudget": 5}), ["generationConfig.thinkingConfig.thinkingBudget"]),
        (config(responseMimeType="text/x.enum"), ["generationConfig.responseMimeType"]),
        (config(responseSchema=SCHEMA), ["generationConfig.responseSchema"]),
        (config(x_new=1), ["generationConfig.x_new"]),
        (config(maxOutputTokens="5"), ["generationConfig.maxOutputTokens"]),
        (body("hi", generationConfig=5), ["generationConfig"]),
        (body("hi", tools=[{"googleSearch": {}}]), ["tools[0].googleSearch"]),
        (body("hi", tools=[{"codeExecution": {}}]), ["tools[0].codeExecution"]),
        (
            body("hi", tools=[{"functionDeclarations": [{"name": "f", "behavior": "NON_BLOCKING"}]}]),
            ["tools[0].functionDeclarations.behavior"],
        ),
        (body("hi", toolConfig={"functionCallingConfig": {"mode": "VALIDATED"}}), ["toolConfig"]),
        (body("hi", safetySettings=[{"category": "X", "threshold": "BLOCK_ONLY_HIGH"}]), ["safetySettings"]),
        (body("hi", cachedContent="cachedContents/1"), ["cachedContent"]),
        (body("hi", systemInstruction="text"), ["systemInstruction"]),
        (body("hi", x_new=1), ["x_new"]),
        (body("hi", model="models/other"), ["model"]),
        (
            body({"role": "user", "parts": [{"fileData": {"fileUri": "u"}}]}),
            ["contents[0].parts[0].fileData"],
        ),
        (
            body({"role": "user", "parts": [{"text": "a", "videoMetadata": {}}]}),
            ["contents[0].parts[0].videoMetadata"],
        ),
        (body({"role": "robot", "parts": [{"text": "a"}]}), ["contents[0].role"]),
    ],
    ids=str,
)
def test_what_a_chat_model_cannot_be_told_is_named_and_counts(native: Any, names: list[str]) -> None:
    assert list(asked(native).unsayable) == names
    assert identity(native) != identity(body("hi"))


@pytest.mark.parametrize(
    "native",
    [
        config(thinkingConfig={"thinkingBudget": -1}),
        config(thinkingConfig={"includeThoughts": True}),
        config(responseModalities=["TEXT"]),
        config(responseMimeType="text/plain"),
        body("hi", safetySettings=[{"category": "X", "threshold": "BLOCK_NONE"}]),
        body(
            "hi", tools=[{"functionDeclarations": [{"name": "f", "responseJsonSchema": {"type": "string"}}]}]
        ),
    ],
    ids=str,
)
def test_what_a_chat_model_does_anyway_counts_but_is_not_lost(native: Any) -> None:
    assert asked(native).unsayable == ()
    assert identity(native) != identity(body("hi"))


@pytest.mark.parametrize(
    "more",
    [
        {"labels": {"team": "a"}},
        {"serviceTier": "flex"},
        {"service_tier": "flex"},
        {"store": True},
        {"tools": []},
        {"generationConfig": {}},
        {"generationConfig": {"topK": None}},
        {"model": "models/gemini-3-flash"},
    ],
    ids=str,
)
def test_what_says_nothing_changes_nothing(more: dict[str, Any]) -> None:
    assert asked(body("hi", **more)).unsayable == ()
    assert identity(body("hi", **more)) == identity(body("hi"))


@pytest.mark.parametrize(
    ("native", "exact_only", "uncacheable"),
    [
        (body("hi", tools=[{"functionDeclarations": [{"name": "f"}]}]), "tools", None),
        (body("hi", tools=[{"codeExecution": {}}]), "tools", None),
        (body("hi", tools=[{"google_search": {}}]), "web-search", None),
        (body("hi", tools=[{"urlContext": {}}, {"codeExecution": {}}]), "web-search", None),
        (body("hi", tools=[{"fileSearch": {}}]), "tools", "stateful"),
        (body("hi", tools=[{"mcpServers": []}]), "tools", "mcp"),
        (body("hi", tools=[{"xNew": {}}]), "tools", "stateful"),
        (body("hi", cached_content="c"), None, "stateful"),
        (config(seed=1), "seed", None),
        (config(candidateCount=2), "n", None),
        (config(responseLogprobs=True), "logprobs", None),
        (
            body({"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "Q"}}]}),
            "media",
            None,
        ),
        (
            body({"role": "user", "parts": [{"text": "a"}, {"file_data": {"file_uri": "u"}}]}),
            "media",
            "file-id",
        ),
        (body("hi", {"role": "model", "parts": [{"text": "a"}]}), "not-user-text", None),
    ],
    ids=str,
)
def test_what_is_not_plainly_text_closes_the_cache(
    native: Any, exact_only: str | None, uncacheable: str | None
) -> None:
    request = asked(native)
    assert (request.exact_only, request.uncacheable) == (exact_only, uncacheable)


def test_a_conversation_with_tools_is_told_in_full() -> None:
    request = asked(
        body(
            "weather?",
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"text": "Let me see."},
                    {"functionCall": {"name": "f", "args": {"a": "雪"}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "own", "name": "g"}},
                ],
            },
            {
                "role": "function",
                "parts": [
                    {"functionResponse": {"name": "g", "response": {"output": "sunny"}}},
                    {"functionResponse": {"name": "f", "response": {"t": 1}}},
                    {"text": "well?"},
                ],
            },
        )
    )
    assert request.unsayable == ()
    asks, calls, second, first, last = request.body["messages"]
    assert asks == {"role": "user", "content": "weather?"}
    assert (calls["content"], calls["reasoning_content"]) == ("Let me see.", "hm")
    assert [call["id"] for call in calls["tool_calls"]] == ["call_0", "own"]
    assert json.loads(calls["tool_calls"][0]["function"]["arguments"]) == {"a": "雪"}
    assert second == {"role": "tool", "tool_call_id": "own", "content": "sunny"}
    assert first == {"role": "tool", "tool_call_id": "call_0", "content": '{"t":1}'}
    assert last == {"role": "user", "content": [{"type": "text", "text": "well?"}]}


def test_schemas_become_json_schema() -> None:
    native = body(
        "hi",
        tools=[{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}],
        generationConfig={
            "responseMimeType": "application/json",
            "responseSchema": {
                "type": "ARRAY",
                "minItems": "2",
                "items": {"anyOf": [{"type": "STRING", "enum": ["a"]}]},
                "propertyOrdering": ["a"],
            },
        },
    )
    request = asked(native)
    assert request.unsayable == ()
    assert request.body["tools"][0]["function"]["parameters"] == {
        "type": "object",
        "properties": {"max_items": {"type": ["string", "null"]}},
    }
    assert request.body["response_format"]["json_schema"]["schema"] == {
        "type": "array",
        "minItems": 2,
        "items": {"anyOf": [{"type": "string", "enum": ["a"]}]},
    }


@pytest.mark.parametrize(
    ("native", "param"),
    [
        ({}, "contents"),
        ({"contents": []}, "contents"),
        ({"contents": "hi"}, "contents"),
        ({"contents": ["hi"]}, "contents[0]"),
    ],
)
def test_what_the_cache_relies_on_is_checked(native: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        asked(native)
    assert caught.value.param == param


def test_texts_in_other_parts_are_other_texts() -> None:
    def parts(*texts: str) -> dict[str, Any]:
        return body({"role": "user", "parts": [{"text": text} for text in texts]})

    assert identity(parts("a\nb", "c")) != identity(parts("a", "b\nc"))
    assert identity(parts("a", "b")) != identity(parts("a\nb"))
    assert asked(parts("a", "b")).prompt == "a\nb"


def test_deep_schemas_do_no_harm() -> None:
    schema: dict[str, Any] = {"type": "STRING"}
    for _ in range(100):
        schema = {"type": "ARRAY", "items": schema}
    assert asked(config(responseMimeType="application/json", responseSchema=schema)).unsayable == ()


def test_a_warmer_whole_answer_keeps_the_spelling_of_its_config() -> None:
    for name in ("generationConfig", "generation_config"):
        request = asked({**body("hi"), name: {"seed": 1, "topK": 3}}, STREAM, b"alt=sse&fields=a")
        again = GEMINI.unstreamed(request, 0.7)
        assert again.native == {**body("hi"), name: {"topK": 3, "temperature": 0.7}}
        assert (again.path, again.query, again.body["temperature"]) == (WHOLE, b"fields=a", 0.7)
