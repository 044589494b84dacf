"""Replies of a chat backend on their way to clients of other protocols."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from semcache.core import Completion
from semcache.dialects.chat.answer import complete
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, ErrorWords, Wanted
from semcache.dialects.gemini.wire import GEMINI_ARRAY
from semcache.dialects.sse import SseSplitter
from semcache.dialects.table import ALL
from semcache.errors import UpstreamError
from semcache.proxy.wording import Wording, stream_in, whole_in, wording_of
from tests.fakes.upstream_server import chat_body, chat_chunks, sse_bytes

OTHERS = [dialect for dialect in ALL if dialect not in (CHAT,) and dialect.route != "embeddings"]
FRAMED = [*OTHERS, GEMINI_ARRAY]
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def live_wording(dialect: Dialect) -> Wording:
    return wording_of(dialect, "f00d" * 6, 1_800_000_000, translated=True, strip=False)


def live(dialect: Dialect, stream: bytes, size: int = 1 << 20) -> bytes:
    wording = live_wording(dialect)
    parts = [stream[start : start + size] for start in range(0, len(stream), size)]
    return b"".join(wording.feed(part) for part in parts) + wording.finish()


def framing(dialect: Dialect) -> str:
    return "gemini.array" if dialect is GEMINI_ARRAY else dialect.name


def with_index(several: list[Any], index: int) -> list[Any]:
    return [{**one, "choices": [{**choice, "index": index} for choice in one["choices"]]} for one in several]


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


def pieces(*deltas: dict[str, Any]) -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    # Characters outside ASCII as escapes, as many servers write them.
    return sse_bytes([json.dumps(chunk) for chunk in (*chunks, end)])


@pytest.mark.parametrize("dialect", FRAMED, ids=framing)
def test_a_character_may_be_cut_in_two(dialect: Dialect) -> None:
    stream = pieces(
        {"content": "a\ud83d", "reasoning_content": "\ud83d"},
        {"reasoning_content": "\ude01"},
        {"content": "\ude00b"},
    )
    assert said(dialect, live(dialect, stream)) == "a\U0001f600b"


@pytest.mark.parametrize("dialect", FRAMED, ids=framing)
@pytest.mark.parametrize(
    "deltas",
    [({"content": "a\ud83d"},), ({"content": "\ud83d"}, {"content": "b"})],
)
def test_half_a_character_is_no_text(dialect: Dialect, deltas: tuple[dict[str, Any], ...]) -> None:
    assert b"cannot be read" in live(dialect, pieces(*deltas))


@pytest.mark.parametrize("dialect", FRAMED, ids=framing)
def test_an_upstream_that_does_not_stream_is_heard_all_the_same(dialect: Dialect) -> None:
    found = stream_in(dialect, orjson.dumps(chat_body("Good day.")), "f00d" * 6, 1)
    assert said(dialect, found) == "Good day."
    for body in (b"<html>", b"[]", b"{}", b'{"choices": 3}', b'{"choices": [{"message": 3}]}'):
        with pytest.raises(UpstreamError, match="protocol"):
            stream_in(dialect, body, "f00d", 1)


@pytest.mark.parametrize("dialect", FRAMED, ids=framing)
@pytest.mark.parametrize(
    "stream",
    [
        sse_bytes([]),
        sse_bytes(chat_chunks(["Half"], usage=False, finish=None)),
        sse_bytes(chat_chunks(["Half"], finish=None)),
        sse_bytes([*chat_chunks(["One"]), *with_index(chat_chunks(["Half"], finish=None, usage=False), 1)]),
    ],
    ids=["nothing", "no reason", "usage and no reason", "one of two"],
)
def test_an_end_mark_alone_ends_no_answer(dialect: Dialect, stream: bytes) -> None:
    with pytest.raises(UpstreamError, match="too early"):
        live(dialect, stream)


ERROR = ErrorWords("It broke off.", 502, "upstream_error", "upstream_cut")


def is_told_an_error(dialect: Dialect, stream: bytes) -> bool:
    """Read a stream as a client does: all of it parses, and its last piece is an error."""
    if dialect is GEMINI_ARRAY:
        pieces = json.loads(stream)
    elif dialect.family == "ollama":
        pieces = [json.loads(line) for line in stream.splitlines()]
    else:
        splitter = SseSplitter()
        events = [*splitter.feed(stream), *splitter.finish()]
        assert all(event.data is not None for event in events), events
        pieces = [json.loads(event.data) for event in events if event.data]
    return "error" in str(pieces[-1]) and "It broke off." in str(pieces[-1])


@pytest.mark.parametrize("dialect", FRAMED, ids=framing)
def test_a_translated_stream_may_break_off_anywhere(dialect: Dialect) -> None:
    stream = sse_bytes(chunks("Good ", "day."))
    for size in range(0, len(stream), 37):
        wording = live_wording(dialect)
        assert is_told_an_error(dialect, wording.feed(stream[:size]) + wording.broken(ERROR)), size


@pytest.mark.parametrize("dialect", [CHAT, *FRAMED], ids=framing)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("piece", [11, 1 << 20])
def test_a_stream_in_the_clients_own_words_may_too(dialect: Dialect, newline: bytes, piece: int) -> None:
    completion = complete(chat_body('Good day, {["}], 雪.'))
    assert isinstance(completion, Completion)
    layout = dialect.layout(completion, Wanted(stream=True, include_usage=True, usage="original"))
    stream = layout.whole(b"f00d" * 6, b"1").replace(b"\n", newline)
    for size in range(0, len(stream), 23):
        wording = wording_of(dialect, "", 0, translated=False, strip=False)
        given = b"".join(wording.feed(stream[at : min(at + piece, size)]) for at in range(0, size, piece))
        assert stream.startswith(given)
        if b"[DONE]" not in given:
            assert is_told_an_error(dialect, given + wording.broken(ERROR)), given
    wording = wording_of(dialect, "", 0, translated=False, strip=False)
    parts = [wording.feed(stream[at : at + piece]) for at in range(0, len(stream), piece)]
    assert b"".join(parts) + wording.finish() == stream


@pytest.mark.parametrize("dialect", [CHAT, *FRAMED], ids=framing)
@pytest.mark.parametrize(
    "data", [b"<html>", b"", b"[", b"[[[", b"]]", b'"', b"\xff\xfe\r", b"{}" * 9, b"x" * (3 << 20), b"[{}]]{"]
)
def test_what_is_none_of_a_protocol_passes_whole_too(dialect: Dialect, data: bytes) -> None:
    for size in (1 << 16, 1 << 22):
        wording = wording_of(dialect, "", 0, translated=False, strip=False)
        parts = [wording.feed(data[at : at + size]) for at in range(0, len(data), size)]
        assert b"".join(parts) + wording.finish() == data


def test_an_error_that_was_told_is_not_told_again() -> None:
    for dialect in FRAMED:
        wording = live_wording(dialect)
        told = wording.feed(sse_bytes([{"error": {"message": "no more"}}], done=False))
        assert b"no more" in told
        assert wording.broken(ERROR) == b""


def test_usage_that_only_the_proxy_asked_for_is_left_away() -> None:
    wording = wording_of(CHAT, "", 0, translated=False, strip=True)
    usage = sse_bytes([{"choices": [], "usage": USAGE}], done=False)
    assert (wording.feed(usage), wording.finish()) == (b"", b"")
    assert wording.feed(b'data: {"half') == b""
    assert is_told_an_error(CHAT, wording.broken(ERROR))
