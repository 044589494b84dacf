"""Made-up traffic: conversations on a few system prompts, and single questions on many."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

_TEXT = (
    "river stone market winter paper engine garden silver corner bridge letter window summer copper harbor "
    "valley planet forest candle mirror basket ladder pocket thunder ribbon saddle"
)
_WORDS = _TEXT.split()
Message = dict[str, str]


@dataclass
class Talk:
    """A conversation: what was said so far, and who answered."""

    messages: list[Message]
    questions: list[str]
    where: list[str] = field(default_factory=list)

    @property
    def head(self) -> Message:
        """Its system prompt."""
        return self.messages[0]

    @property
    def is_over(self) -> bool:
        """True when nothing is left to ask."""
        return not self.questions

    def asked(self) -> list[Message]:
        """Ask the next question; gives the whole conversation."""
        self.messages.append({"role": "user", "content": self.questions.pop(0)})
        return self.messages

    def heard(self, text: str, by: str) -> None:
        """Take the answer."""
        self.messages.append({"role": "assistant", "content": text})
        self.where.append(by)


@dataclass(frozen=True)
class Sizes:
    """Words of a system prompt and of a question."""

    system: int
    question: int


def talks(seed: int, heads: int, each: int, turns: int, sizes: Sizes) -> list[Talk]:
    """Give conversations: `each` on every one of `heads` system prompts, `turns` questions long, mixed."""
    chance = random.Random(seed)
    made = []
    for head in range(heads):
        system = {"role": "system", "content": f"Prompt {head}. {_words(chance, sizes.system)}"}
        for number in range(each):
            questions = [
                f"Question {number}.{turn}: {_words(chance, sizes.question)}" for turn in range(turns)
            ]
            made.append(Talk([system], questions))
    chance.shuffle(made)
    return made


@dataclass(frozen=True)
class Traffic:
    """A kind of traffic: `make` gives the conversations of a seed, `at_once` how many of them talk at a time."""

    name: str
    make: Callable[[int], list[Talk]]
    at_once: int


def kinds(nodes: int, quick: bool) -> list[Traffic]:
    """Give the kinds that are measured."""
    if quick:
        small = Sizes(60, 12)
        return [Traffic("conversations", lambda seed: talks(seed, 2, 2, 2, small), nodes)]
    return [
        Traffic("conversations", lambda seed: talks(seed, 3, 4, 3, Sizes(110, 30)), nodes),
        Traffic("single questions", lambda seed: talks(seed, 12, 4, 1, Sizes(150, 12)), nodes),
        Traffic("one hot prompt", lambda seed: talks(seed, 1, 36, 1, Sizes(150, 12)), 12 * nodes),
    ]


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(count))
