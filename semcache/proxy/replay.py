"""Writing a whole answer again: as one JSON object or as a stream of events, under a fresh identity.

What does not change from replay to replay is rendered once and kept for recent entries; a replay
then costs one join. Knows nothing of why the answer may be served.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from semcache.answer.render import Template, json_template, sse_template
from semcache.core import Completion


class Replay:
    """Renders completions; an LRU of templates is bounded by count and bytes.

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
        self._kept: OrderedDict[tuple[str, bool, bool, bool], Template] = OrderedDict()

    def render(
        self, completion: Completion, name: str, *, stream: bool, include_usage: bool, zero_usage: bool
    ) -> bytes:
        """Give the bytes of a reply body.

        Args:
            completion: the answer.
            name: identity of the answer for keeping its template, or "" for a one-off.
            stream: server-sent events instead of one JSON object.
            include_usage: a stream ends with its usage event.
            zero_usage: tokens are reported as zero, the original counts beside them.
        """
        key = (name, stream, include_usage and stream, zero_usage)
        template = self._kept.get(key) if name else None
        if template is None:
            template = (
                sse_template(completion, include_usage=include_usage, zero_usage=zero_usage)
                if stream
                else json_template(completion, zero_usage=zero_usage)
            )
            self._keep(key, template)
        else:
            self._kept.move_to_end(key)
        return template.fill(self._new_id(), int(self._now()))

    def _keep(self, key: tuple[str, bool, bool, bool], template: Template) -> None:
        if not key[0] or template.size > self._max_bytes // 8:
            return
        self._kept[key] = template
        self._bytes += template.size
        while self._bytes > self._max_bytes:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= gone.size
