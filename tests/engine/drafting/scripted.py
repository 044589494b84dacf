"""A scripted model for drafts, edits of a text, and how many steps an answer took with a draft."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from semcache.engine.drafting.draft import Draft
from semcache.engine.drafting.judge import judge


@dataclass(frozen=True, slots=True)
class Course:
    """How an answer came about; `rows` went through the model."""

    steps: int
    rows: int
    accepted: int
    rejected: int


def say(answer: Sequence[int], draft: Draft, limit: int = 16) -> Course:
    """Have a model say `answer` whatever is proposed; every step verifies at most `limit` guesses."""
    said: list[int] = []
    steps = rows = accepted = rejected = 0
    while len(said) < len(answer):
        guess = draft.propose(min(limit, len(answer) - len(said) - 1))
        assert len(guess) <= limit

        def draw(row: int) -> int:
            token = answer[len(said)]
            said.append(token)
            draft.observe(token)
            return token

        verdict = judge(guess, draw, lambda: len(said) == len(answer))
        steps, rows = steps + 1, rows + 1 + len(guess)
        accepted, rejected = accepted + verdict.accepted, rejected + verdict.rejected
    return Course(steps, rows, accepted, rejected)


def text(length: int, seed: int = 0, words: int = 2_000) -> list[int]:
    """Tokens with frequencies like those of words (Zipf)."""
    rng = random.Random(seed)
    weights = [1 / (rank + 2) for rank in range(words)]
    return rng.choices(range(words), weights, k=length)


def scattered(tokens: Sequence[int], agreement: float, seed: int = 0) -> list[int]:
    """Replace, delete and insert single tokens, so that a share of them is left alone."""
    rng = random.Random(seed)
    edited: list[int] = []
    for token in tokens:
        if rng.random() < agreement:
            edited.append(token)
            continue
        match rng.choice(("replace", "delete", "insert")):
            case "replace":
                edited.append(rng.randrange(3_000))
            case "insert":
                edited += [rng.randrange(3_000), token]
    return edited


def passages(tokens: Sequence[int], agreement: float, seed: int = 0) -> list[int]:
    """Replace, delete and insert passages of 8 to 40 tokens, so that a share of them is left alone."""
    rng = random.Random(seed)
    edited: list[int] = []
    at = 0
    while at < len(tokens):
        part = tokens[at : at + rng.randint(8, 40)]
        at += len(part)
        other = text(rng.randint(5, 30), seed=rng.randrange(1 << 30))
        if rng.random() < agreement:
            edited += part
            continue
        match rng.choice(("replace", "delete", "insert")):
            case "replace":
                edited += other
            case "insert":
                edited += [*other, *part]
    return edited
