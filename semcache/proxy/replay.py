"""Writing a whole answer again: as one JSON object or as a stream of events, under a fresh identity.

What does not change from replay to replay is rendered once and kept for recent entries; a replay
then costs one join. First in, first out: laying an answer out again is cheap.
Knows nothing of why the answer may be served.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from semcache.core import Completion
from semcache.dialects.chat.render import JsonParts, SseParts, json_parts, sse_parts
from semcache.dialects.dialect import UsageMode

_Key = tuple[str, bool, bool, UsageMode]


class Replay:
    """Renders completions; the layouts of recent answers are kept within a bound.

    Args:
        new_completion_id: gives a fresh `chatcmpl-...` id.
        now: Unix seconds.
        max_bytes: rendered bytes kept.
    """

    def __init__(
        self, new_completion_id: Callable[[], str], now: Callable[[], float], max_bytes: int
    ) -> None:
        self._new_id = new_completion_id
        self._now = now
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[_Key, JsonParts | SseParts] = OrderedDict()

    def render(
        self, completion: Completion, name: str, *, stream: bool, include_usage: bool, usage: UsageMode
    ) -> bytes:
        """Give the bytes of a reply body.

        Args:
            completion: the answer.
            name: identity of the answer for keeping its parts, or "" for a one-off.
            stream: server-sent events instead of one JSON object.
            include_usage: a stream ends with its usage event.
            usage: tokens as they once were, or zero with the original counts beside them.
        """
        key = (name, stream, include_usage and stream, usage)
        parts = self._kept.get(key) if name else None
        if parts is None:
            parts = (
                sse_parts(completion, include_usage=include_usage, usage=usage)
                if stream
                else json_parts(completion, usage)
            )
            self._keep(key, parts)
        return parts.whole(self._new_id().encode(), b"%d" % int(self._now()))

    def _keep(self, key: _Key, parts: JsonParts | SseParts) -> None:
        if not key[0] or parts.size > self._max_bytes // 8:
            return
        self._kept[key] = parts
        self._bytes += parts.size
        while self._bytes > self._max_bytes:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= gone.size
