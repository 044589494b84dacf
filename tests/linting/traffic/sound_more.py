"""More made-up traffic that lint has nothing to say about: data, editors, comparisons, rare events."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from tests.linting.traffic.broken import Make, stamp, times
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
    tool,
)


def tables_of_numbers(rng: random.Random, dialect: str) -> Iterator[Sent]:
    titles = (
        "temperature outside",
        "temperature inside",
        "humidity in percent",
        "pressure at sea level",
        "power drawn",
    )
    for at in times(rng, 40):
        rows = [f"{title}: {rng.uniform(0, 900):.2f}" for _ in range(8) for title in titles]
        text = f"{stamp('Measured at %Y-%m-%d %H:%M:%S', at)}\n" + "\n".join(rows)
        yield Sent(in_dialect(dialect, "Judge the measurements.", [said("user", text)]), at)


def orders_as_json(rng: random.Random, dialect: str) -> Iterator[Sent]:
    for at in times(rng, 40):
        order = {
            "placed_at": int(at),
            "order_id": rng.randrange(10**8),
            "customer_name": rng.choice(NAMES),
            "lines": [
                {"article_number": rng.randrange(9999), "quantity_ordered": rng.randrange(9)}
                for _ in range(12)
            ],
        }
        yield Sent(in_dialect(dialect, prose(rng, 1), [said("user", json.dumps(order, indent=1))]), at)


def typing_in_an_editor(rng: random.Random, dialect: str) -> Iterator[Sent]:
    before, after, typed = document(rng, 30), document(rng, 30), ""
    for at in times(rng, 40, 3.0):
        typed += rng.choice(("and ", "the ", "order ", "is ", "late ", "so "))
        text = f"{before}\n{typed}<cursor>\n{after}"
        yield Sent(in_dialect(dialect, "Complete the text.", [said("user", text)]), at)


def models_compared(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 30)
    for _ in range(4):
        asked = [prose(rng, 3) for _ in range(6)]
        histories: dict[str, list[Body]] = {"gpt-4o": [], "claude": []}
        for text, at in zip(asked, times(rng, 6), strict=True):
            for model, history in histories.items():
                history.append(said("user", text))
                yield Sent(in_dialect(dialect, rules, list(history)), at, model=model)
                history.append(said("assistant", prose(rng, 5)))


def many_begin_alike(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules, first = prose(rng, 40), "Hello, I would like to know something about my order, please."
    histories: list[list[Body]] = [[] for _ in NAMES]
    for _ in range(5):
        for at, name, history in zip(times(rng, len(NAMES)), NAMES, histories, strict=True):
            history.append(said("user", question(rng) if history else first))
            yield Sent(in_dialect(dialect, f"{rules}\nYou talk to {name}.", list(history)), at)
            history.append(said("assistant", prose(rng, 2)))


def cleared_once(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 30)
    for _ in range(2):
        history: list[Body] = []
        for turn, at in enumerate(times(rng, 30)):
            history += [said("user", prose(rng, 12))]
            if turn == 20:
                history = [said(one["role"], "[cleared]") if n < 20 else one for n, one in enumerate(history)]
            yield Sent(in_dialect(dialect, rules, list(history)), at)
            history.append(said("assistant", prose(rng, 3)))


def many_samples(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 30)
    for at in times(rng, 15):
        asked = [said("user", prose(rng, 5))]
        for _ in range(4):
            yield Sent(in_dialect(dialect, rules, asked), at)


def pictures(rng: random.Random, dialect: str) -> Iterator[Sent]:
    text = prose(rng, 12)
    for at in times(rng, 30):
        picture = {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{rng.getrandbits(400):x}"},
        }
        content = (
            [picture, {"type": "text", "text": text}]
            if rng.random() < 0.02
            else [{"type": "text", "text": text}, picture]
        )
        yield Sent(in_dialect(dialect, "Describe.", [said("user", content)]), at)


def agents_of_one_house(rng: random.Random, dialect: str) -> Iterator[Sent]:
    tools = [tool(rng, name) for name in ("read", "write", "run", "ask")]
    policy = prose(rng, 8)
    agents = [f"{prose(rng, 20)}\n{policy}" for _ in range(6)]
    for at in times(rng, 60):
        yield Sent(in_dialect(dialect, rng.choice(agents), [said("user", prose(rng, 8))], tools), at)


def texts_to_translate(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = "Translate into Chinese. Keep names. " + prose(rng, 10)
    for at in times(rng, 60):
        text = f"{rules}\n\n{prose(rng, rng.randrange(1, 12))}"
        yield Sent(in_dialect(dialect, "", [said("user", text)]), at)


def han_talks(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = han_prose(rng, 40)
    for _ in range(4):
        history: list[Body] = []
        for at in times(rng, 8):
            history.append(said("user", f"{stamp('【%m月%d日 %H:%M】', at)}{han_prose(rng, 2)}"))
            yield Sent(in_dialect(dialect, rules, list(history)), at)
            history.append(said("assistant", han_prose(rng, 4)))


def letters_of_one_house(rng: random.Random, dialect: str) -> Iterator[Sent]:
    footer = prose(rng, 3)
    for at in times(rng, 40):
        letter = f"Dear {rng.choice(NAMES)},\n{prose(rng, rng.randrange(10, 25))}\nYours, {rng.choice(NAMES)}\n{footer}"
        yield Sent(in_dialect(dialect, "Sort this letter.", [said("user", letter)]), at)


def tools_of_two_parts(rng: random.Random, dialect: str) -> Iterator[Sent]:
    tools, rules = [tool(rng, name) for name in ("read", "write", "run", "ask")], prose(rng, 30)
    for at in times(rng, 60):
        some = tools if rng.random() < 0.5 else tools[:2]
        yield Sent(in_dialect(dialect, rules, [said("user", question(rng))], some), at)


def answers_begun(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 30)
    for _ in range(3):
        history: list[Body] = []
        for at in times(rng, 8):
            history.append(said("user", prose(rng, 3)))
            yield Sent(in_dialect(dialect, rules, [*history, said("assistant", "{")]), at)
            history.append(said("assistant", "{" + prose(rng, 4)))


def sources_in_the_last_message_only(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules, chunks = prose(rng, 30), [prose(rng, 6) for _ in range(30)]
    for _ in range(3):
        history: list[Body] = []
        for at in times(rng, 8):
            asked = prose(rng, 2)
            sources = "\n\n".join(rng.sample(chunks, 4))
            yield Sent(in_dialect(dialect, rules, [*history, said("user", f"{sources}\n\n{asked}")]), at)
            history += [said("user", asked), said("assistant", prose(rng, 4))]


def many_versions(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    tongues = (
        "German",
        "French",
        "Spanish",
        "Dutch",
        "Polish",
        "Greek",
        "Czech",
        "Danish",
        "Finnish",
        "Irish",
    )
    for at in times(rng, 120):
        system = f"Answer in {rng.choice(tongues)}.\n{rules}"
        yield Sent(in_dialect(dialect, system, [said("user", question(rng))]), at)


def rounded_to_the_hour(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules = prose(rng, 40)
    for number in range(150):
        at = 1_795_000_000.0 + number * 60
        system = f"{stamp('It is about %H o clock on %Y-%m-%d.', at)}\n{rules}"
        yield Sent(in_dialect(dialect, system, [said("user", question(rng))]), at)


def last_message_reworded(rng: random.Random, dialect: str) -> Iterator[Sent]:
    rules, history = prose(rng, 30), []
    for at in times(rng, 10):
        for _ in range(3):
            yield Sent(in_dialect(dialect, rules, [*history, said("user", prose(rng, 10))]), at)
        history += [said("user", prose(rng, 3)), said("assistant", prose(rng, 4))]


def many_texts_being_edited(rng: random.Random, dialect: str) -> Iterator[Sent]:
    texts = [[prose(rng, 2) for _ in range(30)] for _ in range(15)]
    for at in times(rng, 90):
        lines = rng.choice(texts)
        lines[rng.randrange(len(lines))] = prose(rng, 2)
        asked = "Correct this text:\n" + "\n".join(lines)
        yield Sent(in_dialect(dialect, "You correct texts.", [said("user", asked)]), at)


MORE_SOUND: dict[str, Make] = {
    "tables of numbers": tables_of_numbers,
    "orders as json": orders_as_json,
    "typing in an editor": typing_in_an_editor,
    "models compared": models_compared,
    "many begin alike": many_begin_alike,
    "cleared once": cleared_once,
    "many samples": many_samples,
    "pictures": pictures,
    "agents of one house": agents_of_one_house,
    "texts to translate": texts_to_translate,
    "han talks": han_talks,
    "letters of one house": letters_of_one_house,
    "answers begun": answers_begun,
    "sources in the last message only": sources_in_the_last_message_only,
    "many versions": many_versions,
    "rounded to the hour": rounded_to_the_hour,
    "last message reworded": last_message_reworded,
    "many texts being edited": many_texts_being_edited,
    "tools of two parts": tools_of_two_parts,
}
