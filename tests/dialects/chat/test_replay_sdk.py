"""The official OpenAI client reads what is rendered; the whole way over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest

from semcache.answer.flight import Flights
from semcache.answer.limits import Limits
from semcache.answer.upstream import HttpUpstream
from semcache.core import Completion
from semcache.dialects.chat.assemble import chat_assembler
from semcache.dialects.chat.render import json_parts, sse_parts
from semcache.errors import UpstreamError
from semcache.ports import UpstreamCall
from tests.dialects.chat.test_render import CREATED, ID, TOOL, from_stream, stored
from tests.fakes import upstream_server as fake
from tests.fakes.upstream_server import UpstreamServer, chat_body, chat_chunks, in_thread, sse_bytes

TEXT = "Zürich 雪 👨‍👩‍👧 and more. " * 30


def ask(behaviour: fake.Behaviour, **options: Any) -> Any:
    with (
        in_thread(behaviour) as server,
        openai.OpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
    ):
        answer = client.chat.completions.create(
            model="m-2026", messages=[{"role": "user", "content": "hi"}], **options
        )
        return list(answer) if options.get("stream") else answer


def replay(completion: Completion, *, usage: bool = False) -> fake.Behaviour:
    whole = sse_parts(completion, include_usage=usage, usage="original").whole(ID, CREATED)
    return fake.stream(whole)


@pytest.fixture
def answer() -> Completion:
    return stored(chat_body(TEXT, message={"reasoning_content": "hm " * 50}))


def test_a_stream(answer: Completion) -> None:
    chunks = ask(replay(answer), stream=True)
    assert {(chunk.id, chunk.created, chunk.model) for chunk in chunks} == {
        ("chatcmpl-fresh", int(CREATED), "m-2026")
    }
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
    assert (
        "".join(getattr(chunk.choices[0].delta, "reasoning_content", None) or "" for chunk in chunks)
        == "hm " * 50
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert len(chunks) > 5


def test_a_stream_with_usage(answer: Completion) -> None:
    chunks = ask(replay(answer, usage=True), stream=True, stream_options={"include_usage": True})
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == 12
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 4


def test_a_stream_with_tool_calls() -> None:
    completion = stored(chat_body(None, message={"tool_calls": [TOOL]}, finish_reason="tool_calls"))
    chunks = ask(replay(completion), stream=True)
    calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
    assert [(call.index, call.id, call.function.name, call.function.arguments) for call in calls] == [
        (0, "call_1", "f", '{"city":"雪"}')
    ]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_a_document(answer: Completion) -> None:
    got = ask(fake.reply(json_parts(answer).whole(ID, CREATED)))
    assert (got.id, got.created, got.object) == ("chatcmpl-fresh", int(CREATED), "chat.completion")
    assert got.choices[0].message.content == TEXT
    assert got.usage.total_tokens == 0
    assert got.usage.semcache_saved["total_tokens"] == 17


def test_a_streamed_answer_as_a_document_and_the_other_way_round() -> None:
    completion = from_stream(sse_bytes(chat_chunks([TEXT[:70], TEXT[70:]])))
    assert ask(fake.reply(json_parts(completion).whole(ID, CREATED))).choices[0].message.content == TEXT


# --------------------------------------------------------------------- flights over real sockets


@asynccontextmanager
async def way(behaviour: Any) -> AsyncIterator[tuple[UpstreamServer, Any, list[Completion]]]:
    kept: list[Completion] = []

    async def store(completion: Completion) -> bool:
        kept.append(completion)
        return True

    async with UpstreamServer(behaviour) as server, asyncio.TaskGroup() as group:
        upstream = HttpUpstream("main", server.url, Limits(head=2, idle=0.5))
        flights = Flights(group.create_task)
        call = UpstreamCall("POST", "/chat/completions", ((b"content-type", b"application/json"),), b"{}")

        def join(key: str | None = "k") -> Any:
            return flights.join(
                key, lambda: upstream.open(call), lambda head: chat_assembler(head.content_type), store
            )

        yield server, join, kept
        await upstream.aclose()
        assert flights.stats().flights == 0


async def read(ticket: Any) -> bytes:
    async with ticket:
        return b"".join([part async for part in ticket.chunks()])


STREAM = sse_bytes(chat_chunks(["雪", "🐍", "👨‍👩‍👧"]))


@pytest.mark.parametrize("piece", [1, 7, 0])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_client_bytes_and_stored_text_are_the_same_however_the_network_cuts(
    piece: int, coding: str
) -> None:
    behaviour = fake.stream(STREAM, piece=piece, coding=coding)
    async with way(behaviour) as (server, join, kept):
        assert await asyncio.gather(*(read(join()) for _ in range(20))) == [STREAM] * 20
    assert server.calls == 1
    assert json.loads(kept[0].body)["choices"][0]["message"]["content"] == "雪🐍👨‍👩‍👧"


def cuts() -> Iterator[int]:
    return iter(range(0, len(STREAM) - 2, 40))


async def test_a_stream_cut_anywhere_is_an_error_and_never_stored() -> None:
    for cut in cuts():
        async with way(fake.cut(STREAM[:cut])) as (_, join, kept):
            with pytest.raises(UpstreamError) as caught:
                await read(join())
        assert caught.value.code == "upstream_cut"
        assert kept == []


async def test_a_client_that_leaves_ends_the_upstream_call_within_a_second() -> None:
    async with way(fake.stall(b"data: {}\n\n")) as (server, join, _):
        async with join() as ticket:
            await anext(ticket.chunks())
        async with asyncio.timeout(1):
            while server.open_connections:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.01)


async def test_an_error_in_a_200_stream_passes_on_and_is_not_stored() -> None:
    stream = b'data: {"error":{"message":"no","type":"x"}}\n\ndata: [DONE]\n\n'
    async with way([fake.stream(stream), fake.stream(STREAM)]) as (server, join, kept):
        assert await read(join()) == stream
        assert await read(join()) == STREAM
    assert server.calls == 2
    assert len(kept) == 1
