"""Bytes of tokens to text that may be shown: whole characters, nothing of a stop string.

Pure state machines; know nothing of models or HTTP. The result does not depend on how the
bytes or the text were cut into pieces.
"""

from __future__ import annotations

import codecs


class Utf8Stream:
    """Joins byte pieces to text and keeps a character back until its last byte is there.

    Bytes that can never become a character turn into U+FFFD, as any decoder does; a character
    that is merely not finished yet never does, not even when the text ends inside it.
    """

    def __init__(self, drop_first_space: bool = False) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._drop_space = drop_first_space

    def feed(self, piece: bytes) -> str:
        """Give the characters that `piece` completes."""
        text = self._decoder.decode(piece)
        if self._drop_space and text:
            self._drop_space = False
            text = text.removeprefix(" ")
        return text


class StopGuard:
    """Lets text through up to the first complete stop string; holds back what may become one.

    The stop string that is complete first wins, of those complete together the longest.
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._held = ""

    def feed(self, text: str) -> tuple[str, bool]:
        """Take new text; give what may be shown now and whether a stop string was met."""
        self._held += text
        cut = self._first_stop()
        if cut is not None:
            shown, self._held = self._held[:cut], ""
            return shown, True
        keep = self._possible_start()
        shown = self._held[: len(self._held) - keep]
        self._held = self._held[len(self._held) - keep :]
        return shown, False

    def flush(self) -> str:
        """Give the rest: the text ended and what was held back is no stop string."""
        rest, self._held = self._held, ""
        return rest

    def _first_stop(self) -> int | None:
        found = [(at + len(stop), at) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        return min(found)[1] if found else None

    def _possible_start(self) -> int:
        """Give the length of the longest tail that begins some stop string."""
        longest = max((len(stop) for stop in self._stops), default=1) - 1
        for size in range(min(longest, len(self._held)), 0, -1):
            tail = self._held[-size:]
            if any(stop.startswith(tail) for stop in self._stops):
                return size
        return 0
