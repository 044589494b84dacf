"""An upstream that answers at once: raw asyncio protocol on uvloop, about 0.75 kB of text a reply.

The text is deterministic and begins with a tag of the question, so that whoever gets an answer can
tell whether it is the answer to what was asked. JSON, or server-sent events when the body says
`"stream": true`. Run as a program it prints its port and serves until it is killed:

    python scripts/bench/rig/upstream.py [--core N]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
from typing import cast

import orjson
import uvloop

WORDS = 24
"""Events with text in a streamed reply."""
_FILLER = "That depends on what was set up before, on who may change it, and on how much of it is to stay as it is; "
_REST = (_FILLER * 8)[:735]
_TAG_BYTES = 6


def tag_of(question: str) -> str:
    """Give the word that the answer to this question begins with."""
    return hashlib.blake2s(question.encode(), digest_size=_TAG_BYTES).hexdigest()


def _question(body: bytes) -> tuple[str, bool]:
    """Give the last user text (or the input of another endpoint), and whether a stream is wanted."""
    document = orjson.loads(body)
    messages = document.get("messages")
    text = messages[-1]["content"] if messages else document.get("input", "")
    return text, bool(document.get("stream"))


def _json_parts() -> tuple[bytes, bytes]:
    """Give what stands before and after the tag in a JSON reply."""
    document = {
        "id": "chatcmpl-0123456789",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": f"\x00 {_REST}"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 14, "completion_tokens": 170, "total_tokens": 184},
    }
    before, _, after = orjson.dumps(document).partition(b"\\u0000")
    return before, after


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-0123456789",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _sse_parts() -> tuple[bytes, bytes]:
    """Give what stands before and after the tag in a streamed reply; its length is always the same."""
    step = len(_REST) // (WORDS - 1) + 1
    texts = [_REST[start : start + step] for start in range(0, len(_REST), step)]
    events = [_event({"role": "assistant", "content": ""}), _event({"content": "\x00 "})]
    events += [_event({"content": text}) for text in texts]
    events += [_event({}, "stop"), b"data: [DONE]\n\n"]
    before, _, after = b"".join(events).partition(b"\\u0000")
    return before, after


class _Replies:
    """Both replies, laid out but for the tag."""

    def __init__(self) -> None:
        json_before, json_after = _json_parts()
        length = len(json_before) + 2 * _TAG_BYTES + len(json_after)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % length
        self._json = head + json_before, json_after
        sse_before, sse_after = _sse_parts()
        length = len(sse_before) + 2 * _TAG_BYTES + len(sse_after)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        self._sse = head + b"%x\r\n" % length + sse_before, sse_after + b"\r\n0\r\n\r\n"

    def of(self, body: bytes) -> bytes:
        text, stream = _question(body)
        before, after = self._sse if stream else self._json
        return b"".join((before, tag_of(text).encode(), after))


class Upstream(asyncio.Protocol):
    """One connection; keep-alive, bodies by content-length or chunked."""

    def __init__(self, replies: _Replies) -> None:
        self._replies = replies
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is a WriteTransport without being registered as one.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (request := self._next()) is not None:
            assert self._transport is not None
            self._transport.write(self._replies.of(request))

    def _next(self) -> bytes | None:
        """Take the body of one whole request from the buffer."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self._buffer[:end]).lower()
        if b"transfer-encoding: chunked" in head:
            last = self._buffer.find(b"\r\n0\r\n\r\n", end)
            if last < 0:
                return None
            body = _unchunked(bytes(self._buffer[end + 4 : last + 2]))
            del self._buffer[: last + 7]
            return body
        _, _, rest = head.partition(b"content-length:")
        length = int(rest.split(b"\r\n", 1)[0]) if rest else 0
        if len(self._buffer) < end + 4 + length:
            return None
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        del self._buffer[: end + 4 + length]
        return body


def _unchunked(data: bytes) -> bytes:
    body, place = b"", 0
    while place < len(data):
        line = data.index(b"\r\n", place)
        size = int(data[place:line], 16)
        body += data[line + 2 : line + 2 + size]
        place = line + 4 + size
    return body


async def _serve() -> None:
    replies = _Replies()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Upstream(replies), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description="An upstream that answers at once.")
    parser.add_argument("--core", type=int, help="CPU core to stay on")
    chosen = parser.parse_args()
    if chosen.core is not None:
        os.sched_setaffinity(0, {chosen.core})
    uvloop.run(_serve())


if __name__ == "__main__":
    main()
