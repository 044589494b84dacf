"""Clients of other protocols at an upstream that speaks chat only, and at one that speaks theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from semcache.core import Completion
from semcache.dialects.table import BY_NAME
from tests.e2e.running import Proxy, Reply, running
from tests.fakes.upstream_server import (
    ByRequest,
    Seen,
    UpstreamServer,
    chat_body,
    chat_chunks,
    chat_json,
    cut,
    error_reply,
    in_thread,
    json_reply,
    reply,
    sse_bytes,
    sse_events,
)

JSON = {"content-type": "application/json"}


def ask(proxy: Proxy, path: str, body: dict[str, Any], **headers: str) -> Reply:
    own = {"semcache-namespace": proxy.namespace, "authorization": "Bearer sk-test"}
    return proxy.request("POST", path, json.dumps(body).encode(), {**JSON, **own, **headers})


def ollama(question: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": question}], **more}


def lines(got: Reply) -> list[dict[str, Any]]:
    return [json.loads(line) for line in got.body.splitlines()]


def said(got: Reply) -> str:
    return "".join(line["message"]["content"] for line in lines(got))


# -- an upstream that speaks chat -----------------------------------------------------------


def test_another_protocol_shares_answers_with_chat(proxy: Proxy, upstream: UpstreamServer) -> None:
    question = "What is the capital of France?"
    first = ask(proxy, "/api/chat", ollama(question))
    assert first.headers["content-type"] == "application/x-ndjson"
    assert first.headers["semcache-outcome"] == "miss"
    assert said(first) == f"Answer to: {question}"
    assert (lines(first)[-1]["done"], lines(first)[-1]["done_reason"]) == (True, "stop")
    whole = ask(proxy, "/api/chat", ollama(question, stream=False))
    assert whole.headers["semcache-outcome"] == "exact"
    assert whole.json()["message"]["content"] == f"Answer to: {question}"
    chat = proxy.client().chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    assert chat.choices[0].message.content == f"Answer to: {question}"
    near = ask(proxy, "/api/chat", ollama("What's the capital of France?", stream=False))
    assert near.headers["semcache-outcome"] == "semantic"
    assert upstream.calls == 1
    assert upstream.requests[0].target == "/v1/chat/completions"
    assert upstream.requests[0].json()["messages"] == [{"role": "user", "content": question}]


def test_what_the_upstream_cannot_be_told_is_refused_by_name(proxy: Proxy, upstream: UpstreamServer) -> None:
    got = ask(proxy, "/api/chat", ollama("Hello?", options={"mirostat": 2}))
    assert got.status == 400
    assert "mirostat" in got.json()["error"]
    assert upstream.calls == 0


@pytest.mark.parametrize(("status", "error"), [(429, error_reply(429)), (500, error_reply(500))])
def test_errors_of_the_upstream_come_in_the_clients_shape(
    proxy: Proxy, upstream: UpstreamServer, status: int, error: Any
) -> None:
    upstream.script = error
    got = ask(proxy, "/api/chat", ollama(f"Why {status}?"))
    assert got.status == status
    assert isinstance(got.json()["error"], str)


def test_requests_have_a_name_where_the_clients_library_looks_for_it(proxy: Proxy) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Who am I?"}]}
    miss, hit = ask(proxy, "/v1/messages", body), ask(proxy, "/v1/messages", body)
    stream = ask(proxy, "/v1/messages", {**body, "stream": True})
    error = ask(proxy, "/v1/messages", {**body, "messages": 5})
    assert [got.headers.get("semcache-outcome") for got in (miss, hit, stream)] == ["miss", "exact", "exact"]
    for got in (miss, hit, stream, error):
        assert got.headers["request-id"] == got.headers["x-request-id"]
    assert "request-id" not in ask(proxy, "/v1/chat/completions", body).headers


def test_our_own_errors_do_as_well(proxy: Proxy) -> None:
    got = ask(proxy, "/api/chat", {"model": "m", "messages": "none"})
    assert got.status == 400
    assert "messages" in got.json()["error"]
    unknown = proxy.request("GET", "/api/tags", headers={"semcache-upstream": "nobody"})
    assert (unknown.status, list(unknown.json())) == (400, ["error"])


def test_programs_made_for_ollama_find_their_model(proxy: Proxy, upstream: UpstreamServer) -> None:
    """They look at it and load it before they say anything, in their own words."""
    assert (proxy.request("HEAD", "/").status, proxy.request("HEAD", "/").body) == (200, b"")
    listed = {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "o"}]}
    upstream.script = json_reply(listed)
    shown = ask(proxy, "/api/show", {"model": "m"})
    assert (shown.status, shown.json()["capabilities"]) == (200, ["completion", "tools"])
    assert ask(proxy, "/api/show", {"model": "none"}).status == 404
    assert proxy.request("GET", "/api/ps").json() == {"models": []}
    calls = len(upstream.requests)
    for path, body in (("/api/generate", {"prompt": ""}), ("/api/chat", {"messages": [], "keep_alive": 0})):
        got = ask(proxy, path, {"model": "m", **body})
        assert (got.status, got.json()["done"]) == (200, True)
    record = proxy.records()[-1]
    assert (record["outcome"], record["reason"]) == ("bypass", "load")
    assert len(upstream.requests) == calls


def test_a_stream_that_breaks_off_ends_in_an_error_of_the_clients_protocol(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    begun = sse_bytes(
        [{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Half"}}]}],
        done=False,
    )
    upstream.script = cut(begun)
    got = ask(proxy, "/api/chat", ollama("Tell me all of it"))
    assert got.status == 200
    assert "error" in lines(got)[-1]
    again = ask(proxy, "/api/chat", ollama("Tell me all of it"))
    assert again.headers["semcache-outcome"] == "miss"


GEMINI = "/v1beta/models/m:streamGenerateContent"
HALF = [{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Half"}}]}]


def gemini(question: str) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": question}]}]}


@pytest.mark.parametrize(
    "begun", [b"", sse_bytes(HALF, done=False), sse_bytes(HALF)], ids=["", "half", "no end"]
)
def test_an_array_that_breaks_off_is_one_and_ends_in_an_error(
    proxy: Proxy, upstream: UpstreamServer, begun: bytes
) -> None:
    upstream.script = cut(begun)
    got = ask(proxy, GEMINI, gemini("Tell me all of it"))
    assert (got.status, "error" in got.json()[-1]) == (200, True)
    assert ask(proxy, GEMINI, gemini("Tell me all of it")).headers["semcache-outcome"] == "miss"


def test_half_an_event_does_not_hide_the_error_behind_it(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = cut(sse_bytes(HALF, done=False) + b'data: {"choices": [{"ind')
    got = proxy.chat("Tell me all of it", stream=True)
    data = [line.removeprefix(b"data: ") for line in got.body.splitlines() if line]
    assert [list(json.loads(one)) for one in data] == [["object", "choices"], ["error"]]


def test_a_client_that_wants_a_stream_gets_one_from_an_upstream_that_has_none(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    upstream.script = chat_json("Whole.")
    got = ask(proxy, "/api/chat", ollama("In one piece?"))
    assert (got.headers["content-type"], said(got)) == ("application/x-ndjson", "Whole.")
    assert "content-length" not in got.headers
    array = ask(proxy, GEMINI, gemini("And as an array?"))
    assert [part["candidates"][0]["content"]["parts"][0]["text"] for part in array.json()] == ["Whole.", ""]


LIMIT = {
    "/v1/chat/completions": ("openai.chat", {"max_tokens": 50}),
    "/v1/messages": ("anthropic.messages", {"max_tokens": 50}),
    "/api/chat": ("ollama.chat", {"options": {"num_predict": 50}}),
    "/api/generate": ("ollama.generate", {"options": {"num_predict": 50}}),
    "/v1beta/models/m:generateContent": ("gemini.generate", {"generationConfig": {"maxOutputTokens": 50}}),
    f"{GEMINI}?alt=sse": ("gemini.generate", {"generationConfig": {"maxOutputTokens": 50}}),
    GEMINI: ("gemini.generate", {"generationConfig": {"maxOutputTokens": 50}}),
}


def crowd(question: str) -> list[tuple[str, dict[str, Any], bool]]:
    """Give the same question in every dialect and wire mode: path, body, whether it streams."""
    found: list[tuple[str, dict[str, Any], bool]] = []
    for path, (_, limit) in LIMIT.items():
        if "models" in path:
            found.append((path, {**gemini(question), **limit}, "stream" in path))
            continue
        said = {"prompt": question} if path.endswith("generate") else ollama(question)
        found += [
            (path, {"model": "m", **said, **limit, "stream": stream}, stream) for stream in (True, False)
        ]
    return found


@pytest.mark.event(19)
def test_a_thousand_who_ask_the_same_in_all_dialects_share_their_calls(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    text = "Good day, 雪."
    chunks = [sse_bytes([chunk], done=False) for chunk in chat_chunks(("Good ", "day, ", "雪."))]

    def slowly(seen: Seen) -> object:
        if seen.json().get("stream"):
            return sse_events([*chunks, b"data: [DONE]\n\n"], pause=0.2)
        return chat_json(text, delay=1.0)

    upstream.script = ByRequest(slowly)
    everybody = crowd("Who says what to whom?")
    jobs = [everybody[number % len(everybody)] for number in range(1000)]
    with ThreadPoolExecutor(150) as pool:
        replies = list(pool.map(lambda job: ask(proxy, job[0], job[1]), jobs))
    # A stream that tells its usage cannot be had from one that does not, nor the other way round.
    assert upstream.calls == 2
    for (path, _, streams), got in zip(jobs, replies, strict=True):
        dialect = BY_NAME[LIMIT[path][0]]
        assembler = dialect.assembler(got.headers["content-type"].partition(";")[0])
        assert assembler is not None
        assembler.feed(got.body)
        found = assembler.finish()
        assert isinstance(found, Completion), (path, got.body)
        assert json.loads(found.body)["choices"][0]["message"]["content"] == text
        assert ("content-length" in got.headers) is not streams
        array = path == GEMINI
        kind = b"application/json" if array or not streams else dialect.stream_type.partition(b";")[0]
        assert got.headers["content-type"].partition(";")[0] == kind.decode()


def test_who_waits_for_an_answer_that_is_cut_short_makes_a_call_of_its_own(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    """What is only for its own caller is no answer for another wire mode."""

    def cut_short(seen: Seen) -> object:
        if not seen.json().get("stream"):
            return json_reply(chat_body("Half", finish_reason="length"))
        chunks = chat_chunks(["Half"], finish="length")
        return sse_events([*(sse_bytes([chunk], done=False) for chunk in chunks), sse_bytes([])], pause=0.2)

    upstream.script = ByRequest(cut_short)
    everybody = [one for one in crowd("How does it end?") if one[0] != "/v1/chat/completions"]
    with ThreadPoolExecutor(len(everybody)) as pool:
        replies = list(pool.map(lambda job: ask(proxy, job[0], job[1]), everybody))
    for (path, _, _), got in zip(everybody, replies, strict=True):
        assert (got.status, got.headers["semcache-outcome"]) == (200, "miss"), got.body
        assert b"Half" in got.body, path
        assert b"error" not in got.body
    whole = proxy.client().chat.completions.create(
        model="m", max_tokens=50, messages=[{"role": "user", "content": "How does it end?"}]
    )
    assert whole.choices[0].finish_reason == "length"


def test_an_answer_that_is_none_is_an_error(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = reply(b"<html>", headers=[("content-type", "text/html")])
    got = ask(proxy, "/api/chat", ollama("Is it HTML?", stream=False))
    assert (got.status, list(got.json())) == (502, ["error"])


# -- an upstream that speaks the client's protocol ------------------------------------------


def _native(seen: Seen) -> object:
    if seen.target == "/v1/completions":
        body = seen.json()
        choice = {"index": 0, "text": f"after {body['prompt']}", "finish_reason": "stop", "logprobs": None}
        usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
        return json_reply(
            {
                "id": "cmpl-1",
                "object": "text_completion",
                "created": 1,
                "model": "m",
                "choices": [choice],
                "usage": usage,
            }
        )
    return json_reply({"path": seen.target})


def test_text_completions_are_cached_in_their_own_words(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = ByRequest(_native)
    client = proxy.client()
    first = client.completions.create(model="m", prompt="once upon")
    again = client.completions.with_raw_response.create(model="m", prompt="once upon")
    assert first.choices[0].text == again.parse().choices[0].text == "after once upon"
    assert again.headers["semcache-outcome"] == "exact"
    explained = ask(proxy, "/semcache/explain?path=/v1/completions", {"model": "m", "prompt": "once upon"})
    assert explained.json()["decision"] == "hit"
    nowhere = ask(proxy, "/semcache/explain?path=/v1/files", {"model": "m"})
    assert (nowhere.status, "/v1/messages" in nowhere.body.decode()) == (400, True)
    stream = client.completions.create(model="m", prompt="once upon", stream=True)
    assert "".join(part.choices[0].text for part in stream if part.choices) == "after once upon"
    assert upstream.calls == 1
    echoed = client.completions.with_raw_response.create(model="m", prompt="once upon", echo=True)
    assert echoed.headers["semcache-outcome"] == "bypass"


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, UpstreamServer]]:
    folder = tmp_path_factory.mktemp("spoken")

    def answer(seen: Seen) -> object:
        body = seen.json()
        done = {
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 5,
            "eval_count": 6,
            "total_duration": 9,
        }
        said = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
        if body.get("stream", True):
            parts = [
                {**said, "message": {"role": "assistant", "content": word}, "done": False}
                for word in ("Na", "tive")
            ]
            parts.append({**said, "message": {"role": "assistant", "content": ""}, **done})
            data = b"".join(json.dumps(part).encode() + b"\n" for part in parts)
            return reply(data, headers=[("content-type", "application/x-ndjson")])
        return json_reply({**said, "message": {"role": "assistant", "content": "Native"}, **done})

    with in_thread(ByRequest(answer)) as server:
        config = folder / "semcache.yaml"
        config.write_text(
            json.dumps(
                {
                    "upstreams": {
                        "home": {
                            "base_url": server.url.removesuffix("/v1"),
                            "protocol": "ollama",
                            "speaks": ["ollama.chat"],
                        }
                    }
                }
            )
        )
        with running(folder / "data", "--config", str(config)) as started:
            yield started, server


def test_its_own_words_go_up_and_its_bytes_come_back(spoken: tuple[Proxy, UpstreamServer]) -> None:
    proxy, server = spoken
    server.requests.clear()
    body = ollama("Do you speak it?", options={"mirostat": 2}, keep_alive="5m")
    first = ask(proxy, "/api/chat", body)
    assert said(first) == "Native"
    assert first.body.count(b"\n") == 3
    assert server.requests[0].json() == body
    assert server.requests[0].target == "/api/chat"
    again = ask(proxy, "/api/chat", body)
    assert again.headers["semcache-outcome"] == "exact"
    assert said(again) == "Native"
    whole = ask(proxy, "/api/chat", {**body, "stream": False})
    assert (whole.headers["semcache-outcome"], whole.json()["message"]["content"]) == ("exact", "Native")
    assert len(server.requests) == 1


def test_chat_clients_are_understood_there_too(spoken: tuple[Proxy, UpstreamServer]) -> None:
    proxy, server = spoken
    server.requests.clear()
    client = proxy.client()
    question: Any = [{"role": "user", "content": "Do you speak chat?"}]
    first = client.chat.completions.create(model="m", messages=question)
    assert first.choices[0].message.content == "Native"
    assert first.usage is not None
    assert first.usage.prompt_tokens == 5
    assert server.requests[0].target == "/api/chat"
    stream = client.chat.completions.create(model="m", messages=question, stream=True)
    assert "".join(part.choices[0].delta.content or "" for part in stream if part.choices) == "Native"
    live = client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "And live?"}], stream=True
    )
    assert "".join(part.choices[0].delta.content or "" for part in live if part.choices) == "Native"
    assert len(server.requests) == 2
