"""Finding the place in a draft again after the answer left it: an index of its n-grams.

The tokens just generated are looked for in the draft, as prompt-lookup decoding does in the
prompt (Saxena 2023, https://github.com/apoorvumang/prompt-lookup-decoding). Knows neither who
generates nor what becomes of a guess. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from semcache.errors import EngineError


@dataclass(frozen=True, slots=True)
class Alignment:
    """What counts as having found the place again; all in tokens.

    At least `shortest` tokens just generated must stand in the draft; agreement is counted up to
    `longest`. The place is expected in a corridor: from where answer and draft last surely
    agreed, on by as many tokens as were generated since. A place more than `near` tokens outside
    must agree by one token more, one more than `far` tokens outside by two. Within `close` tokens of its beginning a single
    token will do: most disagreements are a word replaced, added or left out. At most `candidates`
    places before that beginning and as many behind it are looked at.

    `sure` tokens of agreement in a row move the corridor: before that, a place is a guess.

    Raises:
        EngineError: `shortest` is less than one, or more than `longest`.
    """

    shortest: int = 2
    longest: int = 8
    close: int = 4
    near: int = 24
    far: int = 96
    candidates: int = 8
    sure: int = 8

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise EngineError(
                "the shortest agreement must be one token at least, and no longer than the longest"
            )


class Aligner:
    """The n-grams of one draft: built once, a bounded number of comparisons for each question."""

    def __init__(self, tokens: Sequence[int], rules: Alignment) -> None:
        self._tokens = tokens
        self._rules = rules
        self._ends: dict[tuple[int, ...], list[int]] = {}
        for end in range(rules.shortest, len(tokens) + 1):
            self._ends.setdefault(tuple(tokens[end - rules.shortest : end]), []).append(end)

    def locate(self, recent: Sequence[int], home: int, elapsed: int, doubt: int) -> int | None:
        """Give the place behind the best match of the last generated tokens, or None.

        The best has most tokens of agreement beyond what its distance asks for, then the least
        distance.

        Args:
            recent: the last generated tokens, as many as are at hand.
            home: the place where answer and draft last surely agreed.
            elapsed: how many tokens were generated since.
            doubt: how many tokens more than usual must agree, since earlier finds led nowhere.
        """
        best, found = (-1, 0), None
        for place in self._candidates(recent, home):
            distance = max(0, home - place, place - home - elapsed)
            surplus = self._agreement(recent, place) - self._needed(distance) - doubt
            if (surplus, -distance) > best:
                best, found = (surplus, -distance), place
        return found if found is not None or doubt else self._close(recent, home)

    def _needed(self, distance: int) -> int:
        rules = self._rules
        return rules.shortest + (distance > rules.near) + (distance > rules.far)

    def _candidates(self, recent: Sequence[int], home: int) -> list[int]:
        rules = self._rules
        if len(recent) < rules.shortest:
            return []
        ends = self._ends.get(tuple(recent[-rules.shortest :]), [])
        middle = bisect_left(ends, home)
        return ends[max(middle - rules.candidates, 0) : middle + rules.candidates]

    def _agreement(self, recent: Sequence[int], place: int) -> int:
        """Count how many of the last tokens stand just before a place, up to `longest`."""
        before = self._tokens[max(place - self._rules.longest, 0) : place]
        agreed = 0
        for ours, theirs in zip(reversed(recent), reversed(before), strict=False):
            if ours != theirs:
                break
            agreed += 1
        return agreed

    def _close(self, recent: Sequence[int], home: int) -> int | None:
        """Give the place behind the last token where that stands just behind `home`."""
        ahead = islice(self._tokens, home, home + self._rules.close)
        return next((home + at + 1 for at, token in enumerate(ahead) if token == recent[-1]), None)
