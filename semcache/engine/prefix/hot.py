"""Slots and tokens of the nodes that were asked for lately, ready to be handed out.

Prefixes worth caching are asked for again and again; building a `Run` or copying tokens anew
each time would be most of the cost of a match. Bounded: when full, all is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.engine.prefix.spans import TOKEN_BYTES
from semcache.engine.runs import Run

MOST_NODES = 1 << 15
"""About 3 MB of runs, and of texts what their tokens take."""

MOST_BYTES = 1 << 24


class RunsOfNodes(dict[int, Run]):
    """Gives `runs[node]`, from memory or from the columns."""

    def __init__(self, start: Sequence[int], length: Sequence[int]) -> None:
        super().__init__()
        self._start = start
        self._length = length

    def __missing__(self, node: int) -> Run:
        if len(self) >= MOST_NODES:
            self.clear()
        run = self[node] = Run(self._start[node], self._length[node])
        return run


class TextsOfNodes(dict[int, bytes]):
    """Gives `texts[node]`, the tokens of one node, from memory or from the text of all slots."""

    def __init__(self, text: bytearray, start: Sequence[int], length: Sequence[int]) -> None:
        super().__init__()
        self._text = text
        self._start = start
        self._length = length
        self._bytes = 0

    def __missing__(self, node: int) -> bytes:
        first = self._start[node] * TOKEN_BYTES
        tokens = bytes(self._text[first : first + self._length[node] * TOKEN_BYTES])
        self._bytes += len(tokens)
        if self._bytes > MOST_BYTES or len(self) >= MOST_NODES:
            self.clear()
            self._bytes = len(tokens)
        self[node] = tokens
        return tokens
