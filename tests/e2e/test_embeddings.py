"""Embeddings and text completions through the official client: equal vectors again, never a near one; old log probabilities survive."""

from __future__ import annotations

import base64
import struct
from typing import Any

import openai
import pytest

from tests.e2e.running import Proxy
from tests.fakes.upstream_server import (
    ByRequest,
    Seen,
    UpstreamServer,
    error_reply,
    json_reply,
    reply,
    sse_bytes,
)

USAGE = {"prompt_tokens": 5, "total_tokens": 5}
SCORES = {
    "tokens": ["Pa", "ris"],
    "token_logprobs": [-0.5, -1.5],
    "top_logprobs": None,
    "text_offset": [0, 2],
}


def vector(text: Any) -> list[float]:
    return [float(len(str(text))), 0.5, -0.25]


def answering(seen: Seen) -> object:
    body = seen.json()
    if seen.target == "/v1/completions":
        return completion(body)
    inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
    packed = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": number,
            "embedding": base64.b64encode(struct.pack("<3f", *vector(one))).decode()
            if packed
            else vector(one),
        }
        for number, one in enumerate(inputs)
    ]
    return json_reply({"object": "list", "data": data, "model": "m", "usage": USAGE})


def completion(body: dict[str, Any]) -> object:
    scores = SCORES if body.get("logprobs") is not None else None
    whole = {"text": "Paris", "index": 0, "logprobs": scores, "finish_reason": "stop"}
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    if not body.get("stream"):
        return json_reply({**head, "choices": [whole], "usage": usage})
    parts = [{**whole, "text": text, "finish_reason": None, "logprobs": None} for text in ("Pa", "ris")]
    chunks = [{**head, "choices": [part]} for part in parts]
    chunks.append({**head, "choices": [{**whole, "text": "", "logprobs": None}]})
    return reply(sse_bytes(chunks), headers=[("content-type", "text/event-stream")])


@pytest.fixture(autouse=True)
def scripted(upstream: UpstreamServer, counted: None) -> None:
    upstream.script = ByRequest(answering)


@pytest.fixture
def client(proxy: Proxy) -> openai.OpenAI:
    return proxy.client(max_retries=0)


def embedded(client: openai.OpenAI, text: Any, **fields: Any) -> tuple[str, Any]:
    raw = client.embeddings.with_raw_response.create(model="m", input=text, **fields)
    return raw.headers["semcache-outcome"], raw.parse()


@pytest.mark.parametrize("form", [{}, {"encoding_format": "float"}])
def test_an_equal_input_gets_the_same_vectors_and_a_near_one_its_own(
    client: openai.OpenAI, upstream: UpstreamServer, form: dict[str, Any]
) -> None:
    """The client asks for base64 unless told otherwise, and unpacks it."""
    first = embedded(client, "How do I reset my password?", **form)
    again = embedded(client, "How do I reset my password?", **form)
    assert (first[0], again[0]) == ("miss", "exact")
    assert first[1].data[0].embedding == again[1].data[0].embedding == vector("How do I reset my password?")
    assert (again[1].usage.prompt_tokens, again[1].usage.total_tokens) == (0, 0)
    assert embedded(client, "How can I reset my password?", **form)[0] == "miss"
    assert embedded(client, "How do I reset my password? ", **form)[0] == "miss"
    assert upstream.calls == 3


def test_batches_tokens_sizes_and_forms_are_kept_apart(
    client: openai.OpenAI, upstream: UpstreamServer
) -> None:
    asked: list[tuple[Any, dict[str, Any]]] = [
        ("a", {}),
        (["a", "b"], {}),
        (["b", "a"], {}),
        ([1, 2], {}),
        ([[1, 2]], {}),
        ("a", {"dimensions": 3}),
        ("a", {"encoding_format": "float"}),
    ]
    for text, fields in asked:
        assert embedded(client, text, **fields)[0] == "miss"
    for text, fields in asked:
        assert embedded(client, text, **fields)[0] == "exact"
    assert upstream.calls == len(asked)
    assert embedded(client, ["a"])[0] == "exact"


def test_errors_come_as_they_are_and_are_not_kept(client: openai.OpenAI, upstream: UpstreamServer) -> None:
    upstream.script = error_reply(429)
    with pytest.raises(openai.RateLimitError):
        client.embeddings.create(model="m", input="x")
    upstream.script = ByRequest(answering)
    assert embedded(client, "x")[0] == "miss"


def completed(client: openai.OpenAI, prompt: Any, **fields: Any) -> tuple[str, Any]:
    raw = client.completions.with_raw_response.create(model="m", prompt=prompt, **fields)
    return raw.headers["semcache-outcome"], raw.parse()


def test_completions_are_met_by_meaning_where_nothing_speaks_against_it(client: openai.OpenAI) -> None:
    assert completed(client, "What is the capital of France?")[0] == "miss"
    outcome, found = completed(client, ["What's the capital of France?"])
    assert (outcome, found.choices[0].text) == ("semantic", "Paris")
    assert completed(client, "What's the capital of France?", seed=1)[0] == "miss"
    assert completed(client, ["What is the capital of France?"] * 2)[0] == "bypass"
    assert completed(client, [1, 2, 3])[0] == "bypass"


def test_old_log_probabilities_survive_a_replay_in_both_modes(client: openai.OpenAI) -> None:
    first, again = (completed(client, "The capital of France is", logprobs=1) for _ in range(2))
    assert (first[0], again[0]) == ("miss", "exact")
    assert again[1].choices[0].logprobs.model_dump() == first[1].choices[0].logprobs.model_dump() == SCORES
    stream = client.completions.create(model="m", prompt="The capital of France is", logprobs=1, stream=True)
    told = [choice.logprobs for part in stream for choice in part.choices if choice.logprobs]
    assert [one.model_dump() for one in told] == [SCORES]


def test_a_stream_is_kept_for_both_modes(client: openai.OpenAI, upstream: UpstreamServer) -> None:
    def streamed() -> list[Any]:
        return list(client.completions.create(model="m", prompt="Name a city", stream=True))

    texts = ["".join(choice.text for part in streamed() for choice in part.choices) for _ in range(2)]
    assert texts == ["Paris", "Paris"]
    outcome, whole = completed(client, "Name a city")
    assert (outcome, whole.choices[0].text) == ("exact", "Paris")
    assert upstream.calls == 1
    assert len({part.id for part in streamed()}) == 1
