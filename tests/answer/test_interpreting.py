"""An upstream that speaks no chat, asked in chat's words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from semcache.answer.interpreting import Interpreter
from semcache.core import Completion
from semcache.dialects.chat.assemble import chat_assembler
from semcache.dialects.dialect import Incomplete, Wanted
from semcache.dialects.table import BY_NAME
from semcache.errors import RequestError, UpstreamError
from semcache.ports import UpstreamCall
from semcache.proxy.errors import words_of
from tests.fakes.generator import FakeGenerator, FakeReply

MESSAGES = BY_NAME["anthropic.messages"]
CHAT: dict[str, Any] = {
    "model": "claude",
    "messages": [{"role": "user", "content": "hello"}],
    "max_tokens": 9,
}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-1",
    "content": [{"type": "text", "text": "Good day."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
VERSION = (b"anthropic-version", b"2023-06-01")


def interpreter(script: Callable[[UpstreamCall], FakeReply]) -> tuple[Interpreter, FakeGenerator]:
    upstream = FakeGenerator(script)
    return Interpreter(upstream, MESSAGES, [VERSION], lambda: "f00d", lambda: 17.9), upstream


def call(body: dict[str, Any], path: str = "/v1/chat/completions", **headers: str) -> UpstreamCall:
    pairs = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return UpstreamCall("POST", path, pairs, orjson.dumps(body))


async def read(of: Interpreter, asked: UpstreamCall) -> tuple[int, dict[bytes, bytes], bytes]:
    reply = await of.open(asked)
    return reply.status, dict(reply.headers), b"".join([part async for part in reply.body()])


def events(*, cut: bool = False) -> bytes:
    whole = assembled(MESSAGES, orjson.dumps(ANSWER))
    stream = MESSAGES.layout(whole, Wanted(stream=True, include_usage=True, usage="original"))
    body = stream.whole(b"0" * 24, b"1")
    return body[: body.index(b"event: message_stop")] if cut else body


def assembled(dialect: Any, body: bytes) -> Completion:
    assembler = dialect.assembler("application/json")
    assembler.feed(body)
    found = assembler.finish()
    assert isinstance(found, Completion)
    return found


async def test_a_question_and_its_answer_are_put_into_the_others_words() -> None:
    asked, upstream = interpreter(lambda _: FakeReply(200, parts=(orjson.dumps(ANSWER),)))
    status, headers, body = await read(asked, call(CHAT, x_api_key="k"))
    sent = upstream.calls[0]
    assert (sent.path, dict(sent.headers)[b"x-api-key"], dict(sent.headers)[VERSION[0]]) == (
        "/v1/messages",
        b"k",
        VERSION[1],
    )
    assert isinstance(sent.body, bytes)
    assert orjson.loads(sent.body)["messages"] == [{"role": "user", "content": "hello"}]
    found = orjson.loads(body)
    assert (status, headers[b"content-type"]) == (200, b"application/json")
    assert (found["id"], found["created"], found["object"]) == ("chatcmpl-f00d", 17, "chat.completion")
    assert found["choices"][0]["message"]["content"] == "Good day."
    assert found["usage"]["prompt_tokens"] == 3


async def test_a_version_that_the_call_states_holds() -> None:
    asked, upstream = interpreter(lambda _: FakeReply(200, parts=(orjson.dumps(ANSWER),)))
    await read(asked, call(CHAT, anthropic_version="2030-01-01"))
    named = [value for name, value in upstream.calls[0].headers if name == VERSION[0]]
    assert named == [b"2030-01-01"]


@pytest.mark.parametrize("usage", [True, False])
async def test_a_stream_is_a_chat_stream(usage: bool) -> None:
    kind = (b"content-type", b"text/event-stream")
    asked, _ = interpreter(lambda _: FakeReply(200, (kind,), parts=(events()[:70], events()[70:])))
    options = {"stream": True, "stream_options": {"include_usage": usage}}
    _, headers, body = await read(asked, call(CHAT | options))
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assembler = chat_assembler("text/event-stream")
    assert assembler is not None
    assembler.feed(body)
    found = assembler.finish()
    assert isinstance(found, Completion)
    assert orjson.loads(found.body)["choices"][0]["message"]["content"] == "Good day."
    assert (found.usage is not None) is usage
    assert body.endswith(b"data: [DONE]\n\n")


async def test_a_stream_that_ends_too_early_is_no_stream() -> None:
    kind = (b"content-type", b"text/event-stream")
    asked, _ = interpreter(lambda _: FakeReply(200, (kind,), parts=(events(cut=True),)))
    with pytest.raises(UpstreamError, match="too early") as caught:
        await read(asked, call(CHAT | {"stream": True}))
    assert caught.value.code == "upstream_cut"


async def test_errors_are_put_into_chats_words() -> None:
    told = {"type": "error", "error": {"type": "overloaded_error", "message": "too many"}}
    asked, _ = interpreter(lambda _: FakeReply(529, parts=(orjson.dumps(told),)))
    status, _, body = await read(asked, call(CHAT | {"stream": True}))
    assert (status, orjson.loads(body)["error"]["message"]) == (529, "too many")


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"type": "message"}'])
async def test_what_is_no_answer_is_an_error(body: bytes) -> None:
    asked, _ = interpreter(lambda _: FakeReply(200, parts=(body,)))
    with pytest.raises(UpstreamError) as caught:
        await read(asked, call(CHAT))
    assert caught.value.code == "upstream_invalid"


async def test_what_the_other_cannot_be_asked_is_refused_before_anybody_is() -> None:
    asked, upstream = interpreter(lambda _: FakeReply(200))
    with pytest.raises(RequestError) as caught:
        await asked.open(call(CHAT | {"n": 2}))
    assert (caught.value.status, caught.value.param) == (400, "n")
    assert not upstream.calls


async def test_its_own_words_pass_untouched() -> None:
    asked, upstream = interpreter(lambda _: FakeReply(200, parts=(b"as it came",)))
    own = call({"model": "claude"}, "/v1/messages")
    assert (await read(asked, own))[2] == b"as it came"
    assert upstream.calls == [own]


KIND = (b"content-type", b"text/event-stream")


def parts(body: bytes) -> list[bytes]:
    """Cut a stream into its events."""
    return [event + b"\n\n" for event in body.split(b"\n\n") if event]


def chat_of(stream: bytes) -> Any:
    assembler = chat_assembler("text/event-stream")
    assert assembler is not None
    assembler.feed(stream)
    return assembler.finish()


async def asked_for(stream: bytes) -> bytes:
    """Give the chat stream of a native one, and the error that ends it where one does."""
    asked, _ = interpreter(lambda _: FakeReply(200, (KIND,), parts=(stream,)))
    reply = await asked.open(call(CHAT | {"stream": True}))
    out = b""
    try:
        async for part in reply.body():
            out += part
    except UpstreamError as error:
        out += MESSAGES.write_error_event(words_of(error))
    return out


@pytest.mark.parametrize("gone", range(6))
async def test_a_stream_that_lacks_an_event_is_kept_in_no_words_that_its_own_would_not_be(gone: int) -> None:
    whole = parts(events())
    assert len(whole) == 6
    stream = b"".join(whole[:gone] + whole[gone + 1 :])
    assembler = MESSAGES.assembler("text/event-stream")
    assert assembler is not None
    assembler.feed(stream)
    native, chat = assembler.finish(), chat_of(await asked_for(stream))
    assert isinstance(native, Incomplete) == isinstance(chat, Incomplete), (whole[gone], native, chat)


async def test_a_piece_of_a_block_that_never_began_is_no_answer() -> None:
    whole = parts(events())
    odd = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"X"}}\n\n'
    stream = b"".join([*whole[:3], odd, *whole[3:]])
    assert isinstance(chat_of(await asked_for(stream)), Incomplete)


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (b'"content":[]', b'"content":{"a":1}'),
        (b'"type":"message",', b'"type":"odd",'),
        (b'"text":""', b'"text":[]'),
    ],
)
async def test_a_stream_that_is_none_by_its_own_rules_has_no_end(said: bytes, instead: bytes) -> None:
    assert said in events()
    found = await asked_for(events().replace(said, instead))
    assert b"Good day." in found
    assert b"[DONE]" not in found


async def test_an_error_is_said_once_and_last() -> None:
    told = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"boom"}}\n\n'
    whole = parts(events())
    found = await asked_for(b"".join([*whole[:3], told, *whole[3:]]))
    assert found.count(b'{"error":') == 1
    assert b"boom" in found
    assert b"[DONE]" not in found


async def test_a_character_may_be_cut_in_two() -> None:
    stream = events().replace(b'"text":"Good day."', rb'"text":"\ud83d"', 1)
    more = rb'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00"}}'
    stream = stream.replace(b"event: content_block_stop", b"data: " + more + b"\n\nevent: content_block_stop")
    found = chat_of(await asked_for(stream))
    assert isinstance(found, Completion)
    assert orjson.loads(found.body)["choices"][0]["message"]["content"] == "\U0001f600"


async def test_an_end_without_a_reason_is_none() -> None:
    stream = events().replace(b'"stop_reason":"end_turn"', b'"stop_reason":null')
    assert b"too early" in await asked_for(stream)


@pytest.mark.parametrize("name", ["anthropic.messages", "gemini.generate", "ollama.chat"])
async def test_text_that_is_no_unicode_is_asked_as_it_came(name: str) -> None:
    upstream = FakeGenerator(lambda _: FakeReply(400, parts=(b"{}",)))
    asked = Interpreter(upstream, BY_NAME[name], [], lambda: "f00d", lambda: 1.0)
    chat = {**CHAT, "model": "a\ud800", "messages": [{"role": "user", "content": "b\ud801"}]}
    await asked.open(UpstreamCall("POST", "/v1/chat/completions", (), json.dumps(chat).encode()))
    sent = upstream.calls[0]
    assert isinstance(sent.body, bytes)
    assert b"b\\ud801" in sent.body
    assert sent.path.isascii()


async def test_a_body_that_is_no_json_is_refused() -> None:
    asked, _ = interpreter(lambda _: FakeReply(200))
    with pytest.raises(RequestError) as caught:
        await asked.open(UpstreamCall("POST", "/v1/chat/completions", (), b"{"))
    assert caught.value.status == 400
