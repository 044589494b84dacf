"""Chats made from written scenes: good pairs told in other words, traps that differ in one thing.

A scene is written twice, turn by turn, with numbered choices (`[1:blender|toaster]`) in both tellings. The first
choice of each is the case; a trap takes the second choice of one number, wherever it stands. `+` lines are facts
that only one user of a trap tells. Small talk is put in between from tables of its own. Files: `support`, `world`
and `zh` hold scenes, `alone` questions on which some histories bear and others do not, `leaning` last questions
that every history makes another, `offers` what an assistant proposes last, `chatter` (with an answer), `inline` and `small` small
talk, `facts` what bears on cases of many kinds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

_CHOICE = re.compile(r"\[(\d):([^|\]]*)\|([^\]]*)\]")
_HERE = Path(__file__).parent / "data"
Turns = tuple[tuple[str, str], ...]
"""(role, text) of each turn."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two chats; `same`: the answer to one is right for the other."""

    scene: str
    category: str
    same: bool
    one: Turns
    other: Turns


@dataclass(slots=True)
class Scene:
    """One scene as written: two tellings of each turn."""

    name: str
    han: bool
    turns: list[tuple[str, list[str]]] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def choices(self) -> list[int]:
        """Give the numbers of the choices."""
        return sorted({int(number) for _, texts in self.turns for number, _, _ in _CHOICE.findall(texts[0])})

    def told(self, telling: Sequence[int], other: int = 0) -> Turns:
        """Give the chat with the given telling of each turn; the choice numbered `other` is the second one."""
        return tuple(
            ("assistant" if role == "A" else "user", _chosen(texts[telling[i % len(telling)]], other))
            for i, (role, texts) in enumerate(self.turns)
        )


def _chosen(text: str, other: int) -> str:
    return _CHOICE.sub(lambda found: found[3] if int(found[1]) == other else found[2], text)


def scenes(name: str) -> list[Scene]:
    """Read a file of scenes."""
    found: list[Scene] = []
    for line in (_HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        kind, _, text = line.partition(" ")
        if kind == "#":
            found.append(Scene(text, han=name.startswith("zh")))
        elif kind == "+":
            found[-1].added.append(text)
        elif kind:
            turns = found[-1].turns
            if turns and turns[-1][0] == kind and len(turns[-1][1]) == 1:
                turns[-1][1].append(text)
            else:
                turns.append((kind, [text]))
    return found


def lines(name: str) -> list[str]:
    """Read a table of lines."""
    text = (_HERE / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _split(line: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in line.split("|"))


def with_talk(chat: Turns, talk: Sequence[str], place: int) -> Turns:
    """Put small talk behind an assistant's turn, or in front of all."""
    said = (("user", talk[0]), ("assistant", talk[1]))
    return (*chat[:place], *said, *chat[place:])


def with_words(chat: Turns, words: str, at: int, behind: bool) -> Turns:
    """Add a sentence to one user turn."""
    role, text = chat[at]
    first, second = (text, words) if behind else (words, text)
    joined = f"{first.rstrip()}{'' if first.rstrip().endswith(tuple('.?!。？！')) else '.'} {second}"
    return (*chat[:at], (role, joined), *chat[at + 1 :])


def of_scene(scene: Scene, seed: int = 5) -> Iterator[Pair]:
    """Give all pairs of a scene."""
    rng = random.Random(f"{seed}{scene.name}")
    talk = [_split(line) for line in lines("chatter_zh" if scene.han else "chatter")]
    first, second, mixed = scene.told((0,)), scene.told((1,)), scene.told((0, 1, 1))

    def pair(category: str, same: bool, one: Turns, other: Turns) -> Pair:
        return Pair(scene.name, category, same, one, other)

    def chatty(chat: Turns, times: int) -> Turns:
        for _ in range(times):
            chat = with_talk(chat, rng.choice(talk), rng.randrange(0, len(chat), 2))
        return chat

    yield pair("reworded", True, first, second)
    yield pair("reworded", True, first, mixed)
    yield pair("chatter", True, first, chatty(first, 1))
    yield pair("chatter", True, first, chatty(first, 2))
    yield pair("chatter+reworded", True, second, chatty(first, 1))
    if not scene.han:
        words = rng.choice(lines("inline"))
        yield pair("inline", True, first, with_words(first, words, 0, rng.random() < 0.5))
        yield pair("inline", True, mixed, with_words(first, words, len(first) - 3, False))
    for number in scene.choices():
        yield pair("detail", False, first, scene.told((0,), number))
        yield pair("detail+reworded", False, first, scene.told((1,), number))
        yield pair("detail+reworded", False, second, scene.told((0, 1, 1), number))
        yield pair("detail+chatter", False, first, chatty(scene.told((0,), number), 1))
    for fact in scene.added:
        at = rng.choice(list(range(0, len(first), 2)))
        yield pair("added", False, first, with_words(first, fact, 0, True))
        yield pair("added", False, first, with_words(first, fact, len(first) - 1, False))
        yield pair("added+reworded", False, second, with_words(first, fact, at, True))
        yield pair(
            "added",
            False,
            first,
            with_talk(first, (fact, "好的。" if scene.han else "Okay."), len(first) - 1),
        )
    yield from _offered(scene, first, second, rng)


def behind(before: Scene, scene: Scene, seed: int = 6) -> Iterator[Pair]:
    """Give pairs of longer chats: the scene comes behind another one, and is what is asked about at the end."""
    rng = random.Random(f"{seed}{scene.name}")
    talk = [_split(line) for line in lines("chatter_zh" if scene.han else "chatter")]

    def chat(first: Sequence[int], second: Sequence[int], other: int = 0) -> Turns:
        answer = ("assistant", "好的，没问题。" if scene.han else "That's all sorted, anything else?")
        return (*before.told(first), answer, *scene.told(second, other))

    one, same, mixed = chat((0,), (0,)), chat((1,), (1,)), chat((0, 1), (1, 0, 0))
    yield Pair(scene.name, "long reworded", True, one, same)
    yield Pair(scene.name, "long reworded", True, one, mixed)
    yield Pair(scene.name, "long reworded", True, mixed, same)
    extra = with_talk(one, rng.choice(talk), rng.randrange(0, len(one), 2))
    yield Pair(scene.name, "long chatter", True, one, extra)
    yield Pair(scene.name, "long chatter+reworded", True, same, extra)
    for number in scene.choices():
        yield Pair(scene.name, "long detail", False, one, chat((0,), (0,), number))
        yield Pair(scene.name, "long detail+reworded", False, one, chat((1,), (1,), number))
        yield Pair(scene.name, "long detail+reworded", False, same, chat((0, 1), (0, 1, 1), number))
    for fact in scene.added:
        at = len(one) - 1 - 2 * rng.randrange(0, len(scene.turns) // 2)
        yield Pair(scene.name, "long added", False, one, with_words(one, fact, at, False))
        yield Pair(scene.name, "long added+reworded", False, same, with_words(one, fact, at, False))


def _offered(scene: Scene, first: Turns, second: Turns, rng: random.Random) -> Iterator[Pair]:
    if scene.han:
        return
    one, same, other = _split(rng.choice(lines("offers")))
    reply = rng.choice(["yes please", "Yes", "sure, go ahead", "ok"])

    def ending(chat: Turns, offer: str) -> Turns:
        return (*chat[:-1], ("user", "okay, thanks for checking"), ("assistant", offer), ("user", reply))

    yield Pair(scene.name, "offer", True, ending(first, one), ending(second, same))
    yield Pair(scene.name, "offer", True, ending(first, one), ending(first, same))
    yield Pair(scene.name, "offer", False, ending(first, one), ending(first, other))
    yield Pair(scene.name, "offer", False, ending(first, one), ending(second, other))


def blocks(name: str) -> list[list[tuple[str, str]]]:
    """Read the blocks of a file: kind and text of each line."""
    found: list[list[tuple[str, str]]] = [[]]
    for line in (_HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.strip():
            kind, _, text = line.partition(" ")
            found[-1].append((kind, text))
        elif found[-1]:
            found.append([])
    return [block for block in found if block]


def _after(history: str, asked: str) -> Turns:
    user, assistant = _split(history)
    return (("user", user), ("assistant", assistant), ("user", asked))


def alone() -> Iterator[Pair]:
    """Give pairs of questions on which their histories do, or do not, bear."""
    for block in blocks("alone"):
        one, other = (text for kind, text in block if kind == "Q")
        free = [text for kind, text in block if kind == "H"]
        bound = [text for kind, text in block if kind == "!"]
        for left, right in combinations(free, 2):
            yield Pair(one, "irrelevant", True, _after(left, one), _after(right, one))
            yield Pair(one, "irrelevant+reworded", True, _after(left, one), _after(right, other))
        for fact in bound:
            yield Pair(one, "bears", False, _after(free[0], one), _after(fact, one))
            yield Pair(one, "bears", False, _after(fact, one), _after(free[-1], other))


def leaning() -> Iterator[Pair]:
    """Give traps: one question, two histories."""
    for block in blocks("leaning"):
        asked = block[0][1]
        left, right = (text for kind, text in block if kind == "H")
        yield Pair(asked, "leaning", False, _after(left, asked), _after(right, asked))
        yield Pair(asked, "leaning", True, _after(left, asked), _after(left, asked))


def all_pairs(files: Sequence[str] = ("support", "world", "zh")) -> Iterator[Pair]:
    """Give everything, in a fixed order."""
    for name in files:
        every = scenes(name)
        for number, scene in enumerate(every):
            yield from of_scene(scene)
            yield from behind(every[number - 1], scene)
    yield from alone()
    yield from leaning()


def as_row(pair: Pair) -> dict[str, object]:
    """Give the pair as measuring tools read it."""
    chats = [[{"role": role, "content": text} for role, text in chat] for chat in (pair.one, pair.other)]
    return {
        "turns_a": chats[0],
        "turns_b": chats[1],
        "same": pair.same,
        "category": pair.category,
        "domain": "general",
    }
