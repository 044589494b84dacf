"""Synthetic traffic for a prefix cache, from a seed: who sends which prompt when, and how long the answer is.

A prompt is a tuple of segments (a system prompt, a document, a question ...); a segment stands for
tokens that no other segment begins with, and the same segment for the same tokens. Every seed
draws its own popularity, sizes, rates and pauses, so that no policy can be tuned to one of them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import accumulate, islice
from math import exp
from random import Random
from typing import NamedTuple


class Segment(NamedTuple):
    """Some text: its number and its length in tokens."""

    number: int
    length: int


class Request(NamedTuple):
    """A prompt that arrives at `now` seconds, and the answer that is computed after it."""

    now: float
    prompt: tuple[Segment, ...]
    answer: Segment


Trace = Iterator[Request]


class Author:
    """Makes segments of random length; all of one trace come from one author."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._made = 0

    def write(self, median: float, spread: float = 0.6, most: int = 16_000) -> Segment:
        """Make a segment of log-normal length."""
        self._made += 1
        length = median * exp(self.random.gauss(0, spread))
        return Segment(self._made, max(1, min(most, int(length))))


class Zipf:
    """Draws 0 to n - 1, the k-th with a weight of 1 / k^exponent."""

    def __init__(self, n: int, exponent: float) -> None:
        self._sums = list(accumulate(1 / (rank + 1) ** exponent for rank in range(n)))

    def draw(self, random: Random) -> int:
        return bisect(self._sums, random.random() * self._sums[-1])


def system_prompts(author: Author) -> Trace:
    """5 to 80 shared system prompts of differing popularity, each before a question of its own."""
    random = author.random
    median = random.choice([200, 600, 1500])
    prompts = [author.write(median, 0.8, 6000) for _ in range(random.randint(5, 80))]
    popular = Zipf(len(prompts), random.uniform(0.6, 1.4))
    rate, question = random.uniform(0.1, 3), random.choice([40, 150, 400])
    now = 0.0
    while True:
        now += random.expovariate(rate)
        yield Request(now, (prompts[popular.draw(random)], author.write(question)), author.write(120, 0.7))


def long_tail(author: Author) -> Trace:
    """1,500 to 15,000 prefixes, many seen once; a third of all seeds have mostly prefixes below 128 tokens."""
    random = author.random
    count, median = random.randint(1500, 15_000), random.choice([80, 300, 900])
    popular, rate = Zipf(count, random.uniform(0.6, 1.15)), random.uniform(0.1, 3)
    prefixes: dict[int, Segment] = {}
    now = 0.0
    while True:
        now += random.expovariate(rate)
        rank = popular.draw(random)
        if rank not in prefixes:
            prefixes[rank] = author.write(median, 0.7, 6000)
        yield Request(now, (prefixes[rank], author.write(40)), author.write(60))


def agents(author: Author) -> Trace:
    """4 to 40 agents at once on 1 to 4 tool prompts: each turn adds the answer and a tool's result."""
    random = author.random
    tools = [author.write(2500, 0.5) for _ in range(random.randint(1, 4))]
    pause, turns = random.choice([3, 10, 40]), random.choice([6, 15, 30])
    order = 0
    waiting: list[tuple[float, int, tuple[Segment, ...]]] = []
    for _ in range(random.randint(4, 40)):
        order += 1
        heappush(waiting, (random.random() * pause * 10, order, (random.choice(tools), author.write(300))))
    while True:
        now, _, prompt = heappop(waiting)
        answer = author.write(120)
        yield Request(now, prompt, answer)
        order += 1
        if random.random() < 1 / turns or sum(segment.length for segment in prompt) > 24_000:
            task = (random.choice(tools), author.write(300))
            heappush(waiting, (now + random.expovariate(1 / (pause * 5)), order, task))
        else:
            result = author.write(200 if random.random() < 0.8 else 1500, 0.8)
            heappush(waiting, (now + pause * exp(random.gauss(0, 0.8)), order, (*prompt, answer, result)))


def chats(author: Author) -> Trace:
    """Conversations of a few turns with pauses for thought; in some seeds half of each answer never comes back."""
    random = author.random
    systems = [author.write(500) for _ in range(random.randint(1, 8))]
    popular = Zipf(len(systems), 1.0)
    think, turns = random.choice([30, 90]), random.choice([2, 4, 8])
    rate, is_stripped = random.uniform(0.05, 0.5), random.random() < 0.3
    waiting: list[tuple[float, int, tuple[Segment, ...]]] = []
    order, opening = 0, 0.0
    while True:
        while not waiting or opening < waiting[0][0]:
            order += 1
            heappush(waiting, (opening, order, (systems[popular.draw(random)], author.write(80, 0.8))))
            opening += random.expovariate(rate)
        now, _, prompt = heappop(waiting)
        answer = author.write(200, 0.7)
        yield Request(now, prompt, answer)
        if random.random() > 1 / turns and sum(segment.length for segment in prompt) < 16_000:
            order += 1
            kept = author.write(100, 0.7) if is_stripped else answer
            later = now + think * exp(random.gauss(0, 1))
            heappush(waiting, (later, order, (*prompt, kept, author.write(80, 0.8))))


def documents(author: Author) -> Trace:
    """40 to 600 documents, each asked several questions in a row and again on other days."""
    random = author.random
    count, median = random.randint(40, 600), random.choice([1500, 4000])
    popular, instruction = Zipf(count, random.uniform(0.5, 1.1)), author.write(300, 0.4)
    questions, pause, rate = random.choice([1.5, 4, 8]), random.choice([20, 120]), random.uniform(0.01, 0.1)
    known: dict[int, Segment] = {}
    waiting: list[tuple[float, int, Segment]] = []
    order, opening = 0, 0.0
    while True:
        while not waiting or opening < waiting[0][0]:
            order += 1
            rank = popular.draw(random)
            if rank not in known:
                known[rank] = author.write(median, 0.7)
            heappush(waiting, (opening, order, known[rank]))
            opening += random.expovariate(rate)
        now, _, document = heappop(waiting)
        yield Request(now, (instruction, document, author.write(40)), author.write(100))
        if random.random() > 1 / questions:
            order += 1
            heappush(waiting, (now + pause * exp(random.gauss(0, 0.8)), order, document))


def scan_attack(author: Author) -> Trace:
    """Ordinary traffic, and somebody who sends long prompts that never come again: steadily or in bursts."""
    random = author.random
    ordinary = random.choice([system_prompts, documents, long_tail])(author)
    long, share, comes_in_bursts = (
        3000 * exp(random.gauss(0, 0.5)),
        random.uniform(0.1, 0.6),
        random.random() < 0.5,
    )
    is_on = False
    for request in ordinary:
        yield request
        if comes_in_bursts:
            is_on ^= random.random() < 0.01
            scans = 2 if is_on else 0
        else:
            scans = 0
            while random.random() < share:
                scans += 1
        for _ in range(scans):
            yield Request(request.now, (author.write(long, 0.4),), author.write(20))


def few_shot(author: Author) -> Trace:
    """Prompts built from parts, three deep: an instruction, its examples, a template; some sent four times at once."""
    random = author.random
    instructions = [author.write(300, 0.5) for _ in range(4)]
    sets, templates = Zipf(40, random.uniform(0.8, 1.2)), Zipf(200, random.uniform(0.6, 1.1))
    parts: dict[tuple[int, ...], Segment] = {}
    now = 0.0
    while True:
        now += random.expovariate(1)
        first = random.randrange(4)
        second = (first, sets.draw(random))
        third = (*second, templates.draw(random))
        middle = parts.setdefault(second, author.write(800, 0.5))
        last = parts.setdefault(third, author.write(400, 0.5))
        for _ in range(1 if random.random() < 0.8 else 4):
            yield Request(now, (instructions[first], middle, last, author.write(60)), author.write(80))


def drift(author: Author) -> Trace:
    """Shared prompts whose popularity is dealt out anew now and then, and which are replaced one by one."""
    random = author.random
    prompts = [author.write(700, 0.7) for _ in range(random.randint(30, 200))]
    popular, change = Zipf(len(prompts), random.uniform(0.7, 1.2)), random.choice([0.002, 0.01])
    now = 0.0
    while True:
        now += random.expovariate(1)
        if random.random() < change:
            random.shuffle(prompts)
        if random.random() < 5 * change:
            prompts[random.randrange(len(prompts))] = author.write(700, 0.7)
        yield Request(now, (prompts[popular.draw(random)], author.write(80)), author.write(120, 0.7))


def mixed(author: Author) -> Trace:
    """All of these at once, each at a rate of its own within a factor of four, but for the last two."""
    random = author.random
    streams = []
    for make in (system_prompts, long_tail, agents, chats, documents, scan_attack):
        stream = make(author)
        first = list(islice(stream, 300))
        scale = random.uniform(0.5, 2) * 300 / max(first[-1].now, 1e-9)
        streams.append((first, stream, scale))
    waiting: list[tuple[float, int, Request]] = []
    sources = [_chained(first, stream) for first, stream, _ in streams]
    for number, source in enumerate(sources):
        request = next(source)
        heappush(waiting, (request.now * streams[number][2], number, request))
    while True:
        now, number, request = heappop(waiting)
        yield Request(now, request.prompt, request.answer)
        following = next(sources[number])
        heappush(waiting, (following.now * streams[number][2], number, following))


def _chained(first: list[Request], rest: Trace) -> Trace:
    yield from first
    yield from rest


MAKERS: dict[str, Callable[[Author], Trace]] = {
    "system prompts": system_prompts,
    "long tail": long_tail,
    "agents": agents,
    "chats": chats,
    "documents": documents,
    "scan attack": scan_attack,
    "few-shot": few_shot,
    "drift": drift,
    "mixed": mixed,
}


def trace(name: str, seed: int, requests: int) -> list[Request]:
    """Make the first requests of a kind of traffic."""
    author = Author(Random(f"{name} {seed}"))
    return list(islice(MAKERS[name](author), requests))


def distinct_tokens(requests: list[Request]) -> int:
    """Count the tokens of a trace, equal prefixes once: the pool that never needs to evict."""
    seen: dict[tuple[int, ...], int] = {}
    for request in requests:
        path: tuple[int, ...] = ()
        for segment in (*request.prompt, request.answer):
            path = (hash(path), segment.number)
            seen[path] = segment.length
    return sum(seen.values())


def largest(requests: list[Request]) -> int:
    """Give the tokens of the longest prompt with its answer."""
    return max(sum(segment.length for segment in (*r.prompt, r.answer)) for r in requests)
