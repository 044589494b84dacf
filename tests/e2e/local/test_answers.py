"""Without an upstream the local engine answers: a real model behind the proxy, asked by the official SDK."""

from __future__ import annotations

import json
import time
from typing import Any

import openai
import psutil
import pytest
from openai.types.chat import ChatCompletionChunk

from tests.e2e.running import Proxy

LONG = "Write a very long story about a lighthouse keeper."
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


def ask(question: str) -> Any:
    return [{"role": "user", "content": question}]


def test_a_chat_is_answered_and_remembered(proxy: Proxy) -> None:
    chat = proxy.client().chat.completions
    first = chat.with_raw_response.create(model="local", messages=ask("What is rain?"), stop=".")
    answer = first.parse()
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "local"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert first.headers["semcache-outcome"] == "miss"

    began = time.monotonic()
    again = chat.with_raw_response.create(model="local", messages=ask("What is rain?"), stop=".")
    assert time.monotonic() - began < 0.5
    assert again.headers["semcache-outcome"] == "exact"
    assert again.parse().choices[0].message.content == answer.choices[0].message.content
    near = chat.with_raw_response.create(model="local", messages=ask("what's rain"), stop=".")
    assert near.headers["semcache-outcome"] in ("semantic", "miss")


def text_of(events: list[ChatCompletionChunk]) -> str:
    return "".join(event.choices[0].delta.content or "" for event in events if event.choices)


def test_a_stream_with_usage_comes_piece_by_piece(proxy: Proxy) -> None:
    def stream(**options: Any) -> list[ChatCompletionChunk]:
        stream = proxy.client().chat.completions.create(
            model="local", messages=ask("Name three colours."), stop=".", stream=True, **options
        )
        return list(stream)

    usage: Any = {"stream_options": {"include_usage": True}}
    events = stream(**usage)
    assert len(events) > 3
    assert events[0].choices[0].delta.role == "assistant"
    assert [event.choices[0].finish_reason for event in events if event.choices][-1] == "stop"
    assert events[-1].choices == []
    assert events[-1].usage is not None
    assert events[-1].usage.completion_tokens > 0
    again = stream(**usage)
    assert text_of(again) == text_of(events)
    assert again[-1].usage is not None
    assert again[-1].usage.completion_tokens == 0
    without = stream()
    assert text_of(without) == text_of(events)
    assert all(event.usage is None for event in without)
    whole = proxy.client().chat.completions.create(
        model="local", messages=ask("Name three colours."), stop="."
    )
    assert whole.choices[0].message.content == text_of(events)


def test_usage_is_counted_though_the_client_did_not_ask(proxy: Proxy) -> None:
    before = proxy.metric("semcache_tokens_total")
    stream = proxy.client().chat.completions.create(
        model="local", messages=ask("Say hello."), stream=True, max_tokens=8
    )
    assert all(event.usage is None for event in stream)
    proxy.wait_until(lambda: proxy.metric("semcache_tokens_total") > before, 5)


def test_an_answer_that_was_cut_is_not_kept(proxy: Proxy) -> None:
    for _ in range(2):
        reply = proxy.chat(LONG, model="local", max_tokens=4)
        assert reply.json()["choices"][0]["finish_reason"] == "length"
        assert reply.json()["usage"]["completion_tokens"] == 4
        assert reply.headers["semcache-outcome"] == "miss"


def test_tools_are_accepted(proxy: Proxy) -> None:
    answer = proxy.client().chat.completions.create(
        model="local",
        messages=ask("What is the weather in Paris?"),
        tools=TOOLS,
        tool_choice="auto",
        max_tokens=16,
    )
    message = answer.choices[0].message
    assert message.content or message.tool_calls


def test_models_are_listed_through_the_proxy(proxy: Proxy) -> None:
    assert [model.id for model in proxy.client().models.list()] == ["local"]
    assert proxy.client().models.retrieve("local").id == "local"
    with pytest.raises(openai.NotFoundError):
        proxy.client().models.retrieve("elsewhere")


def test_a_text_completion_is_answered_as_a_question(proxy: Proxy) -> None:
    """The engine speaks chat: the prompt is the message of a user, and its answer is shared with those who chat."""
    client = proxy.client()
    asked: dict[str, Any] = {"model": "local", "max_tokens": 40, "temperature": 0.0}
    first = client.completions.with_raw_response.create(prompt="Say hi.", **asked)
    assert first.headers["semcache-outcome"] == "miss"
    whole = first.parse()
    assert whole.object == "text_completion"
    assert whole.usage is not None
    assert whole.usage.completion_tokens > 0
    assert whole.choices[0].finish_reason == "stop"
    parts = list(client.completions.create(prompt="Say hi.", stream=True, **asked))
    assert "".join(one.text for part in parts for one in part.choices) == whole.choices[0].text
    chat = client.chat.completions.with_raw_response.create(messages=ask("Say hi."), **asked)
    assert chat.headers["semcache-outcome"] == "exact"
    assert chat.parse().choices[0].message.content == whole.choices[0].text


def test_errors_have_the_class_the_sdk_knows(proxy: Proxy) -> None:
    client = proxy.client(max_retries=0)
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-5", messages=ask("Hello?"))
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="local", messages=ask("Hello?"), max_tokens=-1)
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="local", messages=ask("word " * 20_000))
    unheard: Any = [{"role": "wizard", "content": "Hello?"}]
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="local", messages=unheard)
    with pytest.raises(openai.BadRequestError) as speechless:
        client.embeddings.create(model="local", input="x")
    assert speechless.value.param == "input"
    with pytest.raises(openai.BadRequestError) as several:
        client.completions.create(model="local", prompt=["Hello?", "Hi?"])
    assert several.value.param == "prompt"
    for reply in (proxy.chat("Hello?", model="gpt-5"), proxy.chat("Hello?", model="gpt-5")):
        assert reply.headers["semcache-outcome"] == "miss", "an error is not remembered"
        assert set(reply.json()["error"]) == {"message", "type", "param", "code"}


def test_a_client_that_leaves_sets_the_engine_free(proxy: Proxy) -> None:
    stream = proxy.client().chat.completions.create(
        model="local", messages=ask(LONG), stream=True, max_tokens=2000, temperature=0.2
    )
    for _, event in zip(range(5), stream, strict=False):
        assert event.choices
    stream.close()
    engine: psutil.Process = proxy.child("semcache engine")

    # Idle again long before two thousand tokens could have been made.
    proxy.wait_until(lambda: engine.cpu_percent(0.5) < 25, 10)
    assert proxy.outcome(LONG, model="local", max_tokens=2, temperature=0.2) == "miss"


def test_answers_at_temperature_zero_are_the_same_with_and_without_the_cache(proxy: Proxy) -> None:
    first, second = (
        proxy.chat("Why is the sky blue?", {"semcache-mode": "off"}, model="local", max_tokens=8)
        for _ in range(2)
    )
    assert first.headers["semcache-outcome"] == second.headers["semcache-outcome"] == "bypass"
    assert first.text == second.text


@pytest.mark.slow
def test_the_engine_is_restarted_and_answers_again(proxy: Proxy) -> None:
    proxy.child("semcache engine").kill()
    failed = proxy.chat("Is the engine there?", model="local", max_tokens=8)
    assert failed.status in (200, 502, 503, 504)
    if failed.status != 200:
        assert set(failed.json()["error"]) == {"message", "type", "param", "code"}
    proxy.wait_until(lambda: proxy.chat("Is it there again?", model="local", max_tokens=8).status == 200, 60)
    assert "Traceback" not in "".join(proxy.stderr)


def test_the_curl_line_it_prints_works(proxy: Proxy) -> None:
    import shlex

    line = next(line for line in proxy.stderr if line.strip().startswith("curl "))
    words = shlex.split(line)
    body = json.loads(words[words.index("-d") + 1])
    assert words[1] == f"{proxy.url}/v1/chat/completions"
    reply = proxy.request(
        "POST",
        "/v1/chat/completions",
        json.dumps({**body, "max_tokens": 8}).encode(),
        {"content-type": "application/json"},
    )
    assert reply.status == 200
