"""Remembers what texts were read as: many short ones, few longer ones, none that is long.

A number alone bounds no memory: what a text of 2,000 characters is read as takes 140 kB, of 60 it takes 10. So nobody
who asks long questions can make this process hold more than some ten thousand short ones take.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

SHORT, MANY = 200, 4096
"""Characters of a short text, and how many such are remembered."""
LONGEST, FEW = 2_000, 256
"""Characters of the longest text that is remembered, and how many longer than short ones are."""
LONGEST_WORD = 64
"""Characters of the longest word whose forms are remembered, or asked for: what is longer is no word that has any."""


class Remembered(Generic[P, R]):
    """Calls `read`, a pure function of hashable arguments, once for equal ones, as far as remembered.

    Args:
        read: what is to be remembered.
        length: characters that the arguments hold.
    """

    def __init__(self, read: Callable[P, R], length: Callable[..., int]) -> None:
        self._read, self._length = read, length
        self._short, self._longer = lru_cache(MANY)(read), lru_cache(FEW)(read)
        update_wrapper(self, read)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        """Give what `read` gives."""
        length = self._length(*args, **named)
        if length <= SHORT:
            return self._short(*args, **named)  # type: ignore[arg-type]  # hashable, as the class says
        return self._longer(*args, **named) if length <= LONGEST else self._read(*args, **named)  # type: ignore[arg-type]  # as above

    def forget(self) -> None:
        """Forget all."""
        self._short.cache_clear()
        self._longer.cache_clear()


def remembered(length: Callable[..., int]) -> Callable[[Callable[P, R]], Remembered[P, R]]:
    """Decorate a function with its memory; see `Remembered`."""
    return lambda read: Remembered(read, length)
