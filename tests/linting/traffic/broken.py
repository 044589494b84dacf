"""Made-up traffic with one defect each, and the cause that lint should name."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from semcache.cost_port import Cause
from tests.linting.traffic.words import (
    NAMES,
    Body,
    Sent,
    document,
    han_prose,
    in_dialect,
    prose,
    question,
    said,
    sentence,
    shuffled_keys,
    tool,
)

Make = Callable[[random.Random, str], Iterator[Sent]]
BEGIN = 1_795_000_000.0
_COUNT = 24


def times(rng: random.Random, count: int = _COUNT, gap: float = 90.0) -> Iterator[float]:
    at = BEGIN
    for _ in range(count):
        at += rng.uniform(2.0, gap)
        yield at


def single(rng: random.Random, dialect: str, system: Callable[[float, int], str]) -> Iterator[Sent]:
    for number, at in enumerate(times(rng)):
        yield Sent(in_dialect(dialect, system(at, number), [said("user", question(rng))]), at)


def talk(
    rng: random.Random, dialect: str, system: Callable[[float, int], str], turns: int = 10
) -> Iterator[Sent]:
    for _ in range(3):
        history: list[Body] = []
        for number, at in enumerate(times(rng, turns)):
            history.append(said("user", prose(rng, 3)))
            yield Sent(in_dialect(dialect, system(at, number), list(history)), at)
            history.append(said("assistant", prose(rng, 6)))


FORMATS: dict[str, str] = {
    "iso": "Now: %Y-%m-%dT%H:%M:%SZ.",
    "clock": "Clock: %H:%M:%S.",
    "words": "The current date is %A, %B %d, %Y, %I:%M:%S %p.",
    "rfc": "Date: %a, %d %b %Y %H:%M:%S GMT.",
    "us": "Today is %m/%d/%Y %H:%M:%S.",
    "han": "当前时间：%Y年%m月%d日 %H时%M分%S秒。",
    "compact": "Build %Y%m%dT%H%M%SZ.",
    "epoch": "ts=%s;",
    "millis": "now=%s000 ms;",
}


def stamp(pattern: str, at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(pattern.replace("%s", str(int(at))))


def _time_in_system(pattern: str) -> Make:
    def make(rng: random.Random, dialect: str) -> Iterator[Sent]:
        rules = han_prose(rng, 40) if "年" in pattern else prose(rng, 50)
        before = prose(rng, rng.choice((0, 0, 12)))
        walk = rng.choice((single, talk))
        yield from walk(rng, dialect, lambda at, _: f"{before} {stamp(pattern, at)} {rules}")

    return make


def milliseconds_in_the_middle(rng: random.Random, dialect: str) -> Iterator[Sent]:
    stable, memory = prose(rng, 300), prose(rng, 30)

    def system(at: float, _: int) -> str:
        return f"{stable}\n<meta ts=2026-11-30T10:00:00.{rng.randrange(1000):03}Z>\n{memory}"

    yield from talk(rng, dialect, system, 20)


def uuids(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 50)
    yield from single(rng, dialect, lambda _at, _n: f"Request {uuid.UUID(int=rng.getrandbits(128))}\n{rules}")


def identifiers(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 50)
    letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"session sess_{rng.getrandbits(64):016x}",
        lambda: "trace 01J" + "".join(rng.choice(letters) for _ in range(23)),
        lambda: f"nonce={rng.getrandbits(96):024x}",
        lambda: f"order id: {rng.randrange(10**7, 10**8)}",
    )
    kind = rng.choice(kinds)
    yield from single(rng, dialect, lambda _at, _n: f"You serve {kind()}.\n{rules}")


def counters(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 50)
    word = rng.choice(("This is turn {} of 99.", "Attempt #{}.", "Messages left: {}.", "Step {}:"))
    begin = rng.randrange(2, 60)
    yield from talk(rng, dialect, lambda _at, number: f"{word.format(begin + number)} {rules}")


def names_before_rules(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules, hello = (
        prose(rng, 50),
        rng.choice(("You talk to {}. ", "Customer: {}\n", "The user's name is {}.\n")),
    )
    for name in NAMES:
        history: list[Body] = []
        for at in times(rng, 2):
            history.append(said("user", question(rng)))
            yield Sent(in_dialect(dialect, hello.format(name) + rules, list(history)), at)
            history.append(said("assistant", sentence(rng)))


def tools_in_any_order(rng: random.Random, dialect: str) -> Iterator[Sent]:
    tools = [tool(rng, name) for name in ("find", "book", "cancel", "pay", "ship", "track", "rate")]
    rules = prose(rng, 30)
    for at in times(rng):
        rng.shuffle(tools)
        yield Sent(in_dialect(dialect, rules, [said("user", question(rng))], list(tools)), at)


def tools_with_keys_in_any_order(rng: random.Random, dialect: str) -> Iterator[Sent]:
    tools = [tool(rng, name) for name in ("find", "book", "cancel", "pay")]
    rules = prose(rng, 30)
    for at in times(rng):
        made = [shuffled_keys(one, rng) for one in tools]
        yield Sent(in_dialect(dialect, rules, [said("user", question(rng))], made), at)


def tools_come_and_go(rng: random.Random, dialect: str) -> Iterator[Sent]:
    tools = [
        tool(rng, name) for name in ("find", "book", "cancel", "pay", "ship", "track", "rate", "call", "note")
    ]
    rules = prose(rng, 60)
    for _ in range(4):
        history: list[Body] = []
        for at in times(rng, 8):
            some = [one for one in tools if rng.random() < 0.7] or tools
            history.append(said("user", prose(rng, 3)))
            yield Sent(in_dialect(dialect, rules, list(history), some), at)
            history.append(said("assistant", prose(rng, 5)))


def chunks_in_any_order(rng: random.Random, dialect: str) -> Iterator[Sent]:
    chunks = [f"[{name}] " + prose(rng, 6) for name in NAMES[:8]]
    in_system = rng.random() < 0.5
    for at in times(rng):
        rng.shuffle(chunks)
        text = "Sources:\n" + "\n\n".join(chunks)
        asked = question(rng)
        if in_system:
            yield Sent(in_dialect(dialect, text, [said("user", asked)]), at)
        else:
            yield Sent(
                in_dialect(dialect, "Answer from the sources.", [said("user", f"{text}\n\n{asked}")]), at
            )


def keys_of_facts_in_any_order(rng: random.Random, dialect: str) -> Iterator[Sent]:
    import json

    facts = {name: {"says": sentence(rng), "rank": number} for number, name in enumerate(NAMES[:8])}
    rules = prose(rng, 40)
    yield from single(
        rng, dialect, lambda _at, _n: f"Facts: {json.dumps(shuffled_keys(facts, rng))}\n{rules}"
    )


def white_space(rng: random.Random, dialect: str) -> Iterator[Sent]:
    parts = [prose(rng, 5) for _ in range(10)]
    head = "Café rules, déjà vu."
    kinds: tuple[Callable[[], str], ...] = (
        lambda: rng.choice(("\n", "\r\n", "\n\n")).join([head, *parts]) + " " * rng.randrange(6),
        lambda: "\ufeff" * rng.randrange(4) + " " * rng.randrange(4) + "\n".join([head, *parts]),
        lambda: "".join(part + "\n" * rng.randrange(1, 4) for part in [head, *parts]),
    )
    kind = rng.choice(kinds)
    yield from single(rng, dialect, lambda _at, _n: kind())


def models_in_turns(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    for _ in range(3):
        history: list[Body] = []
        for number, at in enumerate(times(rng, 12)):
            history.append(said("user", prose(rng, 3)))
            model = ("gpt-4o", "gpt-4o-mini")[number % 2]
            yield Sent(in_dialect(dialect, rules, list(history)), at, model=model)
            history.append(said("assistant", prose(rng, 6)))


def sliding_window(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules, history = prose(rng, 20), []
    most = rng.choice((8, 16))
    for at in times(rng, 30):
        history.append(said("user", prose(rng, 3)))
        yield Sent(in_dialect(dialect, rules, history[-most + 1 :]), at)
        history.append(said("assistant", prose(rng, 5)))


def results_cut_later(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 20)
    for _ in range(2):
        history: list[Body] = []
        for at in times(rng, 12):
            history += [
                said("user", prose(rng, 2)),
                said("assistant", sentence(rng)),
                said("user", prose(rng, 30)),
            ]
            yield Sent(in_dialect(dialect, rules, list(history)), at)
            if len(history) >= 7:
                history[-7 + 3] = said("user", "[cut]" + prose(rng, 1))
            history.append(said("assistant", prose(rng, 6)))


def times_rewritten_in_history(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 20)
    texts = [prose(rng, 4) for _ in range(16)]
    for _ in range(2):
        for turn, at in enumerate(times(rng, 8)):
            history = [
                said("user", f"[{(turn - k // 2) * 3 + 1} minutes ago] {texts[k]}")
                if k % 2 == 0
                else said("assistant", texts[k])
                for k in range(2 * turn + 1)
            ]
            yield Sent(in_dialect(dialect, rules, history), at)


def question_before_document(rng: random.Random, dialect: str) -> Iterator[Sent]:
    texts = [document(rng, 60) for _ in range(2)]
    for at in times(rng, 40):
        text = f"Question: {question(rng)}\n\nDocument:\n{rng.choice(texts)}"
        yield Sent(in_dialect(dialect, "Answer from the document.", [said("user", text)]), at)


def memory_in_system(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    yield from talk(rng, dialect, lambda _at, _n: f"You are a coach.\nMemory: {sentence(rng)}\n{rules}", 10)


BROKEN: dict[str, tuple[Make, Cause]] = {
    **{f"time {name}": (_time_in_system(pattern), Cause.TIME) for name, pattern in FORMATS.items()},
    "milliseconds in the middle": (milliseconds_in_the_middle, Cause.TIME),
    "uuid": (uuids, Cause.UUID),
    "identifier": (identifiers, Cause.IDENTIFIER),
    "counter": (counters, Cause.COUNTER),
    "names before rules": (names_before_rules, Cause.USER_TEXT),
    "tools in any order": (tools_in_any_order, Cause.TOOLS_REORDERED),
    "keys of tools in any order": (tools_with_keys_in_any_order, Cause.KEY_ORDER),
    "tools come and go": (tools_come_and_go, Cause.TOOLS_CHANGED),
    "chunks in any order": (chunks_in_any_order, Cause.REORDERED),
    "keys of facts in any order": (keys_of_facts_in_any_order, Cause.KEY_ORDER),
    "white space": (white_space, Cause.WHITESPACE),
    "models in turns": (models_in_turns, Cause.MODEL_CHANGED),
    "sliding window": (sliding_window, Cause.HISTORY_WINDOW),
    "results cut later": (results_cut_later, Cause.HISTORY_REWRITTEN),
    "times rewritten in history": (times_rewritten_in_history, Cause.TIME),
    "question before document": (question_before_document, Cause.USER_TEXT),
    "memory in system": (memory_in_system, Cause.SYSTEM_CHANGED),
}
