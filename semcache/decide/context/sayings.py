"""What the two sides of a chat said that is more than courtesy, clause by clause.

A plain yes or no tells what it answers. Knows nothing of the last question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from semcache.decide.context.chatter import is_courtesy
from semcache.decide.context.clauses import asks, sentences
from semcache.decide.context.replies import answer
from semcache.decide.context.smalltalk import is_social, topics
from semcache.decide.context.turns import Turn

_SEVERAL = 2


def heard(history: Sequence[Turn]) -> Iterator[str]:
    """Yield the assistant's sentences that are more than courtesy."""
    for turn in history:
        if not turn.user:
            yield from (
                part
                for part in sentences(turn.text)
                if not (is_courtesy(part, user=False) or is_social(part))
            )


def social(history: Sequence[Turn]) -> Iterator[int]:
    """Yield the places of the user's turns to which the assistant said nothing but small talk, and said some."""
    for place, turn in enumerate(history):
        if not turn.user and place:
            said = [part for part in sentences(turn.text) if not is_courtesy(part, user=False)]
            if all(is_social(part) for part in said) and any(
                is_social(part) for part in sentences(turn.text)
            ):
                yield place - 1


def told(history: Sequence[Turn]) -> Iterator[tuple[int, str]]:
    """Yield the user's sentences that are more than courtesy, with the place of their turn.

    A plain yes or no tells what it answers.
    """
    for place, (before, turn) in enumerate(zip((None, *history), history, strict=False)):
        if not turn.user:
            continue
        for i, part in enumerate(sentences(turn.text)):
            sign = answer(part) if i == 0 and before is not None and not before.user else ""
            if sign and before is not None:
                questions = [said for said in sentences(before.text) if asks(said)]
                yield from ((place, f"{'No' if sign == '-' else 'Yes'}: {said}") for said in questions[-1:])
            yield from ((place, piece) for piece in pieces(part))


def pieces(sentence: str) -> Iterator[str]:
    """Yield a sentence without the courtesies and asides that lead into it or out of it."""
    if is_courtesy(sentence, user=True):
        return
    parts = [bare for piece in _commas().split(sentence) if (bare := _joint().sub("", piece.strip()))]
    if len(parts) < _SEVERAL:
        yield sentence
        return
    start, end = 0, len(parts)
    while start < end - 1 and is_courtesy(parts[start], user=True) and not answer(parts[start]):
        start += 1
    while end - 1 > start and is_courtesy(parts[end - 1], user=True):
        end -= 1
    kept = parts[start:end]
    asides = [piece for piece in kept if len(kept) > 1 and topics(piece)]
    yield from asides
    rest = ", ".join(piece for piece in kept if piece not in asides)
    if rest:
        yield sentence if rest == ", ".join(parts) else rest


@lru_cache(maxsize=1)
def _commas() -> re.Pattern[str]:
    # No quantified blank in front of a choice: that would be quadratic in a run of blanks.
    return re.compile(r"[,;…—()]|\.\.\.|(?<=\s)[-–]+(?=\s)|(?<=\s)but(?=\s)")


@lru_cache(maxsize=1)
def _joint() -> re.Pattern[str]:
    return re.compile(r"^(?:but|so|and|anyways?)\b[\s,]*", re.IGNORECASE)
