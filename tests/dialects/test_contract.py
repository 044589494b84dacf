"""Every dialect holds to the contract: nothing is lost, nothing is invented, whatever way the network cuts it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from semcache.core import Completion
from semcache.dialects.dialect import Dialect, ErrorWords, Incomplete
from semcache.dialects.keeping import kept
from tests.dialects import contract as by
from tests.dialects.answers import FEATURES, any_document, documents, texts
from tests.dialects.natures import SPEAKING, nature_of

EXAMPLES = 20
each = pytest.mark.parametrize("dialect", SPEAKING, ids=lambda dialect: dialect.name)
modes = st.booleans()
sizes = st.integers(1, 60) | st.just(1 << 20)
few = settings(max_examples=EXAMPLES)


def sayable(data: st.DataObject, dialect: Dialect) -> dict[str, Any]:
    """Draw an answer that the dialect has words for."""
    known = sorted(nature_of(dialect).says)
    features = st.frozensets(st.sampled_from(known), max_size=3) if known else st.just(frozenset())
    document: dict[str, Any] = data.draw(features.flatmap(documents))
    return document


@each
@few
@given(st.data(), modes, sizes, st.sampled_from(("plain", "escaped", "crlf")))
def test_an_answer_survives_its_replay_in_both_wire_modes(
    dialect: Dialect, data: st.DataObject, stream: bool, size: int, spelling: str
) -> None:
    document = sayable(data, dialect)
    completion = by.stored(document)
    assert dialect.can_replay(completion, stream=stream)
    reply = dialect.layout(completion, by.wanted(stream=stream)).whole(by.ID, by.CREATED)
    if spelling == "escaped":
        reply = by.escaped(reply)
    elif spelling == "crlf" and stream:
        reply = reply.replace(b"\n", b"\r\n")
    again = by.assembled(dialect, reply, stream=stream, size=size)
    nature = nature_of(dialect)
    assert by.answer_of(again, nature) == by.said(document, nature)
    assert by.used(again) == by.used(completion)


@each
@few
@given(any_document, modes)
def test_what_a_replay_would_lose_is_not_replayed(dialect: Dialect, document: Any, stream: bool) -> None:
    completion, nature = by.stored(document), nature_of(dialect)
    wanted = by.wanted(stream=stream)
    if dialect.can_replay(completion, stream=stream):
        reply = dialect.layout(completion, wanted).whole(by.ID, by.CREATED)
        again = by.assembled(dialect, reply, stream=stream)
        assert by.answer_of(again, nature) == by.said(document, nature)
    else:
        with pytest.raises(ValueError, match=r"\w"):
            dialect.layout(completion, wanted)


@each
@pytest.mark.parametrize("feature", FEATURES)
@settings(max_examples=3)
@given(st.data())
def test_features_without_words_are_refused_and_those_with_words_are_not(
    dialect: Dialect, feature: str, data: st.DataObject
) -> None:
    document = data.draw(documents(frozenset((feature,))))
    possible = feature in nature_of(dialect).says
    assert dialect.can_replay(by.stored(document), stream=True) == possible
    assert dialect.can_replay(by.stored(document), stream=False) == possible
    if possible:
        dialect.write_answer(document)
    else:
        with pytest.raises(ValueError, match=r"\w"):
            dialect.write_answer(document)


@each
@few
@given(st.data())
def test_writing_and_reading_an_answer_are_inverse(dialect: Dialect, data: st.DataObject) -> None:
    document = sayable(data, dialect)
    nature = nature_of(dialect)
    answer = dialect.write_answer({"id": "chatcmpl-1", "created": 5, **document})
    read = dialect.read_answer(json.loads(json.dumps(answer)))
    assert not {"id", "created"} & read.keys()
    assert by.said(read, nature) == by.said(document, nature)
    bare = dialect.bare(answer)
    assert dialect.bare(bare) == bare
    assert by.said(dialect.read_answer(bare), nature) == by.said(document, nature)


@each
@few
@given(st.data(), sizes)
def test_a_live_stream_says_what_the_whole_says(dialect: Dialect, data: st.DataObject, size: int) -> None:
    document, nature = sayable(data, dialect), nature_of(dialect)
    completion = by.stored(document)
    writer = dialect.live_writer(by.wanted(stream=True), by.ID.decode(), int(by.CREATED))
    sent = b"".join([writer.feed(chunk) for chunk in by.chat_stream(completion)])
    cut = by.assembled(dialect, sent, stream=True)
    sent += writer.finish()
    again = by.assembled(dialect, sent, stream=True, size=size)
    assert by.answer_of(again, nature) == by.said(document, nature)
    assert by.used(again) == by.used(completion)
    # Without its end it is not taken for whole.
    assert isinstance(cut, Incomplete)
    assert (by.ID in sent) == nature.has_ids


NOTHING: list[dict[str, Any]] = [
    {"choices": []},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]},
    {"choices": [{"index": 0, "delta": {"reasoning_content": None, "tool_calls": None}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [], "refusal": None}}], "usage": None},
]
"""Chunks that servers send and that say nothing."""


@each
@few
@given(st.data(), st.lists(st.tuples(st.integers(0, 99), st.sampled_from(NOTHING)), max_size=6))
def test_chunks_that_say_nothing_change_nothing(
    dialect: Dialect, data: st.DataObject, more: list[tuple[int, dict[str, Any]]]
) -> None:
    document, nature = sayable(data, dialect), nature_of(dialect)
    chunks = by.chat_stream(by.stored(document))
    ends = next(n for n, one in enumerate(chunks) if any(c["finish_reason"] for c in one["choices"]))
    for at, chunk in more:
        chunks.insert(
            at % (ends + 1), {"object": "chat.completion.chunk", "model": document["model"], **chunk}
        )
    writer = dialect.live_writer(by.wanted(stream=True), by.ID.decode(), int(by.CREATED))
    sent = b"".join([writer.feed(chunk) for chunk in chunks]) + writer.finish()
    again = by.assembled(dialect, sent, stream=True)
    assert by.answer_of(again, nature) == by.said(document, nature)


@each
@few
@given(
    texts,
    st.sampled_from((("length", "content"), ("content_filter", "content"), ("stop", "refusal"))),
)
def test_what_is_cut_filtered_or_refused_is_never_told_as_a_good_answer(
    dialect: Dialect, text: str, case: tuple[str, str]
) -> None:
    finish, place = case
    is_good = place == "refusal" and not nature_of(dialect).refuses
    message = {"role": "assistant", "content": None, place: text}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    document = {"object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    told: dict[str, Any] | None = None
    with contextlib.suppress(ValueError):
        told = dialect.write_answer({"id": "chatcmpl-1", "created": 5, **document})
    if told is not None:
        assert text.encode() in json.dumps(told, ensure_ascii=False).encode() or json.dumps(
            text
        ) in json.dumps(told)
        assert isinstance(kept(dialect, told), Completion if is_good else Incomplete)
    head = {"object": "chat.completion.chunk", "model": "m"}
    chunks = [
        {
            **head,
            "choices": [{"index": 0, "delta": {"role": "assistant", place: text}, "finish_reason": None}],
        },
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {**head, "choices": [], "usage": usage},
    ]
    writer = dialect.live_writer(by.wanted(stream=True), by.ID.decode(), int(by.CREATED))
    sent = b"".join([writer.feed(chunk) for chunk in chunks]) + writer.finish()
    assert isinstance(by.assembled(dialect, sent, stream=True), Completion if is_good else Incomplete)


@each
@few
@given(st.data(), sizes, st.sampled_from(("plain", "escaped", "crlf")))
def test_a_stream_is_read_live_as_chat(
    dialect: Dialect, data: st.DataObject, size: int, spelling: str
) -> None:
    document, nature = sayable(data, dialect), nature_of(dialect)
    completion = by.stored(document)
    reply = dialect.layout(completion, by.wanted(stream=True)).whole(by.ID, by.CREATED)
    if spelling != "plain":
        reply = by.escaped(reply) if spelling == "escaped" else reply.replace(b"\n", b"\r\n")
    reader = dialect.live_reader()
    chunks = [chunk for part in by.parts(reply, size) for chunk in reader.feed(part)] + reader.finish()
    assert reader.is_done
    assert not any({"id", "created"} & chunk.keys() for chunk in chunks)
    again = by.of_chunks(chunks)
    assert by.answer_of(again, nature) == by.said(document, nature)
    assert by.used(again) == by.used(completion)


@each
@few
@given(st.data(), st.integers(0, 10**6))
def test_half_a_stream_is_never_taken_for_whole(dialect: Dialect, data: st.DataObject, at: int) -> None:
    document, nature = sayable(data, dialect), nature_of(dialect)
    reply = dialect.layout(by.stored(document), by.wanted(stream=True)).whole(by.ID, by.CREATED)
    for cut in (at % len(reply), len(reply) - 3 - at % 8):
        outcome = by.assembled(dialect, reply[:cut], stream=True)
        if isinstance(outcome, Completion):
            assert by.answer_of(outcome, nature) == by.said(document, nature)
            assert reply[cut:].strip() in (b"", b"}") or len(reply) - cut < 40
    reader = dialect.live_reader()
    reader.feed(reply[: len(reply) // 2])
    reader.finish()
    assert not reader.is_done


@each
@few
@given(st.data(), modes)
def test_replays_differ_in_id_and_time_alone(dialect: Dialect, data: st.DataObject, stream: bool) -> None:
    layout = dialect.layout(by.stored(sayable(data, dialect)), by.wanted(stream=stream))
    one = layout.whole(by.ID, by.CREATED)
    assert b"".join(layout.events(by.ID, by.CREATED)) == one
    assert layout.whole(by.ID, by.CREATED) == one
    assert layout.size > 0
    assert (by.ID in one) == nature_of(dialect).has_ids
    assert layout.whole(by.OTHER_ID, by.CREATED) == one.replace(by.ID, by.OTHER_ID)
    for before, after in zip(by.events_of(one), by.events_of(layout.whole(by.ID, by.LATER)), strict=True):
        later = dict(by.leaves(after))
        changed = [path for path, value in by.leaves(before) if later.get(path) != value]
        assert all(re_time(path[-1]) for path in changed), changed


def re_time(name: Any) -> bool:
    return any(word in str(name).lower() for word in ("creat", "completed_at", "time"))


@each
@few
@given(st.data(), modes)
def test_a_replay_costs_nothing_unless_told_otherwise(
    dialect: Dialect, data: st.DataObject, stream: bool
) -> None:
    completion = by.stored(sayable(data, dialect))
    reply = dialect.layout(completion, by.wanted(stream=stream, usage="zero")).whole(by.ID, by.CREATED)
    again = by.assembled(dialect, reply, stream=stream)
    assert by.used(again) in ((0, 0), None)


@each
@few
@given(st.data(), modes, st.integers(0, 10**6))
def test_fields_nobody_knows_come_back_in_the_replay(
    dialect: Dialect, data: st.DataObject, stream: bool, at: int
) -> None:
    """Wherever an upstream puts a field of its own, a replay holds it, or there is none in this wire mode."""
    completion = by.stored(sayable(data, dialect))
    reply = dialect.layout(completion, by.wanted(stream=stream)).whole(by.ID, by.CREATED)
    events = by.events_of(reply)
    number = at % len(events)
    places = [place for _, place in by.objects(events[number])]
    places[at // 7 % len(places)]["x_vendor"] = "markfield"
    changed = by.with_event(reply, number, events[number]) if stream else json.dumps(events[0]).encode()
    again = by.assembled(dialect, changed, stream=stream)
    if isinstance(again, Incomplete):
        return
    replayable = [mode for mode in (False, True) if dialect.can_replay(again, stream=mode)]
    assert stream in replayable
    for mode in replayable:
        assert b"markfield" in dialect.layout(again, by.wanted(stream=mode)).whole(by.ID, by.CREATED)


@each
@few
@given(st.data(), st.integers(0, 10**6))
def test_a_native_answer_comes_back_equal(dialect: Dialect, data: st.DataObject, at: int) -> None:
    answer = dialect.write_answer({"id": "chatcmpl-1", "created": 5, **sayable(data, dialect)})
    places = [place for _, place in by.objects(answer)]
    places[at % len(places)]["x_vendor"] = {"a": ["markfield"]}
    outcome = kept(dialect, answer)
    assume(isinstance(outcome, Completion))
    assert isinstance(outcome, Completion)
    assert dialect.can_replay(outcome, stream=False)
    whole = by.whole_of(dialect, outcome)
    assert whole == dialect.bare(json.loads(json.dumps(answer)))
    if dialect.can_replay(outcome, stream=True):
        reply = dialect.layout(outcome, by.wanted(stream=True)).whole(by.ID, by.CREATED)
        again = by.assembled(dialect, reply, stream=True)
        assert isinstance(again, Completion)
        if again.chunks is None:
            assert by.answer_of(again) == by.answer_of(outcome)
        else:
            # Words beside a list of log probabilities cannot be put together: the stream is kept as it came.
            assert b"markfield" in again.chunks
        assert b"markfield" in reply


words_of_errors = st.builds(
    ErrorWords,
    texts,
    st.sampled_from((400, 401, 403, 404, 413, 429, 500, 502, 503, 504)),
    st.sampled_from(("invalid_request_error", "rate_limit_error", "upstream_error", "server_error")),
    st.none() | st.sampled_from(("invalid_json", "rate_limited")),
    st.none() | st.just("messages"),
)


@each
@few
@given(words_of_errors)
def test_errors_are_told_and_read(dialect: Dialect, error: ErrorWords) -> None:
    body = dialect.write_error(error)
    assert isinstance(json.loads(body), dict)
    read = dialect.read_error(error.status, body)
    assert (read.message, read.status) == (error.message, error.status)
    assert dialect.read_error(read.status, dialect.write_error(read)) == read


@each
@few
@given(
    st.integers(400, 599),
    st.binary(max_size=60) | texts.map(lambda text: json.dumps({"error": text}).encode()),
)
def test_any_error_reply_can_be_read(dialect: Dialect, status: int, body: bytes) -> None:
    read = dialect.read_error(status, body)
    assert read.message
    assert read.type
    assert read.status == status


@each
@few
@given(st.data(), words_of_errors, st.integers(0, 10**6))
def test_a_broken_stream_ends_in_an_error(
    dialect: Dialect, data: st.DataObject, error: ErrorWords, at: int
) -> None:
    completion = by.stored(sayable(data, dialect))
    events = list(dialect.layout(completion, by.wanted(stream=True)).events(by.ID, by.CREATED))
    sent = b"".join(events[: at % len(events)]) + dialect.write_error_event(error)
    outcome = by.assembled(dialect, sent, stream=True)
    assert isinstance(outcome, Incomplete)
    assert outcome.reason == "error"
    reader = dialect.live_reader()
    chunks = reader.feed(sent) + reader.finish()
    assert chunks[-1]["error"]["message"] == error.message
    writer = dialect.live_writer(by.wanted(stream=True), by.ID.decode(), int(by.CREATED))
    told = writer.feed({"error": {"message": error.message, "type": error.type}})
    ended = by.assembled(dialect, told + writer.finish(), stream=True)
    assert isinstance(ended, Incomplete)
    assert ended.reason == "error"


@each
@few
@given(st.data(), st.binary(max_size=80), sizes)
def test_no_bytes_disturb_who_reads(dialect: Dialect, data: st.DataObject, noise: bytes, size: int) -> None:
    reply = dialect.layout(by.stored(sayable(data, dialect)), by.wanted(stream=True)).whole(by.ID, by.CREATED)
    half = reply[: len(reply) // 2]
    for stream in (half + noise, noise, noise + b"\n\n" + reply, half + b"\ndata: " + noise + b"\n\n"):
        by.assembled(dialect, stream, stream=True, size=size)
        by.assembled(dialect, stream, stream=False, size=size)
        reader = dialect.live_reader()
        for part in by.parts(stream, size):
            reader.feed(part)
        reader.finish()
        dialect.count_events(stream)


@each
@few
@given(st.data())
def test_pieces_of_a_stream_are_counted(dialect: Dialect, data: st.DataObject) -> None:
    reply = dialect.layout(by.stored(sayable(data, dialect)), by.wanted(stream=True)).whole(by.ID, by.CREATED)
    assert dialect.count_events(reply) >= 1
    assert dialect.count_events(b"") == 0
