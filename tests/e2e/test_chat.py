"""A stock client talks to the proxy: answers, repeats, streams, tools, errors, retries."""

from __future__ import annotations

import json
import threading
import time

import openai
import pytest

from tests.e2e.running import Proxy
from tests.fakes.upstream_server import (
    JSON_TYPE,
    UpstreamServer,
    chat_body,
    chat_chunks,
    chat_json,
    chat_sse,
    cut,
    error_reply,
    json_reply,
    reply,
    sse_bytes,
    stream,
)


def ask(question: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}]


def test_a_repeat_is_served_without_asking_again(proxy: Proxy, upstream: UpstreamServer) -> None:
    client = proxy.client()
    first = client.chat.completions.create(model="m", messages=ask("What is DNS?"))
    second = client.chat.completions.create(model="m", messages=ask(" What is  DNS?\r\n"))
    assert upstream.calls == 1
    assert second.choices[0].message.content == first.choices[0].message.content
    assert second.id != first.id
    assert second.created >= first.created
    assert second.system_fingerprint == first.system_fingerprint


def test_headers_tell_what_happened(proxy: Proxy) -> None:
    miss = proxy.chat("What is a header?")
    hit = proxy.chat("What is a header?")
    assert miss.headers["semcache-outcome"] == "miss"
    assert "fwd=miss" in miss.headers["cache-status"]
    assert "stored" in miss.headers["cache-status"]
    assert hit.headers["semcache-outcome"] == "exact"
    assert hit.headers["cache-status"].startswith("semcache; hit; ttl=")
    assert int(hit.headers["age"]) >= 0
    assert hit.headers["cache-control"] == "private, no-store"
    assert hit.headers["semcache-saved-tokens"] == "17"
    assert hit.headers["semcache-entry"]
    assert hit.headers["x-request-id"] != miss.headers["x-request-id"]


def test_usage_on_a_hit_is_zero_with_the_original_beside_it(proxy: Proxy) -> None:
    proxy.chat("What is usage?")
    usage = proxy.chat("What is usage?").json()["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (0, 0, 0)
    assert usage["semcache_saved"]["total_tokens"] == 17


@pytest.mark.parametrize(("first", "second"), [(False, True), (True, False), (True, True)])
def test_one_answer_serves_both_wire_modes(
    proxy: Proxy, upstream: UpstreamServer, first: bool, second: bool
) -> None:
    question = f"Which mode? {first} {second} 中文 👩‍👩‍👧"
    texts = []
    for streaming in (first, second):
        client = proxy.client()
        if streaming:
            events = list(client.chat.completions.create(model="m", messages=ask(question), stream=True))
            assert len({event.id for event in events}) == 1
            assert events[0].choices[0].delta.role == "assistant"
            assert [event.choices[0].finish_reason for event in events if event.choices][-1] == "stop"
            texts.append("".join(event.choices[0].delta.content or "" for event in events if event.choices))
        else:
            answer = client.chat.completions.create(model="m", messages=ask(question))
            texts.append(answer.choices[0].message.content or "")
    assert texts[0] == texts[1] == f"Answer to: {question}"
    assert upstream.calls == 1


def test_a_replayed_stream_is_well_formed(proxy: Proxy) -> None:
    proxy.chat("Stream me " + "long " * 400)
    reply = proxy.chat("Stream me " + "long " * 400, stream=True)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["semcache-outcome"] == "exact"
    events = reply.body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert len(events) > 5
    assert all(event.startswith("data: ") for event in events[:-1])


@pytest.mark.parametrize("on_hit", [False, True])
def test_usage_in_streams_only_for_those_who_ask(proxy: Proxy, on_hit: bool) -> None:
    question = f"Usage, please {on_hit}"
    if on_hit:
        proxy.chat(question, stream=True, stream_options={"include_usage": True})
    for wanted in (True, False):
        options = {"stream_options": {"include_usage": True}} if wanted else {}
        events = list(
            proxy.client().chat.completions.create(
                model="m", messages=ask(f"{question}{'' if on_hit else wanted}"), stream=True, **options
            )
        )
        assert (events[-1].usage is not None) == wanted or not on_hit
        if wanted:
            assert events[-1].choices == []


def test_tools_repeat_exactly_and_are_never_matched_by_meaning(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    tools = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order": 1001}'}}
    upstream.script = json_reply(chat_body(None, message={"tool_calls": [call]}, finish_reason="tool_calls"))
    client = proxy.client()
    for order in ("1001", "1002"):
        got = client.chat.completions.create(model="m", messages=ask(f"Refund order {order}"), tools=tools)
        assert got.choices[0].message.tool_calls
    assert upstream.calls == 2
    assert upstream.requests[0].json()["tools"] == tools


@pytest.mark.parametrize("status", [400, 404, 422, 500, 503])
@pytest.mark.event(16)
def test_upstream_errors_pass_byte_for_byte_and_are_not_stored(
    proxy: Proxy, upstream: UpstreamServer, status: int
) -> None:
    body = b'{"error": {"message": "no  way",  "type": "x", "param": null, "code": "c"}}'
    question = f"Fail with {status}"
    upstream.script = [reply(body, status=status, headers=[JSON_TYPE, ("x-vendor", "v")]), chat_json("fine")]
    failed = proxy.chat(question)
    assert (failed.status, failed.body) == (status, body)
    assert failed.headers["x-vendor"] == "v"
    assert proxy.chat(question).text == "fine"
    assert proxy.outcome(question) == "exact"


def test_the_sdk_retries_through_the_proxy(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = [
        error_reply(429, headers=[("retry-after-ms", "10")]),
        error_reply(500),
        chat_json("third time"),
    ]
    got = proxy.client(max_retries=2).chat.completions.create(model="m", messages=ask("Retry me"))
    assert got.choices[0].message.content == "third time"
    assert upstream.calls == 3


def test_sdk_errors_keep_their_class_and_code(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = error_reply(429)
    with pytest.raises(openai.RateLimitError):
        proxy.client(max_retries=0).chat.completions.create(model="m", messages=ask("Too many"))
    with pytest.raises(openai.BadRequestError) as caught:
        proxy.client(max_retries=0).chat.completions.create(model="m", messages=[])
    assert caught.value.param == "messages"


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.event(13)
def test_a_cut_answer_is_an_error_and_is_never_stored(
    proxy: Proxy, upstream: UpstreamServer, streaming: bool
) -> None:
    question = f"Cut me {streaming}"
    if streaming:
        upstream.script = [cut(sse_bytes(chat_chunks()[:2], done=False)), chat_sse(["whole"])]
        with pytest.raises(openai.APIError):
            list(
                proxy.client(max_retries=0).chat.completions.create(
                    model="m", messages=ask(question), stream=True
                )
            )
    else:
        upstream.script = [
            cut(json.dumps(chat_body("half")).encode()[:40], headers=[JSON_TYPE]),
            chat_json("whole"),
        ]
        assert proxy.chat(question).status == 502
    assert proxy.outcome(question, stream=streaming) == "miss"
    assert proxy.outcome(question, stream=streaming) == "exact"


@pytest.mark.parametrize(
    "body",
    [
        chat_body("cut short", finish_reason="length"),
        chat_body("hidden", finish_reason="content_filter"),
        chat_body("  \n"),
        {"error": {"message": "inside 200"}},
    ],
)
@pytest.mark.event(14)
def test_what_is_no_whole_answer_is_not_stored(proxy: Proxy, upstream: UpstreamServer, body: dict) -> None:
    question = f"Store me not {json.dumps(body)[-80:]}"
    upstream.script = [json_reply(body), chat_json("fine")]
    assert proxy.chat(question).json() == body
    assert proxy.chat(question).text == "fine"


@pytest.mark.event(13)
def test_a_stream_without_its_end_event_is_not_stored(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = [stream(sse_bytes(chat_chunks(), done=False)), chat_sse(["fine"])]
    proxy.chat("No end", stream=True)
    assert proxy.outcome("No end", stream=True) == "miss"


def test_cache_control(proxy: Proxy, upstream: UpstreamServer) -> None:
    question = "Control me"
    absent = proxy.chat(question, {"cache-control": "only-if-cached"})
    assert (absent.status, absent.json()["error"]["code"]) == (504, "not_cached")
    assert proxy.outcome(question, {"cache-control": "no-store"}) == "miss"
    assert proxy.outcome(question) == "miss"
    upstream.script = chat_json("newer")
    assert proxy.outcome(question, {"cache-control": "no-cache"}) == "miss"
    again = proxy.chat(question)
    assert (again.headers["semcache-outcome"], again.text) == ("exact", "newer")
    assert proxy.outcome(question, {"cache-control": "max-age=0"}) == "miss"
    assert proxy.outcome(question, {"semcache-mode": "off"}) == "bypass"
    assert proxy.outcome(question, cache={"no-cache": True, "no-store": True}) == "bypass"
    assert all("cache" not in seen.json() for seen in upstream.requests)


def test_temperature_above_the_policy_bypasses(proxy: Proxy) -> None:
    assert proxy.outcome("Be wild", temperature=1.2) == "bypass"
    assert proxy.outcome("Be wild", temperature=1.2) == "bypass"
    assert proxy.outcome("Be tame", temperature=0) == "miss"
    assert proxy.outcome("Be tame", temperature=0) == "exact"


def test_keys_that_pass_through_keep_answers_apart(proxy: Proxy, upstream: UpstreamServer) -> None:
    for key in ("sk-one", "sk-two"):
        got = proxy.client(key).chat.completions.create(model="m", messages=ask("Whose is it?"))
        assert got.choices[0].message.content
    assert upstream.calls == 2
    assert [seen.header("authorization") for seen in upstream.requests] == ["Bearer sk-one", "Bearer sk-two"]
    proxy.client("sk-one").chat.completions.create(model="m", messages=ask("Whose is it?"))
    assert upstream.calls == 2


def test_a_stream_reaches_the_client_while_it_is_made(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_sse(["one ", "two ", "three"], pause=0.3)
    events = proxy.client().chat.completions.create(model="m", messages=ask("Slowly"), stream=True)
    times = [time.monotonic() for event in events if event.choices and event.choices[0].delta.content]
    assert times[-1] - times[0] > 0.4


def test_concurrent_different_questions_do_not_mix(proxy: Proxy) -> None:
    answers: dict[int, str] = {}

    def one(number: int) -> None:
        answers[number] = proxy.chat(f"Question number {number}?").text

    threads = [threading.Thread(target=one, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"Answer to: Question number {number}?" for number in range(24)}
