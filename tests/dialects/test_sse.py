"""The event stream splitter: bytes in, the same bytes out, whatever the chunking."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.dialects.sse import SseEvent, SseSplitter


def split(stream: bytes, cuts: list[int] | None = None, **options: int) -> list[SseEvent]:
    splitter = SseSplitter(**options)
    marks = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts or [])})
    events: list[SseEvent] = []
    for start, end in itertools.pairwise(marks):
        events += splitter.feed(stream[start:end])
    return events + splitter.finish()


def dispatched(stream: bytes) -> list[tuple[bytes, bytes]]:
    return [(event.name, event.data) for event in split(stream) if event.data]


pieces = st.sampled_from(
    [
        b"data: a",
        b"data:b",
        b"data",
        b"event: x",
        b": ping",
        b"id: 1",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        "雪🐍".encode(),
        b"\xef\xbb\xbf",
        b" ",
        b"\x00",
    ]
)
streams = st.lists(pieces, max_size=30).map(b"".join)


@given(streams, st.lists(st.integers(0, 300), max_size=12))
def test_chunking_changes_nothing_and_no_byte_is_lost(stream: bytes, cuts: list[int]) -> None:
    whole = split(stream)
    assert b"".join(event.raw for event in whole) == stream
    assert split(stream, cuts) == whole
    assert split(stream, list(range(len(stream)))) == whole


@given(streams, st.lists(st.integers(0, 300), max_size=12), st.integers(0, 8))
def test_no_byte_is_lost_over_the_cap_either(stream: bytes, cuts: list[int], cap: int) -> None:
    assert b"".join(event.raw for event in split(stream, cuts, max_event=cap)) == stream


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: 1\n\ndata: 2\n\n", [(b"", b"1"), (b"", b"2")]),
        (b"data: 1\r\n\r\ndata: 2\r\n\r\n", [(b"", b"1"), (b"", b"2")]),
        (b"data: 1\r\rdata: 2\r\r", [(b"", b"1"), (b"", b"2")]),
        (b"data: 1\n\r\ndata: 2\r\n\n", [(b"", b"1"), (b"", b"2")]),
        (b"data: a\ndata: b\n\n", [(b"", b"a\nb")]),
        (b"data:  two\n\n", [(b"", b" two")]),
        (b"event: error\ndata: {}\n\n", [(b"error", b"{}")]),
        (b"event:  two\ndata:  three\n\n", [(b" two", b" three")]),
        (b"event:x\ndata: 1\n\n", [(b"x", b"1")]),
        (b"event: x\ndata:1\n\n", [(b"x", b"1")]),
        (b"event: x\r\ndata: 1\r\n\r\n", [(b"x", b"1")]),
        (b"event: x\rdata: 1\n\n", [(b"x", b"1")]),
        (b"event: x\ndata: 1\rdata: 2\n\n", [(b"x", b"1\n2")]),
        (b"event: \ndata: 1\n\n", [(b"", b"1")]),
        (b"event: x\nevent: y\ndata: 1\n\n", [(b"y", b"1")]),
        (b"event: x\ndata: 1\nevent: y\n\n", [(b"y", b"1")]),
        (b"data: 1\nevent: x\n\n", [(b"x", b"1")]),
        (b"event: x\nid: data: 1\n\n", []),
        (b"event: x\n\ndata: 1\n\n", [(b"", b"1")]),
        (b"\xef\xbb\xbfevent: x\ndata: 1\n\n", [(b"x", b"1")]),
        (b": ping\n\ndata: 1\n\n", [(b"", b"1")]),
        (b"\xef\xbb\xbfdata: 1\n\n", [(b"", b"1")]),
        (b"data: 1\n\n\n\n\ndata: 2\n\n", [(b"", b"1"), (b"", b"2")]),
        (b"data: 1\n", []),
        ("data: 雪\n\n".encode(), [(b"", "雪".encode())]),
    ],
)
def test_events_are_those_of_the_standard(stream: bytes, expected: list[tuple[bytes, bytes]]) -> None:
    assert dispatched(stream) == expected


lines = st.lists(
    st.sampled_from(
        [b"data: a", b"data:  a", b"data:b", b"event: x", b"event:y", b"event: ", b": c", b"id: 1"]
    ),
    min_size=1,
    max_size=4,
)


@given(lines)
def test_short_ways_read_what_the_long_one_does(found: list[bytes]) -> None:
    # No short way is taken where lines end in CR LF.
    assert dispatched(b"\n".join([*found, b"\n"])) == dispatched(b"\r\n".join([*found, b"\r\n"]))


def test_a_byte_order_mark_counts_only_at_the_start() -> None:
    assert dispatched(b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n") == [(b"", b"1")]


def test_an_event_is_given_as_soon_as_it_is_complete() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: 1\n") == []
    assert [event.data for event in splitter.feed(b"\n")] == [b"1"]


def test_what_is_left_over_is_marked() -> None:
    assert split(b"data: 1\n\ndata: 2")[-1] == SseEvent(b"data: 2", None)


def test_an_event_over_the_cap_ends_the_parsing_but_not_the_passing_on() -> None:
    splitter = SseSplitter(max_event=10)
    assert [event.data for event in splitter.feed(b"data: 1\n\ndata: 23456789")] == [b"1", None]
    assert splitter.overflowed
    assert splitter.feed(b"\n\ndata: 3\n\n") == [SseEvent(b"\n\ndata: 3\n\n", None)]
