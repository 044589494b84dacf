"""A whole reply in memory, as long as it is one that a memory can hold."""

from __future__ import annotations

from collections.abc import AsyncIterator

from semcache.errors import UpstreamError

_MOST = 64 << 20
"""Bytes. No answer of a model is as long; vectors of a large batch come near."""


async def gathered(chunks: AsyncIterator[bytes], most: int = _MOST) -> bytes:
    """Give all of a body.

    Raises:
        UpstreamError: 502 `upstream_invalid`, it is longer than `most`; what the body raises.
    """
    parts: list[bytes] = []
    size = 0
    async for part in chunks:
        size += len(part)
        if size > most:
            raise UpstreamError("The upstream's reply is too large.", code="upstream_invalid")
        parts.append(part)
    return b"".join(parts)
