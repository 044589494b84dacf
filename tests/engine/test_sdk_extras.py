"""The official client, the real model and the paged engine: forms, predictions, reuse between owners."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from semcache.engine.chat import ChatTemplate
from semcache.engine.constrain import Forms
from semcache.engine.model.loading import Settings, load_model
from semcache.engine.scheduling.runner import PagedRunner
from semcache.engine.service import Defaults, Engine
from tests.engine.conftest import Served, served


@pytest.fixture(scope="module")
def server(real_folder: Path) -> Iterator[Served]:
    model = load_model(real_folder, Settings(kv_bytes=256 << 20), lambda _: None)

    def load(stage: Callable[[str], None]) -> Engine:
        return Engine(
            template=ChatTemplate(model.tokenizer),
            runner=PagedRunner(model),
            context=model.context,
            vocabulary_size=model.vocabulary_size,
            fingerprint=model.fingerprint,
            defaults=Defaults(),
            forms=Forms(model.tokenizer, model.vocabulary_size, model.ends),
        )

    with served(load) as found:
        found.wait_ready()
        yield found


@pytest.fixture(scope="module")
def client(server: Served) -> Iterator[openai.OpenAI]:
    with server.sdk(timeout=120.0) as found:
        yield found


def heavy(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


CAT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 30},
        "wild": {"type": "boolean"},
    },
    "required": ["name", "age", "wild"],
    "additionalProperties": False,
}
CAT_FORMAT = {"type": "json_schema", "json_schema": {"name": "cat", "schema": CAT, "strict": True}}


@pytest.mark.parametrize("temperature", [heavy(0.0), 1.0, heavy(2.0)])
def test_json_mode_gives_json_whatever_the_temperature(client: openai.OpenAI, temperature: float) -> None:
    answer = client.chat.completions.create(
        model="local",
        messages=user("Describe a cat."),  # the word need not be in it
        response_format={"type": "json_object"},
        temperature=temperature,
        seed=3,
        n=3,
        max_tokens=24,
    )
    for choice in answer.choices:
        text = choice.message.content or ""
        assert text.lstrip().startswith("{")
        if choice.finish_reason == "stop":
            assert isinstance(json.loads(text), dict)


@pytest.mark.parametrize("temperature", [0.0, heavy(2.0)])
def test_a_schema_is_kept_to_in_a_stream_and_as_a_whole(client: openai.OpenAI, temperature: float) -> None:
    asked: dict[str, Any] = {
        "model": "local",
        "messages": user("Give me a cat as JSON."),
        "response_format": CAT_FORMAT,
        "temperature": temperature,
        "seed": 11,
        "max_tokens": 200,
        "n": 2,
    }
    whole = client.chat.completions.create(**asked)
    texts = ["", ""]
    for chunk in client.chat.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == [choice.message.content for choice in whole.choices]
    for choice in whole.choices:
        cat = json.loads(choice.message.content or "")
        assert choice.finish_reason == "stop"
        assert list(cat) == ["name", "age", "wild"]
        assert len(cat["name"]) <= 8
        assert 0 <= cat["age"] <= 30
        assert isinstance(cat["wild"], bool)


def test_an_answer_cut_in_its_form_says_so(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="local", messages=user("A cat"), response_format=CAT_FORMAT, max_tokens=3, temperature=0
    )
    assert answer.choices[0].finish_reason == "length"


def test_a_schema_that_cannot_be_kept_to_is_a_bad_request(client: openai.OpenAI) -> None:
    hostile = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#/secret"}}}
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="local", messages=user("x"), response_format=hostile)
    assert refused.value.param == "response_format"
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("temperature", "form"),
    [(0.0, None), heavy(1.0, None), heavy(0.0, CAT_FORMAT), heavy(1.0, CAT_FORMAT)],
    ids=["greedy text", "text", "greedy schema", "schema"],
)
def test_a_prediction_changes_the_cost_and_not_the_answer(
    client: openai.OpenAI, temperature: float, form: dict[str, Any] | None
) -> None:
    asked: dict[str, Any] = {
        "model": "local",
        "messages": user("Name three colours of cats."),
        "temperature": temperature,
        "seed": 5,
        "max_tokens": 16,
    }
    if form:
        asked["response_format"] = form
    plain = client.chat.completions.create(**asked)
    text = plain.choices[0].message.content or ""
    right = client.chat.completions.create(**asked, prediction={"type": "content", "content": text})
    parts = [{"type": "text", "text": "Something "}, {"type": "text", "text": "else entirely. " * 40}]
    wrong = client.chat.completions.create(**asked, prediction={"type": "content", "content": parts})
    for answer in (right, wrong):
        assert answer.choices[0].message.content == text
    details = right.usage.completion_tokens_details
    assert details.accepted_prediction_tokens > 0.5 * right.usage.completion_tokens
    assert wrong.usage.completion_tokens_details.accepted_prediction_tokens <= 3
    assert plain.usage.completion_tokens_details.accepted_prediction_tokens == 0
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(**asked, n=2, prediction={"type": "content", "content": text})
    assert refused.value.param == "prediction"


def test_owners_share_the_public_head_and_nothing_else(client: openai.OpenAI, server: Served) -> None:
    system = {"role": "system", "content": "You know everything about cats. " * 12}
    private = "This is between the two of us: the cat is called Minka. " * 6

    def ask(tenant: str, user_key: str | None = None) -> dict[str, Any]:
        who = {"tenant": tenant, "user": user_key, "public_messages": 1}
        answer = client.chat.completions.create(
            model="local",
            messages=[system, *user(private)],
            max_tokens=1,
            extra_body={"prefix_cache": who},
        )
        found = answer.model_dump()["prefix"]
        assert found["cached_tokens"] == answer.usage.prompt_tokens_details.cached_tokens
        return {**found, "prompt": answer.usage.prompt_tokens}

    first = ask("acme")
    again = ask("acme")
    other = ask("globex")
    person = ask("acme", "ann")
    assert first["cached_tokens"] == 0
    assert again["cached_tokens"] == again["prompt"] - 1
    public = again["public_tokens"]
    assert 50 < public < again["prompt"]
    for found in (other, person):
        assert (found["cached_tokens"], found["public_tokens"]) == (public, public)
    assert again["digest"] != other["digest"]
    assert server.get("/v1/prefix").json()["report"]["cached"] > 0


def test_a_warmed_head_is_found_by_the_first_request(client: openai.OpenAI, server: Served) -> None:
    import httpx

    head = [{"role": "system", "content": "You sell boats, and only boats. " * 10}]
    who = {"prefix_cache": {"tenant": "t", "public_messages": 1}}
    asked = {"model": "local", "messages": head, **who}
    warmed = httpx.post(f"{server.url}/v1/prefix/warm", json=asked, timeout=60).json()
    assert warmed["computed"] > 50
    assert warmed["computed"] + warmed["cached"] == warmed["tokens"]
    twice = httpx.post(f"{server.url}/v1/prefix/warm", json=asked, timeout=60).json()
    assert twice["computed"] <= 1
    answer = client.chat.completions.create(
        model="local", messages=[*head, *user("Boat?")], max_tokens=1, extra_body=who
    )
    assert answer.usage.prompt_tokens_details.cached_tokens == warmed["tokens"]
