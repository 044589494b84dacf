"""The official client against a real socket."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from tests.engine.conftest import Served, eventually, served_model
from tests.engine.tiny import scripted_model

ASK = {"model": "local", "messages": [{"role": "user", "content": "Hello"}]}


def test_chat(tiny_server: Served) -> None:
    with tiny_server.sdk() as client:
        answer = client.chat.completions.create(**ASK, temperature=0, max_tokens=6)
        assert answer.choices[0].message.role == "assistant"
        assert answer.usage.prompt_tokens_details.cached_tokens == 0
        assert answer.usage.completion_tokens <= 6
        assert [model.id for model in client.models.list()] == ["local", "alias"]


def test_a_stream_says_the_same_as_the_whole_and_reports_usage_last() -> None:
    with served_model(scripted_model("Many 😀 words, é and 日本語.")) as server, server.sdk() as client:
        whole = client.chat.completions.create(**ASK, temperature=0)
        chunks = list(
            client.chat.completions.create(
                **ASK, temperature=0, stream=True, stream_options={"include_usage": True}
            )
        )
    assert whole.choices[0].message.content == "Many 😀 words, é and 日本語."
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks[:-1]]
    assert "".join(texts) == whole.choices[0].message.content
    assert not any("\ufffd" in text for text in texts)
    assert "😀" in texts
    assert chunks[-1].choices == []
    told, usage = chunks[-1].usage, whole.usage
    assert (told.prompt_tokens, told.completion_tokens) == (usage.prompt_tokens, usage.completion_tokens)
    assert told.prompt_tokens_details.cached_tokens == usage.prompt_tokens - 1  # the first one computed them
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]][-1] == "stop"


def test_stop_strings() -> None:
    with served_model(scripted_model("one, two, three")) as server, server.sdk() as client:
        for stop in (", t", ["nothing", ", t"]):
            answer = client.chat.completions.create(**ASK, temperature=0, stop=stop)
            assert answer.choices[0].message.content == "one"
            assert answer.choices[0].finish_reason == "stop"


def test_several_choices_and_seeds(tiny_server: Served) -> None:
    with tiny_server.sdk() as client:

        def texts(seed: int) -> list[str | None]:
            answer = client.chat.completions.create(**ASK, n=3, seed=seed, temperature=1.5, max_tokens=10)
            assert [choice.index for choice in answer.choices] == [0, 1, 2]
            return [choice.message.content for choice in answer.choices]

        first = texts(5)
        assert first == texts(5)
        assert first != texts(6)
        assert len(set(first)) == 3


def test_a_stream_of_several_choices_says_the_same_as_the_whole(tiny_server: Served) -> None:
    with tiny_server.sdk() as client:
        asked = {**ASK, "n": 3, "seed": 3, "temperature": 1.5, "max_tokens": 10}
        whole = client.chat.completions.create(**asked)
        texts = ["", "", ""]
        for chunk in client.chat.completions.create(**asked, stream=True):
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
        assert texts == [choice.message.content for choice in whole.choices]


def test_log_probabilities(tiny_server: Served) -> None:
    with tiny_server.sdk() as client:
        answer = client.chat.completions.create(
            **ASK, temperature=0, max_tokens=5, logprobs=True, top_logprobs=3
        )
        content = answer.choices[0].logprobs.content
        assert len(content) == 5
        for token in content:
            assert len(token.top_logprobs) == 3
            assert token.logprob == token.top_logprobs[0].logprob <= 0  # greedy takes the best
            assert token.bytes == token.top_logprobs[0].bytes


def test_errors_become_the_clients_own_exceptions(tiny_server: Served) -> None:
    with tiny_server.sdk() as client:
        create = client.chat.completions.create
        with pytest.raises(openai.NotFoundError) as missing:
            create(model="gpt-9", messages=ASK["messages"])
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError) as bad:
            create(**ASK, temperature=3)
        assert bad.value.param == "temperature"
        with pytest.raises(openai.BadRequestError) as long:
            create(model="local", messages=[{"role": "user", "content": "x" * 400}])
        assert long.value.code == "context_length_exceeded"
        with pytest.raises(openai.BadRequestError) as tools:
            create(**ASK, tool_choice="required")
        assert tools.value.code == "unsupported_parameter"


def test_a_fault_inside_a_stream_is_raised() -> None:
    def before(state: list[int]) -> None:
        if len(state) > 60:
            raise RuntimeError("boom")

    with served_model(scripted_model("z" * 100, before=before)) as server, server.sdk() as client:
        stream = client.chat.completions.create(**ASK, temperature=0, stream=True)
        with pytest.raises(openai.APIError):
            list(stream)


def test_leaving_a_stream_frees_its_slot() -> None:
    with (
        served_model(scripted_model("w" * 200, before=lambda _: time.sleep(0.02))) as server,
        server.sdk() as client,
    ):
        stream = client.chat.completions.create(**ASK, temperature=0, max_tokens=180, stream=True)
        for _ in range(4):
            next(stream)
        assert server.active() == 1
        stream.close()
        eventually(lambda: server.active() == 0, seconds=1.0)


def test_eight_at_once_each_get_their_own_answer(tiny_server: Served) -> None:
    with tiny_server.sdk() as client, ThreadPoolExecutor(8) as pool:

        def answer(number: int) -> str | None:
            messages = [{"role": "user", "content": f"Question {number}"}]
            reply = client.chat.completions.create(
                model="local", messages=messages, temperature=0, max_tokens=20
            )
            return reply.choices[0].message.content

        together = list(pool.map(answer, range(8)))
        assert together == [answer(number) for number in range(8)]
        assert len(set(together)) > 1
