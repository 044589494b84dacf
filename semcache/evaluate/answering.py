"""The stand-in for the model: answers at once, and always the same whole answer.

The only part of an evaluation that is not the product's own. What is measured is which stored
answer would be served, never what the answers say, so that no language model need run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import orjson

from semcache.ports import UpstreamCall

_BODY = orjson.dumps(
    {
        "id": "chatcmpl-eval",
        "object": "chat.completion",
        "created": 0,
        "model": "eval",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "An answer."}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4},
    }
)


class ConstantReply:
    """A chat completion that is there already."""

    status = 200
    headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"application/json"),)

    async def body(self) -> AsyncIterator[bytes]:
        """Give the whole answer in one piece."""
        yield _BODY

    async def aclose(self) -> None:
        """Have nothing to close."""


class ConstantGenerator:
    """A `ports.Generator` that gives every call the same good answer."""

    name = "eval"

    async def open(self, call: UpstreamCall) -> ConstantReply:
        """Answer."""
        del call
        return ConstantReply()

    async def aclose(self) -> None:
        """Have nothing to close."""
