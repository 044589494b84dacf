"""Which stored answers can be repeated in which dialect and wire mode, remembered for those that were looked at a moment ago.

To tell it, most dialects have to write the answer in their own words, which costs more than the rest of a hit. Pure but for
what it remembers: yes or no for so many answers at most, first in, first out; no texts.
"""

from __future__ import annotations

from collections import OrderedDict

from semcache.core import Completion, Entry
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect, Wanted

_MOST = 8192
"""Answers, dialects and wire modes remembered: about 2 MiB."""

_Key = tuple[str, str, int, float, int, Dialect, bool]


class Repeatable:
    """Tells whether answers lose nothing when they are repeated.

    Args:
        most: of how many it remembers that.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: OrderedDict[_Key, bool] = OrderedDict()

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._known)

    def __call__(self, entry: Entry, dialect: Dialect, *, stream: bool) -> bool:
        """Give what `Dialect.can_replay` says of an entry's answer; False for one that no proxy has put together."""
        completion = entry.completion
        if dialect is CHAT and completion.chunks is None:
            return dialect.can_replay(completion, stream=stream)
        # An edited answer keeps its id and gets another version; public ones are named after their question.
        key = (entry.tenant, entry.id, entry.version, entry.created_at, completion.size, dialect, stream)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _repeats(dialect, completion, stream=stream)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return known


def _repeats(dialect: Dialect, completion: Completion, *, stream: bool) -> bool:
    try:
        if not dialect.can_replay(completion, stream=stream):
            return False
        if completion.chunks is not None or completion.native is not None:
            # An import may have brought it in any shape; who asks gets a fresh answer then, and no error.
            dialect.layout(completion, Wanted(stream, include_usage=stream))
    except (ValueError, TypeError, LookupError, AttributeError):
        return False
    return True
