"""Replies on their way: what a model used just now is told, whatever replays say."""

from __future__ import annotations

import json

import pytest

from semcache.dialects.anthropic.wire import MESSAGES
from semcache.dialects.dialect import Dialect
from semcache.dialects.ollama.wire import OLLAMA_CHAT
from semcache.proxy.wording import wording_of
from tests.fakes.upstream_server import chat_chunks, sse_bytes


def last_usage(dialect: Dialect, sent: bytes) -> tuple[int, int]:
    if dialect is OLLAMA_CHAT:
        line = json.loads(sent.splitlines()[-1])
        return line["prompt_eval_count"], line["eval_count"]
    events = [json.loads(line[6:]) for line in sent.decode().split("\n") if line.startswith("data: ")]
    (usage,) = [event["usage"] for event in events if event["type"] == "message_delta"]
    return usage["input_tokens"], usage["output_tokens"]


@pytest.mark.parametrize("dialect", [OLLAMA_CHAT, MESSAGES], ids=lambda dialect: dialect.name)
def test_a_stream_in_another_dialect_tells_what_it_took(dialect: Dialect) -> None:
    wording = wording_of(dialect, "0" * 24, 1, strip=False)
    sent = wording.feed(sse_bytes(chat_chunks())) + wording.finish()
    assert last_usage(dialect, sent) == (12, 5)
