"""What one teller of a chat said, clause by clause, as tokens that can be set against another teller's.

A token is a unit of content (see `words`) or a figure (`#3`), with the words that make it. Knows
nothing of how two chats are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.context.clauses import asks, sentences
from semcache.decide.context.matter import value
from semcache.decide.context.record import Record, load
from semcache.decide.context.sayings import pieces
from semcache.decide.context.words import base, spans, words_of
from semcache.decide.rereading import remembered
from semcache.decide.text import is_han

Token = tuple[str, tuple[str, ...]]
"""The unit, and the words that make it."""
_ANSWERED = ("Yes: ", "No: ")
_INDEFINITE = frozenset(("one", "一"))
"""Figures that mostly are none."""


@dataclass(frozen=True, slots=True)
class Saying:
    """One clause: in which turn it was said, its tokens, and the form of every word.

    `echo`: a question of the assistant to which the user said plainly yes or no.
    """

    place: int
    text: str
    tokens: tuple[Token, ...]
    forms: tuple[str, ...]
    units: frozenset[str]
    asks: bool
    echo: bool


@dataclass(frozen=True, slots=True)
class Telling:
    """A chat as one tells it.

    `user`: what the user said, in order, the last text's clauses at the end; `last` counts those. `heard`: what
    the assistant said; `offer`: the assistant's last turn. `social`: turns answered with small talk alone.
    """

    record: Record
    user: tuple[Saying, ...]
    last: int
    heard: tuple[Saying, ...]
    offer: tuple[Saying, ...]
    social: frozenset[int]
    units: frozenset[str]
    heard_units: frozenset[str]

    @property
    def question(self) -> Saying:
        """The last clause of all."""
        return self.user[-1]

    def closes(self, saying: Saying) -> bool:
        """True for the last clause of all, which is what is asked."""
        return saying is self.user[-1]


@lru_cache(maxsize=512)
def telling(context: bytes) -> Telling | None:
    """Take a stored record apart; None for bytes that are none, or that hold no question."""
    record = load(context)
    if record is None or not record.last.strip():
        return None
    before = sorted(
        (*zip(record.told_at, record.told, strict=True), *zip(record.asides_at, record.asides, strict=True)),
        key=lambda said: said[0],
    )
    end = 1 + max((place for place, _ in before), default=0)
    asked = [piece for part in sentences(record.last) for piece in pieces(part)] or [record.last]
    user = tuple(saying(place, text) for place, text in (*before, *((end, piece) for piece in asked)))
    heard = tuple(saying(0, text) for text in record.heard)
    return Telling(
        record=record,
        user=user,
        last=len(asked),
        heard=heard,
        offer=tuple(saying(0, text) for text in record.offer),
        social=frozenset(record.social),
        units=units_of(user),
        heard_units=units_of(heard),
    )


@remembered(lambda _, text: len(text))
def saying(place: int, text: str) -> Saying:
    """Read one clause."""
    words = words_of(text)
    tokens = tuple(_tokens(words))
    return Saying(
        place=place,
        text=text,
        tokens=tokens,
        forms=tuple(word if is_han(word) else base(word) for word in words),
        units=frozenset(unit for unit, _ in tokens),
        asks=asks(text),
        echo=text.startswith(_ANSWERED),
    )


def units_of(said: Iterable[Saying]) -> frozenset[str]:
    """Give the units of several clauses."""
    return frozenset(unit for part in said for unit in part.units)


def is_figure(unit: str) -> bool:
    """True for a token that stands for a figure."""
    return unit.startswith("#")


def figure(word: str) -> str:
    """Give the figure that a word spells, "" for none and for the article-like `one`."""
    return "" if word in _INDEFINITE else value(word)


def _tokens(words: tuple[str, ...]) -> Iterable[Token]:
    found = {start: (unit, words[start:end]) for unit, start, end in spans(words)}
    inside = {i for _, start, end in spans(words) for i in range(start, end)}
    for i, word in enumerate(words):
        number = figure(word)
        if number and i not in inside:
            yield f"#{number}", (word,)
        elif number:
            yield f"#{number}", (word,)
            if i in found:
                yield found[i]
        elif i in found:
            yield found[i]
