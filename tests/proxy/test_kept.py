"""What is kept to be quick is bounded by the memory it takes, not by its texts alone."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from semcache.core import Completion
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Wanted
from semcache.proxy.recent import RecentRequests, read_chat
from semcache.proxy.replay import Replay

ROOM = 1 << 20


def body_of(text: str) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()


@pytest.mark.parametrize("length", [10, 300, 5000])
def test_parsed_requests(length: int) -> None:
    recent = RecentRequests(ROOM)
    tracemalloc.start()
    for number in range(4 * ROOM // (1000 + length)):
        body = body_of(f"{number} {'word ' * (length // 5)}")
        recent.put("/v1/chat/completions", b"", body, read_chat(body))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ROOM / 2 < held < 1.5 * ROOM


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("length", [10, 3000])
def test_rendered_answers(length: int, stream: bool) -> None:
    replay = Replay(lambda: "0" * 32, lambda: 0.0, ROOM)
    tracemalloc.start()
    for number in range(4 * ROOM // (700 + length)):
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": f"{number} {'word ' * (length // 5)}"},
            "finish_reason": "stop",
        }
        reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        answer = Completion(json.dumps(reply).encode(), None)
        replay.render(CHAT, answer, f"acme/{number:026}.1.1700000000.123", Wanted(stream, include_usage=True))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ROOM / 2 < held < 1.5 * ROOM
