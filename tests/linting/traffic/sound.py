"""Made-up traffic without a defect, or with one that cannot be mended: lint has nothing to say about it."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.linting.traffic.broken import BEGIN, Make, single, stamp, times
from tests.linting.traffic.words import (
    NAMES,
    Body,
    Sent,
    document,
    in_dialect,
    prose,
    question,
    said,
    sentence,
    tool,
)


def plain_questions(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    yield from single(rng, dialect, lambda _at, _n: rules)


def questions_alone(rng: random.Random, dialect: str) -> Iterator[Sent]:
    for at in times(rng, 60):
        yield Sent(in_dialect(dialect, "", [said("user", prose(rng, rng.randrange(1, 20)))]), at)


def times_in_results(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules, tools = prose(rng, 40), [tool(rng, "look"), tool(rng, "send")]
    for _ in range(3):
        history: list[Body] = []
        for at in times(rng, 12):
            history.append(said("user", stamp("[%Y-%m-%d %H:%M:%S] result: ", at) + prose(rng, 10)))
            yield Sent(in_dialect(dialect, rules, list(history), tools), at)
            history.append(said("assistant", prose(rng, 2)))


def several_applications(rng: random.Random, dialect: str) -> Iterator[Sent]:
    begin, end = "You are a helpful assistant. Answer briefly.", prose(rng, 6)
    rules = [f"{begin}\n{prose(rng, 30)}\n{end}" for _ in range(8)]
    for at in times(rng, 80):
        yield Sent(in_dialect(dialect, rng.choice(rules), [said("user", question(rng))]), at)


def rounded_to_the_day(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    for number in range(120):
        at = BEGIN + number * 3600
        system = f"{stamp('Today is %A, %B %d, %Y.', at)}\n{rules}"
        yield Sent(in_dialect(dialect, system, [said("user", question(rng))]), at)


def document_first(rng: random.Random, dialect: str) -> Iterator[Sent]:
    texts = [document(rng, 60) for _ in range(4)]
    for at in times(rng, 40):
        text = f"Document:\n{rng.choice(texts)}\n\nQuestion: {question(rng)}"
        yield Sent(in_dialect(dialect, "Answer from the document.", [said("user", text)]), at)


def names_behind_rules(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 50)
    yield from single(rng, dialect, lambda _at, _n: f"{rules}\nYou talk to {rng.choice(NAMES)}.")


def time_in_last_message(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    for _ in range(3):
        history: list[Body] = []
        for at in times(rng, 10):
            history.append(said("user", f"{stamp('It is %H:%M:%S. ', at)}{prose(rng, 4)}"))
            yield Sent(in_dialect(dialect, rules, list(history)), at)
            history.append(said("assistant", prose(rng, 4)))


def other_chunks_each_time(rng: random.Random, dialect: str) -> Iterator[Sent]:
    chunks = [prose(rng, 6) for _ in range(40)]
    for at in times(rng, 40):
        text = "\n\n".join(rng.sample(chunks, 6))
        body = in_dialect(
            dialect, "Answer from the sources.", [said("user", f"Sources:\n{text}\n\n{question(rng)}")]
        )
        yield Sent(body, at)


def a_text_being_edited(rng: random.Random, dialect: str) -> Iterator[Sent]:
    lines = [prose(rng, 2) for _ in range(40)]
    for at in times(rng, 30):
        lines[rng.randrange(len(lines))] = prose(rng, 2)
        asked = "Correct this text:\n" + "\n".join(lines)
        yield Sent(in_dialect(dialect, "You correct texts.", [said("user", asked)]), at)


def forks(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 30)
    for _ in range(4):
        history: list[Body] = []
        for at in times(rng, 10):
            history.append(said("user", prose(rng, 3)))
            yield Sent(in_dialect(dialect, rules, list(history)), at)
            if rng.random() < 0.4:
                history[-1] = said("user", prose(rng, 3))
                yield Sent(in_dialect(dialect, rules, list(history)), at + 1)
            history.append(said("assistant", prose(rng, 5)))
            if rng.random() < 0.2 and len(history) > 4:
                del history[-4:]


def two_versions(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 50)
    yield from single(
        rng, dialect, lambda _at, _n: f"You are version {rng.choice('AB')} of a helper.\n{rules}"
    )


def window_with_large_hops(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules, history = prose(rng, 20), []
    for at in times(rng, 60):
        history.append(said("user", prose(rng, 3)))
        if len(history) > 60:
            history = history[-20:]
            if history[0]["role"] != "user":
                history = history[1:]
        yield Sent(in_dialect(dialect, rules, list(history)), at)
        history.append(said("assistant", prose(rng, 5)))


def moving_marks(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules, history = prose(rng, 30), []
    for at in times(rng, 20):
        history.append(said("user", [{"type": "text", "text": prose(rng, 3)}]))
        marked = [dict(one) for one in history]
        marked[-1]["content"] = [{**marked[-1]["content"][0], "cache_control": {"type": "ephemeral"}}]
        yield Sent(in_dialect(dialect, rules, marked), at)
        history.append(said("assistant", [{"type": "text", "text": prose(rng, 5)}]))


def few_shots(rng: random.Random, dialect: str) -> Iterator[Sent]:
    pool = [[said("user", question(rng)), said("assistant", prose(rng, 2))] for _ in range(20)]
    fixed = rng.random() < 0.5
    for at in times(rng, 40):
        shots = pool[:5] if fixed else rng.sample(pool, 5)
        messages = [one for shot in shots for one in shot]
        yield Sent(in_dialect(dialect, "Follow the examples.", [*messages, said("user", question(rng))]), at)


def one_deployment(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = [prose(rng, 1) + end for end in [" " + prose(rng, 50)] for _ in range(2)]
    for number, at in enumerate(times(rng, 60)):
        yield Sent(in_dialect(dialect, rules[number > 30], [said("user", question(rng))]), at)


def rules_then_text(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 30)
    for at in times(rng, 40):
        yield Sent(in_dialect(dialect, "", [said("user", f"{rules}\n\nText: {prose(rng, 10)}")]), at)


def several_tenants(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    for number, at in enumerate(times(rng, 40)):
        system = f"You work for {NAMES[number % 10]}.\n{rules}"
        yield Sent(in_dialect(dialect, system, [said("user", question(rng))]), at, tenant=f"t{number % 10}")


def reminders(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 30)
    for _ in range(3):
        history: list[Body] = []
        for at in times(rng, 10):
            history.append(said("user", prose(rng, 3)))
            hint = said("user", f"<reminder>{stamp('%H:%M:%S', at)} {sentence(rng)}</reminder>")
            yield Sent(in_dialect(dialect, rules, [*history, hint]), at)
            history.append(said("assistant", prose(rng, 4)))


def agents_with_own_tasks(rng: random.Random, dialect: str) -> Iterator[Sent]:
    tools = [tool(rng, name) for name in ("read", "write", "run")]
    for _ in range(6):
        system = prose(rng, 40)
        history = [said("user", prose(rng, 8))]
        for at in times(rng, 6):
            yield Sent(in_dialect(dialect, system, list(history), tools), at)
            history += [said("assistant", sentence(rng)), said("user", prose(rng, 12))]


def whole_days_of_logs(rng: random.Random, dialect: str) -> Iterator[Sent]:
    for at in times(rng, 30):
        lines = [stamp("%Y-%m-%d %H:%M:%S ", at + k * 7) + sentence(rng) for k in range(40)]
        asked = "Find what went wrong:\n" + "\n".join(lines)
        yield Sent(in_dialect(dialect, "You read logs.", [said("user", asked)]), at)


SOUND: dict[str, Make] = {
    "plain questions": plain_questions,
    "questions alone": questions_alone,
    "times in results": times_in_results,
    "several applications": several_applications,
    "rounded to the day": rounded_to_the_day,
    "document first": document_first,
    "names behind rules": names_behind_rules,
    "time in the last message": time_in_last_message,
    "other chunks each time": other_chunks_each_time,
    "a text being edited": a_text_being_edited,
    "forks": forks,
    "two versions": two_versions,
    "window with large hops": window_with_large_hops,
    "moving marks": moving_marks,
    "few shots": few_shots,
    "one deployment": one_deployment,
    "rules, then text": rules_then_text,
    "several tenants": several_tenants,
    "reminders": reminders,
    "agents with own tasks": agents_with_own_tasks,
    "days of logs": whole_days_of_logs,
}
