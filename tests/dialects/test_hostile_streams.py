"""Streams in which any one value has any other type: whatever reads or writes them may give up, and must not fall over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from semcache.core import Completion
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Incomplete, Wanted
from semcache.dialects.gemini.wire import GEMINI_ARRAY
from tests.dialects import contract as by
from tests.dialects.natures import SPEAKING
from tests.fakes.upstream_server import chat_body

WANTED = Wanted(stream=True, include_usage=True, usage="original")
ODD: tuple[Any, ...] = (None, 5, -1, "", [], {}, True, [[]], [5], {"a": 1}, "x", 1.5)
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
ANSWERS = (
    chat_body("Good day."),
    chat_body(
        "Good day.", message={"reasoning_content": "hm", "tool_calls": [CALL]}, finish_reason="tool_calls"
    ),
)
EVERY = [*SPEAKING, GEMINI_ARRAY]


def name_of(dialect: Dialect) -> str:
    return "gemini.array" if dialect is GEMINI_ARRAY else dialect.name


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def split(dialect: Dialect, stream: bytes) -> tuple[list[tuple[str, Any]], str, str]:
    """Give the events of a stream, each as what leads it and its JSON, and what stands between and behind them."""
    if dialect is GEMINI_ARRAY:
        return [("", one) for one in json.loads(stream)], ",", "]"
    between = "\n" if dialect.family == "ollama" else "\n\n"
    found: list[tuple[str, Any]] = []
    for event in stream.decode().split(between):
        lead, mark, data = event.rpartition("data: ")
        if data.startswith("{"):
            found.append((lead + mark, json.loads(data)))
    return found, between, between


def hostile(dialect: Dialect, document: dict[str, Any]) -> Iterator[bytes]:
    """Give streams of an answer, each with one value of another type, or with an event lost, doubled or moved."""
    try:
        stream = dialect.layout(by.stored(document), WANTED).whole(by.ID, by.CREATED)
    except ValueError:
        return
    events, between, last = split(dialect, stream)
    first = "[" if dialect is GEMINI_ARRAY else ""
    end = "data: [DONE]\n\n" if stream.endswith(b"data: [DONE]\n\n") else ""
    number = 0
    for at, (lead, event) in enumerate(events):
        variants = [events[:at] + events[at + 1 :], events[: at + 1] + events[at:], events[at:] + events[:at]]
        for path in places(event):
            # Each place gets some of the odd values; all of them are had by some.
            some = (ODD[(number + step) % len(ODD)] for step in (0, 5))
            variants += ([*events[:at], (lead, put(event, path, new)), *events[at + 1 :]] for new in some)
            number += 1
        for several in variants:
            text = between.join(head + json.dumps(one) for head, one in several)
            yield (first + text + last + end).encode()


@pytest.mark.parametrize("document", ANSWERS, ids=["text", "calls"])
@pytest.mark.parametrize("dialect", EVERY, ids=name_of)
def test_whatever_collects_or_reads_a_stream_does_not_fall_over(
    dialect: Dialect, document: dict[str, Any]
) -> None:
    for stream in hostile(dialect, document):
        found = by.assembled(dialect, stream, stream=True)
        assert isinstance(found, Completion | Incomplete)
        reader = dialect.live_reader()
        chunks = [*reader.feed(stream), *reader.finish()]
        for chunk in chunks:
            assert isinstance(chunk, dict)
            CHAT.live_writer(WANTED, "f00d", 1).feed(chunk)


@pytest.mark.parametrize("document", ANSWERS, ids=["text", "calls"])
@pytest.mark.parametrize("dialect", [one for one in EVERY if one is not CHAT], ids=name_of)
def test_whatever_writes_a_stream_does_not_fall_over(dialect: Dialect, document: dict[str, Any]) -> None:
    for stream in hostile(CHAT, document):
        reader, writer = CHAT.live_reader(), dialect.live_writer(WANTED, "f00d" * 6, 1)
        for chunk in reader.feed(stream):
            assert isinstance(writer.feed(chunk), bytes), chunk
        assert isinstance(writer.finish(), bytes)


@pytest.mark.parametrize("document", ANSWERS, ids=["text", "calls"])
@pytest.mark.parametrize("dialect", EVERY, ids=name_of)
def test_a_whole_answer_is_read_or_refused(dialect: Dialect, document: dict[str, Any]) -> None:
    try:
        answer = dialect.write_answer(document)
    except ValueError:
        return
    for path in places(answer):
        for new in ODD:
            assembler = dialect.assembler("application/json")
            assert assembler is not None
            assembler.feed(json.dumps(put(answer, path, new)).encode())
            assert isinstance(assembler.finish(), Completion | Incomplete)
