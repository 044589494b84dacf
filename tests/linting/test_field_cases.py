"""What went wrong in the field: clocks, windows, orders, and false alarms about them (fc-080, 081, 083, 084, 086)."""

from __future__ import annotations

import random
from collections.abc import Iterator

from semcache.cost_port import DAY, Cause, LintFinding
from semcache.linting.linter import Linter
from semcache.linting.prompt import prompt_of
from tests.linting.traffic.words import Body, prose, question, said

AT = 1_795_000_000.0
WRITE, READ = 3.75, 0.3
"""Dollars a million tokens: input at 1.25 times the normal price of 3, read at a tenth."""


def price(tokens: int) -> int:
    return round(tokens * (WRITE - READ))


def found(bodies: Iterator[Body]) -> tuple[LintFinding, ...]:
    linter = Linter()
    for number, body in enumerate(bodies):
        linter.feed(prompt_of(body), AT + number, "acme", "claude", (), price)
    return linter.findings()


def chat(system: str, messages: list[Body]) -> Body:
    return {"messages": [said("system", system), *messages]}


def test_080_a_clock_at_the_head_of_the_system_prompt() -> None:
    rng = random.Random(80)
    stable = prose(rng, 110)
    bodies = (chat(f"Clock: 12:00:{n:02}. {stable}", [said("user", question(rng))]) for n in range(10))
    (one,) = found(bodies)
    assert (one.cause, one.where, one.day) == (Cause.TIME, "system", int(AT // DAY))
    assert one.byte == 14
    assert one.token in (3, 4)
    assert (one.prompts, one.seen) == (10, 9)
    assert 0.95 < one.tokens / (9 * len(stable) / 4) <= 1
    assert one.money == 9 * price(one.tokens // 9)
    assert one.sample == "xxxxx: 99:99:99"
    assert "round it to the day" in one.fix


def test_081_milliseconds_in_the_middle() -> None:
    rng = random.Random(81)
    stable, memory, history = prose(rng, 1400), prose(rng, 40), []

    def bodies() -> Iterator[Body]:
        for _ in range(20):
            history.append(said("user", prose(rng, 5)))
            meta = f"<meta ts=2026-11-30T10:00:00.{rng.randrange(1000):03}Z>"
            yield chat(f"{stable}\n{meta}\n{memory}", list(history))
            history.append(said("assistant", prose(rng, 40)))

    (one,) = found(bodies())
    assert one.cause is Cause.TIME
    assert len(stable) < one.byte < len(stable) + 50
    assert abs(one.token - len(stable) // 4) < 20
    talked = sum(len(turn["content"]) for turn in history[:-2]) / 4
    assert one.tokens > 8 * talked, "the history is paid again at every turn, and grows"
    assert "behind the stable part" in one.fix


def test_083_a_time_in_a_new_result_is_no_alarm_but_one_that_changes_later_is() -> None:
    rng = random.Random(83)
    rules = prose(rng, 30)
    results = [f"2026-11-30T10:{n:02}:07Z {prose(rng, 12)}" for n in range(12)]

    def bodies(changed: bool) -> Iterator[Body]:
        for turn in range(1, 12):
            history: list[Body] = []
            for n in range(turn):
                text = results[n].replace(":07Z", f":{turn + 10}Z") if changed else results[n]
                history += [
                    said("user", text),
                    said("assistant", f"Seen result number {n}, next one please."),
                ]
            yield chat(rules, history[:-1])

    assert found(bodies(changed=False)) == ()
    (one,) = found(bodies(changed=True))
    assert (one.cause, one.where) == (Cause.TIME, "messages[1]")


def test_084_a_window_that_drops_the_oldest_two_at_every_turn() -> None:
    rng = random.Random(84)
    rules, history = prose(rng, 20), []

    def bodies() -> Iterator[Body]:
        for _ in range(20):
            history.append(said("user", prose(rng, 3)))
            yield chat(f"{rules} It is 10 o'clock.", history[-15:])
            history.append(said("assistant", prose(rng, 4)))

    (one,) = found(bodies())
    assert (one.cause, one.where) == (Cause.HISTORY_WINDOW, "messages[1]")
    assert (one.prompts, one.seen) == (19, 12)
    shared = 13 * 3.5 * 75 / 4 * 12
    assert 0.6 * shared < one.tokens < 1.4 * shared
    assert "time" not in one.fix.lower().split()


def test_086_the_same_chunks_in_random_order() -> None:
    rng = random.Random(86)
    chunks = [prose(rng, 6) for _ in range(8)]

    def bodies() -> Iterator[Body]:
        for _ in range(10):
            rng.shuffle(chunks)
            yield {"messages": [said("user", "\n\n".join(chunks) + f"\n\n{question(rng)}")]}

    (one,) = found(bodies())
    assert (one.cause, one.where) == (Cause.REORDERED, "messages[0]")
    assert one.byte < len("\n\n".join(chunks)) / 2
    assert one.tokens > 9 * 0.5 * len("".join(chunks)) / 4
    assert "fixed order" in one.fix
