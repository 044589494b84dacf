"""Signs that something is wrong with answers: that one repeats itself, and that the same is asked again at once.

Pure; knows no requests, only texts and digests.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

REPETITIVE = 0.3
"""From this share on an answer counts as one that repeats itself."""

_SHORTEST = 120
_SEEN = 16_384
"""Characters that are looked at: the last ones, since a loop runs until something stops it."""
_LEAST_SPAN, _MOST_SPAN = 40, 400
_SPANS = 8
"""A span is this part of a text: long enough that rows of a table, lines of code and records of a list differ within one."""
_COPIES = 2
"""Copies that are no repetition: quoting and mending a piece of code takes two."""
_DENSE = 3
"""A character of a script without spaces says as much as about so many Latin ones."""


def repetition(text: str) -> float:
    """Say how much an answer repeats itself, word for word.

    Gives the share of places, among the last 16,384 characters, from which a long span (an eighth of the text, 40 to 400
    characters) reads as it did at two earlier places or more. 0 for good answers, tables, code and lists, whose rows differ somewhere; near 1
    for a loop. 0 for texts too short to tell. Spaces count once.

    Work: linear in what is looked at, a millisecond or two at most.
    """
    tail = " ".join(text[-4 * _SEEN :].split())[-_SEEN:]
    codes = np.frombuffer(tail.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    dense = _DENSE if np.count_nonzero(codes >= 0x2E80) * 2 > len(codes) else 1
    if len(codes) * dense < _SHORTEST:
        return 0.0
    span = max(_LEAST_SPAN, min(_MOST_SPAN, len(codes) * dense // _SPANS)) // dense
    names = _spans(codes, span)
    counts = np.unique(names, return_counts=True)[1]
    surplus = np.maximum(counts - _COPIES, 0).sum()
    return float(surplus / len(names))


def _spans(codes: NDArray[np.uint32], span: int) -> NDArray[np.uint64]:
    """Name the span at each place by a rolling polynomial hash, modulo 2^64: equal spans have equal names."""
    odd = np.uint64(0x9E3779B97F4A7C15)
    powers = np.cumprod(np.full(len(codes), odd, dtype=np.uint64))
    sums = np.concatenate(
        (np.zeros(1, np.uint64), np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * powers))
    )
    falling = powers[::-1][: len(codes) - span + 1]
    names: NDArray[np.uint64] = (sums[span:] - sums[:-span]) * falling
    return names


class Retries:
    """Remembers who asked what moments ago, to tell that the same is asked again.

    A caller that asks the very same again right after an answer was not content with it, or did not get it. Bounded by
    time and number: what was answered longest ago is forgotten first. Keeps no time of its own.

    Args:
        within: seconds.
        most: requests remembered.
        longest: seconds that a request takes at most; one that takes longer may be no retry.
    """

    def __init__(self, within: float = 60.0, most: int = 50_000, longest: float = 120.0) -> None:
        self._within = within
        self._most = most
        self._kept = within + longest
        self._asked: OrderedDict[tuple[str, str], float] = OrderedDict()

    @property
    def held(self) -> int:
        """Requests remembered."""
        return len(self._asked)

    def seen(self, tenant: str, digest: str, began: float, now: float) -> bool:
        """Note that a model (or an error) has answered, and say whether the same had been answered just before.

        Not to be called for what the cache answered, nor for those who shared a call. Times from one monotonic clock.

        Args:
            tenant: whose.
            digest: of the caller and all that makes the request the same.
            began: when this request came: what ended after it is no earlier answer.
            now: when it was answered.
        """
        place = (tenant, digest)
        before = self._asked.pop(place, None)
        self._asked[place] = now
        while len(self._asked) > self._most or now - next(iter(self._asked.values())) > self._kept:
            self._asked.popitem(last=False)
        return before is not None and before <= began and began - before <= self._within
