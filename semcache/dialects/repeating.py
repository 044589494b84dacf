"""Which stored answers can be repeated in which dialect and wire mode, remembered for those that were looked at a moment ago.

To tell it, most dialects have to write the answer in their own words, which costs more than the rest of a hit. Pure but for
what it remembers: yes or no for so many answers at most, first in, first out; no texts.
"""

from __future__ import annotations

from collections import OrderedDict

from semcache.core import Entry
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Dialect

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
        """Give what `Dialect.can_replay` says of an entry's answer."""
        completion = entry.completion
        if dialect is CHAT:
            return dialect.can_replay(completion, stream=stream)
        # An edited answer keeps its id and gets another version; public ones are named after their question.
        key = (entry.tenant, entry.id, entry.version, entry.created_at, completion.size, dialect, stream)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = dialect.can_replay(completion, stream=stream)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return known
