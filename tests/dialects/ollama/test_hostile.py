"""Whatever is sent, Ollama's and Gemini's readers and writers refuse it by name, or take it for what it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.dialects.dialect import Dialect
from semcache.dialects.gemini.wire import GEMINI, GEMINI_ARRAY
from semcache.dialects.ollama.wire import OLLAMA_CHAT, OLLAMA_GENERATE
from semcache.dialects.request import request_of
from semcache.errors import RequestError
from tests.dialects import contract as by
from tests.dialects.answers import documents
from tests.dialects.answers import requests as chats
from tests.dialects.gemini import natives as gemini
from tests.dialects.ollama import natives as ollama
from tests.dialects.ollama.hostile import deep, odd, spoiled

DIALECTS = [OLLAMA_CHAT, OLLAMA_GENERATE, GEMINI, GEMINI_ARRAY]
each = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: type(one).__name__)
REQUESTS = {
    "ollama.chat": ollama.chats,
    "ollama.generate": ollama.generates,
    "gemini.generate": gemini.requests,
}
numbers = st.integers(0, 10**6)
some = settings(max_examples=30)


def refusal(call: Callable[[], Any], *kinds: type[Exception]) -> Exception | None:
    """Do it; give how it was refused, if by one of these."""
    try:
        call()
    except kinds as error:
        return error
    return None


def asked(dialect: Dialect, body: Any) -> None:
    path = gemini.STREAM if dialect.name == "gemini.generate" else "/api/x"
    refused = refusal(lambda: request_of(dialect, body, path, b"alt=sse"), RequestError)
    assert not isinstance(refused, RequestError) or refused.status == 400


@each
@some
@given(st.data(), numbers, odd)
def test_requests(dialect: Dialect, data: st.DataObject, at: int, by_what: Any) -> None:
    asked(dialect, spoiled(data.draw(REQUESTS[dialect.name]), at, by_what))


@each
@some
@given(chats(), numbers, odd)
def test_chat_requests_that_are_written(dialect: Dialect, chat: Any, at: int, by_what: Any) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **spoiled(chat, at, by_what)}
    if not isinstance(body["messages"], list) or not all(isinstance(one, dict) for one in body["messages"]):
        return  # `parse_chat` lets none of these through
    refused = refusal(lambda: dialect.write(body), RequestError)
    assert not isinstance(refused, RequestError) or (refused.status == 400 and refused.param)


@pytest.mark.parametrize("levels", [100, 300, 900])
def test_deep_requests(levels: int) -> None:
    call = {"function": {"name": "f", "arguments": deep(levels)}}
    chat = {"model": "m", "messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]}
    asked(OLLAMA_CHAT, {**chat, "format": deep(levels)})
    args = {"functionCall": {"name": "f", "args": deep(levels)}}
    config = {"responseMimeType": "application/json", "responseSchema": deep(levels)}
    asked(GEMINI, {"contents": [{"role": "model", "parts": [args]}], "generationConfig": config})


sayable = st.frozensets(st.sampled_from(("tools", "reasoning", "logprobs")), max_size=2).flatmap(documents)


def stream_of(dialect: Dialect, document: Any) -> list[Any]:
    reply = dialect.layout(by.stored(document), by.wanted(stream=True)).whole(by.ID, by.CREATED)
    return json.loads(reply) if dialect is GEMINI_ARRAY else by.events_of(reply)


def framed(dialect: Dialect, pieces: list[Any]) -> bytes:
    told = [json.dumps(piece).encode() for piece in pieces]
    if dialect is GEMINI_ARRAY:
        return b"[" + b",".join(told) + b"]"
    lead = b"data: " if dialect is GEMINI else b""
    return b"".join([lead + one + b"\n\n" for one in told])


@each
@some
@given(st.data(), numbers, odd)
def test_answers_and_streams(dialect: Dialect, data: st.DataObject, at: int, by_what: Any) -> None:
    document = data.draw(sayable)
    if dialect is OLLAMA_GENERATE and document["choices"][0]["message"].get("tool_calls"):
        return
    pieces = spoiled(stream_of(dialect, document), at, by_what)
    stream = framed(dialect, pieces)
    by.assembled(dialect, stream, stream=True)
    reader = dialect.live_reader()
    reader.feed(stream)
    reader.finish()
    whole = spoiled(dialect.write_answer(document), at, by_what)
    by.assembled(dialect, json.dumps(whole).encode(), stream=False)
    refused = refusal(lambda: dialect.read_answer(whole), ValueError, TypeError)
    assert refused is None or str(refused)


@each
@some
@given(st.data(), numbers, st.sampled_from((None, True, 0, "", "x", [], {}, [None], {"a": 1})))
def test_chat_streams_that_are_written(dialect: Dialect, data: st.DataObject, at: int, by_what: Any) -> None:
    chunks = by.chat_stream(by.stored(data.draw(sayable)))
    writer = dialect.live_writer(by.wanted(stream=True), "ab", 1)
    sent = b"".join([writer.feed(one) for one in spoiled(chunks, at, by_what) if isinstance(one, dict)])
    by.assembled(dialect, sent + writer.finish(), stream=True)


@each
@some
@given(st.data(), numbers, odd)
def test_chat_answers_that_are_written(dialect: Dialect, data: st.DataObject, at: int, by_what: Any) -> None:
    document = spoiled(data.draw(sayable), at, by_what)
    refused = refusal(lambda: dialect.write_answer(document), ValueError)
    assert refused is None or str(refused)
