"""Take the usage chunk out of a client's stream when only the proxy asked the upstream for it.

Pure and incremental. All other bytes pass unchanged.
"""

from __future__ import annotations

import orjson

from semcache.dialects.sse import SseEvent, SseSplitter


class UsageStripper:
    """Feed the stream, get it back without the event whose `choices` is empty and `usage` filled."""

    def __init__(self) -> None:
        self._splitter = SseSplitter()

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes; give those that may go on (events leave when they are complete)."""
        return b"".join([event.raw for event in self._splitter.feed(chunk) if not _is_usage(event)])

    def finish(self) -> bytes:
        """Give what is left at the end, or when the stream broke off."""
        return b"".join([event.raw for event in self._splitter.finish() if not _is_usage(event)])


def _is_usage(event: SseEvent) -> bool:
    # Looked for as bytes first: parsing every event would cost more than passing it on.
    if not event.data or b'"usage"' not in event.data:
        return False
    try:
        chunk = orjson.loads(event.data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(chunk, dict) and chunk.get("choices") == [] and isinstance(chunk.get("usage"), dict)
