"""Usage read from replies as they pass: every dialect and framing, however the bytes are cut."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.answer.usage_asked import OTHER, AskedWatch, readable, route_of
from semcache.answer.usage_seen import Seen, settled
from semcache.answer.usage_watch import ReplyWatch
from semcache.core import Usage

SSE, NDJSON, JSON = "text/event-stream", "application/x-ndjson", "application/json"


def dump(document: Any) -> bytes:
    return orjson.dumps(document)


def events(*documents: Any, named: bool = False) -> bytes:
    """An event stream of these documents; `named` gives each its type as the event's name."""
    parts = []
    for document in documents:
        name = b"event: " + document["type"].encode() + b"\n" if named else b""
        parts.append(name + b"data: " + dump(document) + b"\n\n")
    return b"".join(parts)


def anthropic_stream(*texts: str, last: dict[str, Any] | None = None) -> bytes:
    start = {
        "type": "message_start",
        "message": {
            "type": "message",
            "model": "claude-sonnet-4-5",
            "usage": {
                "input_tokens": 25,
                "cache_read_input_tokens": 1000,
                "cache_creation_input_tokens": 40,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 40},
                "output_tokens": 1,
            },
        },
    }
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        for text in texts
    ]
    end = [] if last is None else [{"type": "message_delta", "usage": last}, {"type": "message_stop"}]
    return events(start, {"type": "ping"}, *deltas, *end, named=True)


CHUNK = {"object": "chat.completion.chunk", "model": "gpt-4o", "choices": [{"delta": {"content": "Hi"}}]}
REPLIES: dict[str, tuple[str, bytes, Seen]] = {
    "chat-json": (
        JSON,
        dump({"model": "gpt-4o", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}),
        Seen("gpt-4o", Usage(9, 2)),
    ),
    "chat-stream": (
        SSE,
        events(
            {**CHUNK, "usage": None},
            {**CHUNK, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
        )
        + b"data: [DONE]\n\n",
        Seen("gpt-4o", Usage(9, 2)),
    ),
    "chat-stream-that-always-counts": (
        SSE,
        events(*({**CHUNK, "usage": {"prompt_tokens": 9, "completion_tokens": n}} for n in (1, 2, 3))),
        Seen("gpt-4o", Usage(9, 3)),
    ),
    "embedding": (
        JSON,
        dump(
            {"data": [{"embedding": [0.5]}], "model": "e", "usage": {"prompt_tokens": 8, "total_tokens": 8}}
        ),
        Seen("e", Usage(8, 0)),
    ),
    "responses-json": (
        JSON,
        dump(
            {
                "object": "response",
                "model": "gpt-5",
                "usage": {
                    "input_tokens": 50,
                    "input_tokens_details": {"cached_tokens": 40},
                    "output_tokens": 9,
                    "output_tokens_details": {"reasoning_tokens": 4},
                },
            }
        ),
        Seen("gpt-5", Usage(50, 9, 40, reasoning_tokens=4)),
    ),
    "responses-stream": (
        SSE,
        events(
            {"type": "response.created", "response": {"model": "gpt-5", "usage": None}},
            {"type": "response.output_text.delta", "delta": "Hi"},
            {
                "type": "response.completed",
                "response": {
                    "model": "gpt-5",
                    "usage": {
                        "input_tokens": 50,
                        "input_tokens_details": {"cached_tokens": 40},
                        "output_tokens": 9,
                    },
                },
            },
            named=True,
        ),
        Seen("gpt-5", Usage(50, 9, 40)),
    ),
    "anthropic-json": (
        JSON,
        dump(
            {
                "type": "message",
                "model": "claude-sonnet-4-5",
                "usage": {"input_tokens": 5, "cache_read_input_tokens": 64, "output_tokens": 3},
            }
        ),
        Seen("claude-sonnet-4-5", Usage(69, 3, 64)),
    ),
    "anthropic-stream": (
        SSE,
        anthropic_stream("Hi", last={"output_tokens": 12}),
        Seen("claude-sonnet-4-5", Usage(1065, 12, 1000, 40, 40)),
    ),
    "anthropic-stream-that-counts-all-at-its-end": (
        SSE,
        anthropic_stream(
            "Hi", last={"input_tokens": 30, "cache_read_input_tokens": None, "output_tokens": 12}
        ),
        Seen("claude-sonnet-4-5", Usage(1070, 12, 1000, 40, 40)),
    ),
    "gemini-json": (
        JSON,
        dump(
            {
                "candidates": [],
                "usageMetadata": {
                    "promptTokenCount": 10,
                    "cachedContentTokenCount": 6,
                    "candidatesTokenCount": 2,
                    "thoughtsTokenCount": 3,
                },
                "modelVersion": "gemini-2.5-pro",
            }
        ),
        Seen("gemini-2.5-pro", Usage(10, 5, 6, reasoning_tokens=3)),
    ),
    "gemini-array": (
        JSON,
        dump(
            [
                {"usageMetadata": {"promptTokenCount": 10}, "modelVersion": "gemini-2.5-pro"},
                {"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 4}},
            ]
        ),
        Seen("gemini-2.5-pro", Usage(10, 4)),
    ),
    "gemini-stream": (
        SSE,
        events(
            {
                "candidates": [],
                "usageMetadata": {"promptTokenCount": 10},
                "modelVersion": "models/gemini-2.5-pro",
            },
            {"candidates": [], "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 4}},
        ),
        Seen("gemini-2.5-pro", Usage(10, 4)),
    ),
    "ollama-stream": (
        NDJSON,
        b"".join(
            dump(line) + b"\n"
            for line in (
                {"model": "llama3.2", "response": "Hi", "done": False},
                {"model": "llama3.2", "response": "", "done": True, "prompt_eval_count": 26, "eval_count": 9},
            )
        ),
        Seen("llama3.2", Usage(26, 9)),
    ),
    "ollama-json": (
        JSON,
        dump(
            {
                "model": "llama3.2",
                "message": {"content": "Hi"},
                "done": True,
                "prompt_eval_count": 26,
                "eval_count": 9,
            }
        ),
        Seen("llama3.2", Usage(26, 9)),
    ),
}


def watch(media: str, body: bytes, sizes: list[int] | None = None, coding: str | None = "identity") -> Seen:
    """Feed a body in pieces of these sizes, over and over."""
    watched = ReplyWatch(media, coding)
    at, turn = 0, 0
    while at < len(body):
        size = sizes[turn % len(sizes)] if sizes else len(body)
        watched.feed(body[at : at + size])
        at, turn = at + size, turn + 1
    return watched.finish()


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_read(name: str) -> None:
    media, body, expected = REPLIES[name]
    seen = watch(media, body)
    assert (seen.model, seen.usage, seen.is_final) == (expected.model, expected.usage, True)


@given(st.sampled_from(sorted(REPLIES)), st.lists(st.integers(1, 40), min_size=1, max_size=5), st.data())
def test_cuts_change_nothing(name: str, sizes: list[int], data: st.DataObject) -> None:
    media, body, _ = REPLIES[name]
    coding = data.draw(st.sampled_from(["identity", "gzip", "deflate"]))
    packed = {"identity": bytes, "gzip": gzip.compress, "deflate": zlib.compress}[coding](body)
    assert watch(media, packed, sizes, coding) == watch(media, body)


@given(st.sampled_from([SSE, NDJSON, JSON, ""]), st.lists(st.binary(max_size=200), max_size=8))
@settings(max_examples=200)
def test_noise_raises_nothing(media: str, pieces: list[bytes]) -> None:
    for coding in ("identity", "gzip", "deflate", None):
        watched = ReplyWatch(media, coding)
        for piece in pieces:
            watched.feed(piece)
        watched.finish()


hostile = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "usage",
                    "message",
                    "response",
                    "model",
                    "usageMetadata",
                    "modelVersion",
                    "input_tokens",
                ]
            ),
            inner | st.sampled_from(["message_start", "message_delta", "message"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(hostile, max_size=4))
@settings(max_examples=200)
def test_odd_documents_raise_nothing(documents: list[Any]) -> None:
    lines = [orjson.dumps(document, option=orjson.OPT_PASSTHROUGH_SUBCLASS) for document in fit(documents)]
    watch(SSE, b"".join(b"data: " + line + b"\n\n" for line in lines))
    watch(NDJSON, b"\n".join(lines))
    for line in lines:
        watch(JSON, line)


def fit(documents: list[Any]) -> list[Any]:
    """Leave out integers that JSON libraries refuse to write."""
    kept = []
    for document in documents:
        try:
            orjson.dumps(document)
        except TypeError:
            continue
        kept.append(document)
    return kept


def test_a_coding_that_cannot_be_undone_says_nothing() -> None:
    assert watch(JSON, REPLIES["chat-json"][1], coding=None) == Seen()


def test_other_media_say_nothing() -> None:
    assert watch("audio/mpeg", REPLIES["chat-json"][1]) == Seen()


def test_a_large_document_is_read_from_its_ends() -> None:
    rows = [{"embedding": [0.25] * 100} for _ in range(3000)]
    body = dump(
        {"object": "list", "model": "e", "data": rows, "usage": {"prompt_tokens": 8, "total_tokens": 8}}
    )
    assert len(body) > 1 << 20
    seen = watch(JSON, body, [65536])
    assert (seen.model, seen.usage) == ("e", Usage(8, 0))


@pytest.mark.parametrize("media", [JSON, NDJSON, SSE])
def test_an_endless_reply_takes_little_memory(media: str) -> None:
    watched = ReplyWatch(media, "identity")
    piece = b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(640):
            watched.feed(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert watched.finish().usage is None
    assert peak < 10 << 20


def test_a_bomb_is_let_go() -> None:
    last = dump({"model": "m", "done": True, "prompt_eval_count": 2, "eval_count": 3})
    assert watch(NDJSON, gzip.compress(b"\n" * 1000 + last), coding="gzip").usage == Usage(2, 3)
    assert watch(NDJSON, gzip.compress(b"\n" * (20 << 20) + last), coding="gzip").usage is None


def test_a_line_too_long_hides_only_itself() -> None:
    last = dump({"model": "m", "done": True, "prompt_eval_count": 2, "eval_count": 3})
    seen = watch(NDJSON, b"y" * (2 << 20) + b"\n" + last, [65536])
    assert seen.usage == Usage(2, 3)


# -- replies that broke off ---------------------------------------------------------------


def test_a_stream_that_broke_off_has_its_input_counted_and_its_output_guessed() -> None:
    text = "twenty letters long. " * 4
    whole = anthropic_stream(*[text] * 10)
    seen = watch(SSE, whole)
    usage, is_guess = settled(seen, None)
    assert is_guess
    assert usage is not None
    assert (usage.prompt_tokens, usage.cached_tokens, usage.written_long_tokens) == (1065, 1000, 40)
    assert usage.completion_tokens == seen.written >= 10


def test_letters_of_a_piece_beyond_the_shortest_count_as_tokens() -> None:
    short, long = "a", "a" * 41
    seen = watch(SSE, anthropic_stream(short, long, long))
    assert seen.written == 3 + (2 * 40) // 4


@pytest.mark.parametrize(
    ("seen", "asked", "expected"),
    [
        (Seen("m", Usage(5, 6), 99, True), 1, (Usage(5, 6), False)),
        (Seen("m", Usage(5, 1), 99, False), 1, (Usage(5, 99), True)),
        (Seen("m", Usage(5, 100), 99, False), 1, (Usage(5, 100), True)),
        (Seen("m", None, 99), 7, (Usage(7, 99), True)),
        (Seen("m", None, 99), None, (None, True)),
    ],
)
def test_what_was_not_counted_is_guessed_and_says_so(
    seen: Seen, asked: int | None, expected: tuple[Usage | None, bool]
) -> None:
    assert settled(seen, asked) == expected


# -- what was asked -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("POST", "/v1/messages", "messages"),
        ("POST", "/v1/messages/count_tokens", OTHER),
        ("POST", "/v1/messages/batches", OTHER),
        ("POST", "/v1/responses", "responses"),
        ("GET", "/v1/responses/resp_1", OTHER),
        ("POST", "/v1/embeddings", "embeddings"),
        ("POST", "/v1/completions", "completions"),
        ("POST", "/openai/deployments/x/chat/completions", "completions"),
        ("GET", "/v1/chat/completions", OTHER),
        ("POST", "/v1beta/models/gemini-2.5-pro:generateContent", "generate"),
        ("POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "generate"),
        ("POST", "/v1beta/models/gemini-2.5-pro:countTokens", OTHER),
        ("POST", "/api/chat", "generate"),
        ("POST", "/api/embed", "embeddings"),
        ("POST", "/v1/images/generations", "images"),
        ("POST", "/v1/files", OTHER),
        ("GET", "/v1/models", OTHER),
        ("POST", "/", OTHER),
    ],
)
def test_paths_that_ask_a_model_are_known(method: str, path: str, route: str) -> None:
    assert route_of(method, path) == route


@pytest.mark.parametrize(
    ("accept", "kept"),
    [
        (b"identity", b"identity"),
        (b"gzip, deflate", b"gzip, deflate"),
        (b"br, gzip;q=0.5, zstd", b"gzip;q=0.5"),
        (b"br", b"identity"),
        (b"*", b"identity"),
        (b"", b"identity"),
        (b"GZIP,deflate", b"GZIP, deflate"),
    ],
)
def test_codings_that_cannot_be_undone_are_not_asked_for(accept: bytes, kept: bytes) -> None:
    assert readable(accept) == kept


def asked(route: str, path: str, body: bytes) -> AskedWatch:
    watched = AskedWatch(route, path)
    for at in range(0, len(body), 7):
        watched.feed(body[at : at + 7])
    watched.finish()
    return watched


def test_a_request_names_its_model_and_its_text_is_guessed() -> None:
    body = dump(
        {
            "model": "claude-sonnet-4-5",
            "system": "a" * 400,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "b b " * 100},
                        {"type": "image", "source": {"data": "QUJD" * 5000}},
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 5000}},
                    ],
                }
            ],
        }
    )
    watched = asked("messages", "/v1/messages", body)
    assert watched.model == "claude-sonnet-4-5"
    assert watched.is_whole
    assert watched.tokens is not None
    assert 200 <= watched.tokens <= 240, "texts, and no files"


def test_a_path_names_the_model() -> None:
    assert asked("generate", "/v1beta/models/gemini-2.5-pro:generateContent", b"{}").model == "gemini-2.5-pro"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"x"', b'{"model": 7}', dump({"model": "\x00"}), dump({"model": "m" * 201}), b"\xff"],
)
def test_an_odd_request_names_nobody(body: bytes) -> None:
    assert asked("messages", "/v1/messages", body).model == ""


def test_too_large_a_request_is_not_kept() -> None:
    watched = asked("messages", "/v1/messages", dump({"model": "m", "text": "x" * (600 << 10)}))
    assert (watched.model, watched.tokens) == ("", None)


def test_paths_that_ask_no_model_are_not_kept() -> None:
    watched = asked(OTHER, "/v1/files", dump({"model": "m", "text": "x"}))
    assert (watched.model, watched.tokens) == ("", None)


def test_what_is_not_text_is_not_guessed() -> None:
    watched = asked("images", "/v1/images/generations", dump({"model": "gpt-image-1", "prompt": "a cat"}))
    assert (watched.model, watched.tokens) == ("gpt-image-1", None)
