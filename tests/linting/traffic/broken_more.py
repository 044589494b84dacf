"""More made-up traffic with one defect each: rarer places, other languages, other kinds of requests."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

from semcache.cost_port import Cause
from tests.linting.traffic.broken import Make, single, stamp, talk, times
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


def clock_in_a_tool(rng: random.Random, dialect: str) -> Iterator[Sent]:
    tools = [tool(rng, name) for name in ("find", "book", "cancel")]
    rules = prose(rng, 30)
    for at in times(rng):
        function = tools[1]["function"]
        told = {**function, "description": f"{stamp('As of %H:%M:%S.', at)} {function['description']}"}
        now = [tools[0], {"type": "function", "function": told}, tools[2]]
        yield Sent(in_dialect(dialect, rules, [said("user", question(rng))], now), at)


def clock_at_the_end_of_system(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 30)
    yield from talk(rng, dialect, lambda at, _: f"{rules}\n{stamp('It is now %Y-%m-%d %H:%M:%S', at)}", 12)


def clock_in_plain_completions(rng: random.Random, _: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    for at in times(rng):
        yield Sent({"model": "m", "prompt": f"{stamp('[%H:%M:%S]', at)} {rules}\nQ: {question(rng)}\nA:"}, at)


def uuid_before_a_document(rng: random.Random, dialect: str) -> Iterator[Sent]:
    text = document(rng, 60)
    for at in times(rng):
        asked = f"doc {uuid.UUID(int=rng.getrandbits(128))}\n{text}\n\n{question(rng)}"
        yield Sent(in_dialect(dialect, "Answer from the document.", [said("user", asked)]), at)


def han_names(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = han_prose(rng, 40)
    for name in ("王芳", "李伟", "张敏", "刘洋", "陈静", "杨磊", "赵丽", "黄强", "周杰", "吴娟"):
        history: list[Body] = []
        for at in times(rng, 3):
            history.append(said("user", han_prose(rng, 2)))
            yield Sent(in_dialect(dialect, f"用户姓名：{name}。{rules}", list(history)), at)
            history.append(said("assistant", han_prose(rng, 2)))


def window_behind_a_first_message(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 20)
    history: list[Body] = []
    for at in times(rng, 30):
        history.append(said("user", prose(rng, 3)))
        shown = history if len(history) < 13 else [history[0], history[1], *history[-11:]]
        yield Sent(in_dialect(dialect, rules, shown), at)
        history.append(said("assistant", prose(rng, 5)))


def summary_at_every_turn(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 20)
    history: list[Body] = []
    for at in times(rng, 30):
        history.append(said("user", prose(rng, 3)))
        shown = history
        if len(history) > 11:
            shown = [said("user", "So far: " + prose(rng, 4)), *history[-10:]]
        yield Sent(in_dialect(dialect, rules, shown), at)
        history.append(said("assistant", prose(rng, 5)))


def keys_of_results_in_any_order(rng: random.Random, dialect: str) -> Iterator[Sent]:
    import json

    rules = prose(rng, 20)
    facts = [
        {"name": name, "says": sentence(rng), "rank": n, "tags": ["a", "b"]} for n, name in enumerate(NAMES)
    ]
    for _ in range(2):
        history: list[Body] = []
        for at in times(rng, 10):
            history.append(said("user", prose(rng, 3)))
            shown = [
                said("user", json.dumps(shuffled_keys(facts, rng))),
                said("assistant", "Seen."),
                *history,
            ]
            yield Sent(in_dialect(dialect, rules, shown), at)
            history.append(said("assistant", prose(rng, 5)))


def listing_in_any_order(rng: random.Random, dialect: str) -> Iterator[Sent]:
    names = [
        f"{a}_{b}"
        for a in ("users", "orders", "items", "bills", "carts")
        for b in ("raw", "daily", "view", "tmp")
    ]
    rules = prose(rng, 40)

    def system(_at: float, _n: int) -> str:
        rng.shuffle(names)
        return f"Tables: {', '.join(names)}\n{rules}"

    yield from single(rng, dialect, system)


def unix_form(rng: random.Random, dialect: str) -> Iterator[Sent]:
    import unicodedata

    rules = " ".join(f"Élan {sentence(rng)} Café déjà vu." for _ in range(30))
    forms = [rules.replace("é", unicodedata.normalize("NFD", "é"), n) for n in range(40)]
    yield from single(rng, dialect, lambda _at, _n: rng.choice(forms))


def context_before_rules(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    yield from single(
        rng,
        dialect,
        lambda _at, _n: (
            f"You answer from this context:\n{prose(rng, rng.randrange(8, 20))}\n\nRules:\n{rules}"
        ),
    )


def session_in_every_turn(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    yield from talk(rng, dialect, lambda _at, _n: f"<env session='{rng.getrandbits(64):016x}'>\n{rules}", 8)


def tools_that_grow(rng: random.Random, dialect: str) -> Iterator[Sent]:
    tools = [
        tool(rng, name) for name in ("find", "book", "cancel", "pay", "ship", "track", "rate", "call", "note")
    ]
    rules = prose(rng, 40)
    for _ in range(4):
        history: list[Body] = []
        rng.shuffle(tools)
        for turn, at in enumerate(times(rng, 10)):
            history.append(said("user", prose(rng, 3)))
            yield Sent(in_dialect(dialect, rules, list(history), tools[: 2 + turn // 2]), at)
            history.append(said("assistant", prose(rng, 5)))


def a_blank_more_at_the_end(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    yield from talk(rng, dialect, lambda _at, n: rules + "\n" * (n % 2), 12)


def figures_in_system(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    yield from single(rng, dialect, lambda _at, _n: f"Outside: {rng.uniform(-9, 30):.1f} degrees.\n{rules}")


def profiles_before_rules(rng: random.Random, dialect: str) -> Iterator[Sent]:
    import json

    rules = prose(rng, 40)
    for name in NAMES:
        profile = {
            "name": name,
            "age": rng.randrange(20, 80),
            "plan": rng.choice(("free", "pro")),
            "since": 2020,
        }
        yield from (
            Sent(in_dialect(dialect, f"{json.dumps(profile)}\n{rules}", [said("user", question(rng))]), at)
            for at in times(rng, 2)
        )


def a_saying_first(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    yield from single(rng, dialect, lambda _at, _n: f"{sentence(rng)}\n\n{rules}")


def examples_in_any_order(rng: random.Random, dialect: str) -> Iterator[Sent]:
    shots = [f"Q: {question(rng)}\nA: {sentence(rng)}" for _ in range(8)]
    begin = prose(rng, 5)

    def system(_at: float, _n: int) -> str:
        rng.shuffle(shots)
        return begin + "\n\n" + "\n\n".join(shots)

    yield from single(rng, dialect, system)


def questions_before_many_documents(rng: random.Random, dialect: str) -> Iterator[Sent]:
    texts = [document(rng, 50) for _ in range(20)] * 3
    rng.shuffle(texts)
    for at, text in zip(times(rng, len(texts)), texts, strict=True):
        asked = f"Question: {question(rng)}\n\nDocument:\n{text}"
        yield Sent(in_dialect(dialect, "Answer from the document.", [said("user", asked)]), at)


MORE_BROKEN: dict[str, tuple[Make, Cause]] = {
    "clock in a tool": (clock_in_a_tool, Cause.TIME),
    "clock at the end of system": (clock_at_the_end_of_system, Cause.TIME),
    "clock in plain completions": (clock_in_plain_completions, Cause.TIME),
    "uuid before a document": (uuid_before_a_document, Cause.UUID),
    "han names": (han_names, Cause.USER_TEXT),
    "window behind a first message": (window_behind_a_first_message, Cause.HISTORY_WINDOW),
    "summary at every turn": (summary_at_every_turn, Cause.HISTORY_REWRITTEN),
    "keys of results in any order": (keys_of_results_in_any_order, Cause.KEY_ORDER),
    "listing in any order": (listing_in_any_order, Cause.REORDERED),
    "unicode form": (unix_form, Cause.WHITESPACE),
    "context before rules": (context_before_rules, Cause.SYSTEM_CHANGED),
    "tools that grow": (tools_that_grow, Cause.TOOLS_CHANGED),
    "a blank more at the end": (a_blank_more_at_the_end, Cause.WHITESPACE),
    "figures in system": (figures_in_system, Cause.SYSTEM_CHANGED),
    "profiles before rules": (profiles_before_rules, Cause.USER_TEXT),
    "a saying first": (a_saying_first, Cause.SYSTEM_CHANGED),
    "examples in any order": (examples_in_any_order, Cause.REORDERED),
    "questions before many documents": (questions_before_many_documents, Cause.USER_TEXT),
    "session in every turn": (session_in_every_turn, Cause.IDENTIFIER),
}
