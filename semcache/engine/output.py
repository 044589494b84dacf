"""What one choice has said so far: tokens in, showable text and log probabilities out.

Pure: no model, no thread, no HTTP.
"""

from __future__ import annotations

from collections import deque

from semcache.engine.detokenise import StopGuard, Utf8Stream
from semcache.engine.generation import TokenLogprob
from semcache.engine.vocabulary import Vocabulary


class ChoiceOutput:
    """Assembles the answer of one choice.

    A token's log probability is given out together with the first character of its text, so
    that a client never sees probabilities of text that a stop string later takes away.
    """

    def __init__(self, vocabulary: Vocabulary, stops: tuple[str, ...]) -> None:
        self._vocabulary = vocabulary
        self._utf8 = Utf8Stream(vocabulary.drops_first_space)
        self._guard = StopGuard(stops)
        self._decoded = 0
        self._shown = 0
        self._waiting: deque[tuple[int, TokenLogprob]] = deque()

    def accept(self, token: int, logprob: TokenLogprob | None) -> tuple[str, tuple[TokenLogprob, ...], bool]:
        """Take the next token; give (new text, its log probabilities, whether a stop string ended it)."""
        if logprob is not None:
            self._waiting.append((self._decoded, logprob))
        text = self._utf8.feed(self._vocabulary.text_bytes(token))
        self._decoded += len(text)
        shown, stopped = self._guard.feed(text)
        self._shown += len(shown)
        released = self._release(self._shown)
        if stopped:
            self._waiting.clear()
        return shown, released, stopped

    def finish(self) -> tuple[str, tuple[TokenLogprob, ...]]:
        """Give what was held back; the answer ended without a stop string."""
        rest = self._guard.flush()
        self._shown += len(rest)
        return rest, self._release(self._decoded + 1)

    def _release(self, before: int) -> tuple[TokenLogprob, ...]:
        released = []
        while self._waiting and self._waiting[0][0] < before:
            released.append(self._waiting.popleft()[1])
        return tuple(released)
