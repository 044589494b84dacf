"""Behaviours of the scripted upstream: answers as they should be, and as they should not."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Sequence
from typing import Any

from tests.fakes.upstream_wire import (
    JSON_TYPE,
    SSE_TYPE,
    Behaviour,
    Early,
    Exchange,
    Headers,
)


def chat_body(text: str | None = "Paris.", **changes: Any) -> dict[str, Any]:
    """Build a complete chat.completion object; `message`, `finish_reason` and top-level fields by name."""
    message = {"role": "assistant", "content": text, "refusal": None, **changes.pop("message", {})}
    finish = changes.pop("finish_reason", "stop")
    return {
        "id": "chatcmpl-upstream",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m-2026",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 5,
            "total_tokens": 17,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
        "system_fingerprint": "fp_1",
        **changes,
    }


def chat_chunks(
    texts: Sequence[str] = ("Pa", "ris", "."), *, usage: bool = True, finish: str | None = "stop"
) -> list[dict[str, Any]]:
    """Build the chunk objects of a streamed chat answer."""

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-upstream",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": "m-2026",
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
        }

    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text}) for text in texts)]
    if finish is not None:
        chunks.append(chunk({}, finish))
    if usage:
        tokens = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
        chunks.append({**chunk({}), "choices": [], "usage": tokens})
    return chunks


def sse_bytes(chunks: Sequence[Any], *, done: bool = True, newline: str = "\n") -> bytes:
    """Encode chunk objects (or ready data strings) as an event stream."""
    lines = [c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in chunks]
    if done:
        lines.append("[DONE]")
    return "".join(f"data: {line}{newline}{newline}" for line in lines).encode()


def compress(data: bytes, coding: str) -> bytes:
    """Encode with `gzip`, `deflate` (zlib) or `raw-deflate`; anything else stays as it is."""
    if coding == "gzip":
        return gzip.compress(data)
    if coding == "deflate":
        return zlib.compress(data)
    if coding == "raw-deflate":
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(data) + packer.flush()
    return data


def reply(
    body: bytes,
    *,
    status: int = 200,
    headers: Headers = (JSON_TYPE,),
    delay: float = 0.0,
    coding: str = "identity",
    close: bool = False,
) -> Behaviour:
    """Answer with a content-length body after `delay` seconds."""
    encoded = compress(body, coding)
    extra = [] if coding == "identity" else [("content-encoding", coding.removeprefix("raw-"))]

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(delay)
        await exchange.head(status, [*headers, *extra, ("content-length", str(len(encoded)))])
        await exchange.send(encoded)
        if close:
            exchange.close()

    return behave


def json_reply(value: Any, **options: Any) -> Behaviour:
    """Answer with a JSON document; options as for `reply`."""
    return reply(json.dumps(value, ensure_ascii=False).encode(), **options)


def chat_json(text: str = "Paris.", **options: Any) -> Behaviour:
    """Answer with a complete chat.completion."""
    return json_reply(chat_body(text), **options)


def error_reply(
    status: int = 429, message: str = "slow down", headers: Headers = (), **options: Any
) -> Behaviour:
    """Answer with an OpenAI-shaped error."""
    body = {"error": {"message": message, "type": "upstream", "code": None, "param": None}}
    return json_reply(body, status=status, headers=[JSON_TYPE, *headers], **options)


def stream(
    body: bytes,
    *,
    piece: int = 0,
    pause: float = 0.0,
    delay: float = 0.0,
    status: int = 200,
    headers: Headers = (SSE_TYPE,),
    coding: str = "identity",
    trailers: bytes = b"",
) -> Behaviour:
    """Answer chunked, `piece` bytes a chunk (0: all in one) with `pause` seconds between chunks."""
    encoded = compress(body, coding)
    size = piece or max(1, len(encoded))
    extra = [] if coding == "identity" else [("content-encoding", coding.removeprefix("raw-"))]

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(delay)
        await exchange.head(status, [*headers, *extra, ("transfer-encoding", "chunked")])
        for start in range(0, len(encoded), size):
            await exchange.chunk(encoded[start : start + size])
            if pause:
                await asyncio.sleep(pause)
        await exchange.end(trailers)

    return behave


def chat_sse(texts: Sequence[str] = ("Pa", "ris", "."), **options: Any) -> Behaviour:
    """Answer with a complete streamed chat answer, one event a chunk unless `piece` says otherwise."""
    chunks = chat_chunks(texts, usage=options.pop("usage", True))
    if options.get("piece"):
        return stream(sse_bytes(chunks), **options)
    return sse_events([sse_bytes([c], done=False) for c in chunks] + [b"data: [DONE]\n\n"], **options)


def sse_events(events: Sequence[bytes], *, pause: float = 0.0, delay: float = 0.0) -> Behaviour:
    """Write each of `events` as one HTTP chunk, `pause` seconds apart."""

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(delay)
        await exchange.head(200, [SSE_TYPE, ("transfer-encoding", "chunked")])
        for event in events:
            await exchange.chunk(event)
            if pause:
                await asyncio.sleep(pause)
        await exchange.end()

    return behave


def cut(body: bytes, *, headers: Headers = (SSE_TYPE,), reset: bool = False) -> Behaviour:
    """Send `body` of a chunked answer, then close (or reset) without its end."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head(200, [*headers, ("transfer-encoding", "chunked")])
        await exchange.chunk(body)
        await asyncio.sleep(0.02)
        exchange.reset() if reset else exchange.close()

    return behave


def stall(body: bytes | None = None, *, headers: Headers = (SSE_TYPE,)) -> Behaviour:
    """Send nothing (body None), or a head and `body`, then hang until the client leaves."""

    async def behave(exchange: Exchange) -> None:
        if body is not None:
            await exchange.head(200, [*headers, ("transfer-encoding", "chunked")])
            await exchange.chunk(body)
        await exchange.hang()

    return behave


def trickle(data: bytes, pause: float) -> Behaviour:
    """Send raw bytes of a reply one at a time."""

    async def behave(exchange: Exchange) -> None:
        for i in range(len(data)):
            await exchange.send(data[i : i + 1])
            await asyncio.sleep(pause)

    return behave


def raw(data: bytes, *, close: bool = True) -> Behaviour:
    """Send exactly these bytes, head and all."""

    async def behave(exchange: Exchange) -> None:
        await exchange.send(data)
        if close:
            exchange.close()

    return behave


def reset() -> Behaviour:
    """Reset the connection instead of answering."""

    async def behave(exchange: Exchange) -> None:
        exchange.reset()

    return behave


def hang_up() -> Behaviour:
    """Close the connection in order instead of answering (what a stale keep-alive looks like)."""

    async def behave(exchange: Exchange) -> None:
        exchange.close()

    return behave


def huge(
    size: int, *, piece: int = 65536, headers: Headers = (("content-type", "application/octet-stream"),)
) -> Behaviour:
    """Send `size` bytes chunked as fast as they are taken."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head(200, [*headers, ("transfer-encoding", "chunked")])
        for start in range(0, size, piece):
            await exchange.chunk(b"x" * min(piece, size - start))
        await exchange.end()

    return behave


def echo() -> Behaviour:
    """Answer with the request's own body as it arrives; its head comes back in `x-echo-*` headers."""

    async def behave(exchange: Exchange) -> None:
        request = exchange.request
        kind = request.header("content-type") or "application/octet-stream"
        await exchange.head(
            200,
            [
                ("content-type", kind),
                ("x-echo-method", request.method),
                ("x-echo-target", request.target),
                ("transfer-encoding", "chunked"),
            ],
        )
        if request.complete:
            await exchange.chunk(request.body)
        async for part in exchange.body_parts():
            request.body += part
            await exchange.chunk(part)
        request.complete = True
        await exchange.end()

    return Early(behave)
