"""A revised answer in either wire mode, and read back by those who store it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Completion, DraftRecord, Usage
from semcache.dialects.chat.assemble import JsonAssembler, StreamAssembler
from semcache.dialects.chat.wire import CHAT
from semcache.revising.accounts import prediction_tokens, with_usage
from semcache.revising.replies import Written, drafted
from semcache.revising.writing import revised, written
from tests.fakes.upstream_server import chat_body
from tests.revising.scene import STORED, answer

USED = Usage(400, 25, 16)


def body_of(text: str, *, stream: bool, with_usage: bool = False) -> bytes:
    made = revised(answer(STORED), text, USED)
    return b"".join(written(made, CHAT, "9", 17.9, stream=stream, with_usage=with_usage))


def test_the_frame_is_kept_and_what_was_the_old_answers_own_is_not() -> None:
    old = answer(STORED, reasoning="x", choices=[chat_body(STORED)["choices"][0]])
    document = json.loads(revised(old, "new", USED).body)
    assert document == {
        "object": "chat.completion",
        "model": "m-2026",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "new", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 400,
            "completion_tokens": 25,
            "total_tokens": 425,
            "prompt_tokens_details": {"cached_tokens": 16},
        },
    }


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip), st.booleans(), st.booleans())
def test_what_is_written_is_read_back(text: str, stream: bool, usage: bool) -> None:
    assembler = StreamAssembler() if stream else JsonAssembler()
    assembler.feed(body_of(text, stream=stream, with_usage=usage))
    found = assembler.finish()
    assert isinstance(found, Completion)
    assert json.loads(found.body)["choices"][0]["message"]["content"] == text
    assert found.usage == (USED if usage or not stream else None)
    assert with_usage(found, USED).usage == USED


def test_id_and_time_are_fresh_and_the_stream_comes_in_pieces() -> None:
    document = json.loads(body_of("new", stream=False))
    assert (document["id"], document["created"]) == ("chatcmpl-9", 17)
    made = revised(answer(STORED), "word " * 200, USED)
    parts = list(written(made, CHAT, "9", 17.9, stream=True, with_usage=True))
    assert len(parts) > 5
    assert parts[-1].endswith(b"data: [DONE]\n\n")
    assert all(json.loads(part[6:].split(b"\n")[0])["id"] == "chatcmpl-9" for part in parts)


async def test_it_looks_like_an_upstreams_reply() -> None:
    kind = b"application/json"
    reply = Written(iter([b"a", b"b"]), DraftRecord("revise", "edited", "e1"), kind)
    assert reply.status == 200
    assert reply.headers[0] == (b"content-type", kind)
    assert drafted(reply.headers) == DraftRecord("revise", "edited", "e1")
    assert [part async for part in reply.body()] == [b"a", b"b"]
    await reply.aclose()


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        (b'{"usage":{"completion_tokens_details":{"accepted_prediction_tokens":3}}}', (3, 0)),
        (b'{"usage":{"completion_tokens_details":{"accepted_prediction_tokens":true}}}', (0, 0)),
        (b'{"usage":{"completion_tokens_details":{"rejected_prediction_tokens":-1}}}', (0, 0)),
        (b'{"usage":{"completion_tokens_details":{"rejected_prediction_tokens":1e9}}}', (0, 0)),
        (b'{"usage":{"completion_tokens_details":[]}}', (0, 0)),
        (b'{"usage":[]}', (0, 0)),
        (b"[]", (0, 0)),
        (b"", (0, 0)),
    ],
)
def test_counts_that_make_no_sense_are_none(body: bytes, tokens: tuple[int, int]) -> None:
    assert prediction_tokens(body) == tokens
