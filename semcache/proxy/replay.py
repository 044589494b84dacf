"""Writing a whole answer again, in any dialect: as one document or as a stream, under a fresh identity.

What does not change from replay to replay is rendered once and kept for recent entries; a replay
then costs one join. First in, first out: laying an answer out again is cheap.
Knows nothing of why the answer may be served.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from semcache.core import Completion, Entry
from semcache.dialects.dialect import Dialect, Layout, Wanted

_Key = tuple[str, Dialect, Wanted]
_OVERHEAD = 600
"""Bytes reckoned for the objects around an answer's bytes."""


def name_of(entry: Entry) -> str:
    """Name an answer as it stands: each edited one, and each published for a question, is laid out anew.

    The tenant is part of it, since an import brings its ids along, and another tenant may have one of them.
    """
    return f"{entry.tenant}/{entry.id}.{entry.version}.{entry.created_at}"


class Replay:
    """Renders completions; the layouts of recent answers are kept within a bound.

    Args:
        new_completion_id: gives a fresh id in hex digits.
        now: Unix seconds.
        max_bytes: memory they may take, about.
    """

    def __init__(
        self, new_completion_id: Callable[[], str], now: Callable[[], float], max_bytes: int
    ) -> None:
        self._new_id = new_completion_id
        self._now = now
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[_Key, Layout] = OrderedDict()

    def render(self, dialect: Dialect, completion: Completion, name: str, wanted: Wanted) -> bytes:
        """Give the bytes of a reply body.

        Args:
            dialect: what the client speaks.
            completion: the answer.
            name: identity of the answer for keeping its parts, or "" for a one-off.
            wanted: the wire mode, and what is said of usage.

        Raises:
            ValueError: the dialect cannot say it (`Dialect.can_replay`).
        """
        key = (name, dialect, wanted)
        parts = self._kept.get(key) if name else None
        if parts is None:
            parts = dialect.layout(completion, wanted)
            self._keep(key, parts)
        return parts.whole(self._new_id().encode(), b"%d" % int(self._now()))

    def _keep(self, key: _Key, parts: Layout) -> None:
        if not key[0] or _size(parts) > self._max_bytes // 8:
            return
        self._kept[key] = parts
        self._bytes += _size(parts)
        while self._bytes > self._max_bytes:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= _size(gone)


def _size(parts: Layout) -> int:
    return parts.size + _OVERHEAD
