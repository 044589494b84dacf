"""What trimming a growing conversation costs and saves, by how the cut moves.

    .venv/bin/python scripts/bench/history.py [--turns 200] [--tokens 120]

One conversation grows turn by turn; each request is sent whole, through a window that slides with every turn, and through
one that is cut in hops (`semcache.shortening`). For each: input tokens sent, how many of them stood at the same place in the
request before (a prompt cache reads those), and the price of both at a tenth for cached ones. Pure arithmetic on guessed tokens.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from rich.console import Console
from rich.table import Table

from semcache.cost_rules import HistoryPolicy, Trimming
from semcache.shortening.cutting import find_cut, without
from semcache.tokens import tokens_of

Messages = list[dict[str, Any]]
_CACHED = 0.1


def conversation(turns: int, tokens: int, seed: int) -> Messages:
    chance = random.Random(seed)
    said: Messages = [{"role": "system", "content": "x" * 4 * 800}]
    for turn in range(turns):
        for role in ("user", "assistant"):
            length = max(8, int(chance.expovariate(1 / tokens)))
            said.append({"role": role, "content": f"{role} {turn} " + "x" * 4 * length})
    return said


def sliding(messages: Messages, keep: int) -> Messages:
    """The oldest turns go with each new one, so that about `keep` tokens are left."""
    start = 1
    while sum(map(size, messages[start:])) > keep and start < len(messages) - 1:
        start += 1
        while messages[start]["role"] != "user":
            start += 1
    return [messages[0], *messages[start:]]


def hops(messages: Messages, rules: HistoryPolicy) -> Messages:
    cut = find_cut(messages, rules)
    return messages if cut is None else [dict(message) for message in without(messages, cut)]


def size(message: dict[str, Any]) -> int:
    return tokens_of(message["content"])


def measure(said: Messages, window: Callable[[Messages], Messages]) -> tuple[int, int]:
    sent = cached = 0
    before: Messages = []
    for end in range(2, len(said) + 1, 2):
        now = window(said[:end])
        same = takewhile(lambda pair: pair[0] == pair[1], zip(now, before, strict=False))
        cached += sum(size(message) for message, _ in same)
        sent += sum(map(size, now))
        before = now
    return sent, cached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=120, help="mean tokens of a message")
    parser.add_argument("--above", type=int, default=8000)
    parser.add_argument("--keep", type=int, default=4000)
    given = parser.parse_args()
    rules = HistoryPolicy(Trimming.WINDOW, given.above, given.keep)
    mean = (given.above + given.keep) // 2
    ways: dict[str, Callable[[Messages], Messages]] = {
        "whole": lambda m: m,
        f"sliding, {given.keep} kept": lambda m: sliding(m, given.keep),
        f"sliding, {mean} kept": lambda m: sliding(m, mean),
        f"hops, {given.above} down to {given.keep}": lambda m: hops(m, rules),
    }
    table = Table(title=f"one conversation of {given.turns} turns, mean of 5 seeds")
    for name in ("window", "input tokens", "at the same place as before", "price, whole = 100"):
        table.add_column(name, justify="left" if name == "window" else "right")
    whole = 0.0
    for name, window in ways.items():
        runs = [measure(conversation(given.turns, given.tokens, seed), window) for seed in range(5)]
        sent, cached = (sum(column) / len(runs) for column in zip(*runs, strict=True))
        price = sent - cached * (1 - _CACHED)
        whole = whole or price
        table.add_row(name, f"{sent:,.0f}", f"{cached / sent:.1%}", f"{price / whole * 100:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
