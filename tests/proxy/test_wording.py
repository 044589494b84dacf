"""Replies of a chat backend on their way to clients of other protocols."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from semcache.core import Completion
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect
from semcache.dialects.table import ALL
from semcache.errors import UpstreamError
from semcache.proxy.wording import whole_in, wording_of
from tests.fakes.upstream_server import chat_body, chat_chunks, sse_bytes

OTHERS = [dialect for dialect in ALL if dialect not in (CHAT,) and dialect.route != "embeddings"]
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def live(dialect: Dialect, stream: bytes, size: int = 1 << 20) -> bytes:
    wording = wording_of(dialect, "f00d" * 6, 1_800_000_000, strip=False)
    parts = [stream[start : start + size] for start in range(0, len(stream), size)]
    return b"".join(wording.feed(part) for part in parts) + wording.finish()


def chunks(*texts: str) -> list[Any]:
    return [*chat_chunks(texts), {"object": "chat.completion.chunk", "choices": [], "usage": USAGE}]


def said(dialect: Dialect, stream: bytes) -> str:
    assembler = dialect.assembler(dialect.stream_type.decode().partition(";")[0])
    assert assembler is not None
    assembler.feed(stream)
    found = assembler.finish()
    assert isinstance(found, Completion), found
    return str(orjson.loads(found.body)["choices"][0]["message"]["content"])


@pytest.mark.parametrize("dialect", OTHERS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_a_stream_comes_in_the_clients_words_however_it_is_cut(dialect: Dialect, size: int) -> None:
    assert said(dialect, live(dialect, sse_bytes(chunks("Good ", "day, 雪.")), size)) == "Good day, 雪."


@pytest.mark.parametrize("dialect", OTHERS, ids=lambda dialect: dialect.name)
def test_one_that_ends_too_early_is_said_to(dialect: Dialect) -> None:
    with pytest.raises(UpstreamError, match="too early"):
        live(dialect, sse_bytes(chunks("Half"), done=False))


@pytest.mark.parametrize("dialect", OTHERS, ids=lambda dialect: dialect.name)
def test_an_error_in_a_stream_is_the_last_that_is_said(dialect: Dialect) -> None:
    broken = sse_bytes(
        [*chat_chunks(["Half"])[:2], {"error": {"message": "no more", "type": "server_error"}}], done=False
    )
    found = live(dialect, broken + sse_bytes(chunks("Other")))
    assert b"no more" in found
    assert b"Other" not in found


@pytest.mark.parametrize("dialect", OTHERS, ids=lambda dialect: dialect.name)
def test_a_whole_answer(dialect: Dialect) -> None:
    found = json.loads(whole_in(dialect, 200, orjson.dumps(chat_body("Good day."))))
    assert dialect.read_answer(found)["choices"][0]["message"]["content"] == "Good day."


@pytest.mark.parametrize("dialect", OTHERS, ids=lambda dialect: dialect.name)
def test_errors_and_what_is_no_answer(dialect: Dialect) -> None:
    told = CHAT.write_error(CHAT.read_error(429, b'{"error": {"message": "slow down"}}'))
    assert dialect.read_error(429, whole_in(dialect, 429, told)).message == "slow down"
    for body in (b"<html>", b"[]", b"{}", b'{"choices": 3}'):
        with pytest.raises(UpstreamError, match="protocol"):
            whole_in(dialect, 200, body)


def test_the_clients_own_words_go_on_as_they_are() -> None:
    wording = wording_of(None, "", 0, strip=False)
    assert (wording.feed(b"any bytes"), wording.finish()) == (b"any bytes", b"")
    counted = wording_of(None, "", 0, strip=True)
    usage = sse_bytes([{"choices": [], "usage": USAGE}], done=False)
    assert (counted.feed(usage), counted.finish()) == (b"", b"")
