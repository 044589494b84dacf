"""Conversations of exact length in tokens, made from plain text with the model's own tokenizer and template.

Two conversations with equal `system` share exactly `prefix` tokens, since questions begin with
different tokens; two with different systems share only the few tokens of the template's opening.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment
from tokenizers import Tokenizer

Messages = list[dict[str, str]]

_TEXTS = (
    Path("/usr/share/common-licenses/GPL-3"),
    Path("/usr/share/common-licenses/LGPL-2.1"),
    Path("/usr/share/common-licenses/Apache-2.0"),
)


class Prompts:
    """Makes conversations; every call gives another one, in an order that only `seed` decides."""

    def __init__(self, folder: Path, seed: int = 7) -> None:
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._template = Environment(autoescape=False).from_string(
            settings["chat_template"]
        )  # a local model's
        self._words = _text().split()
        self._random = random.Random(seed)
        self._firsts = self._first_words()
        self._numbers = iter(range(10_000, 100_000))

    def tokens(self, messages: Messages, *, opened: bool = True) -> list[int]:
        """Give the ids that a server should make of a conversation; `opened`: with the opening of an answer."""
        text = self._template.render(messages=messages, add_generation_prompt=opened)
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def system(self, prefix: int) -> str:
        """Make a new system prompt after which a question starts at token `prefix`."""
        start = self._random.randrange(len(self._words) // 2)
        head = f"{next(self._numbers)} is the number of this text."
        low, high = 0, prefix
        while high - low > 1:  # the longest text that is not too long
            middle = (low + high) // 2
            text = " ".join([head, *self._words[start : start + middle]])
            low, high = (middle, high) if self._prefix(text) <= prefix else (low, middle)
        text = " ".join([head, *self._words[start : start + low]])
        text += " a" * (prefix - self._prefix(text))
        if self._prefix(text) != prefix:
            raise RuntimeError(f"no text gives a prefix of {prefix} tokens")
        return text

    def question(
        self,
        tokens: int,
        rest: str = ": write a long story with this word for the children of a school and tell it well",
    ) -> str:
        """Make a new question of `tokens` tokens, whose first token no other question has."""
        text = next(self._firsts)
        words = iter((rest + " please" * tokens).split(" ")[1:])
        while self._count(text) < tokens:
            text += " " + next(words)
        if self._count(text) != tokens:
            raise RuntimeError(f"no question has {tokens} tokens")
        return text

    def ask(self, system: str, question: str) -> Messages:
        """Put the two together."""
        return [{"role": "system", "content": system}, {"role": "user", "content": question}]

    @property
    def closing(self) -> int:
        """Tokens that the template puts after a question."""
        return len(self.tokens(self.ask("x", "y"))) - self._prefix("x") - 1

    def _prefix(self, system: str) -> int:
        first, second = self.tokens(self.ask(system, "one")), self.tokens(self.ask(system, "Two"))
        pairs = zip(first, second, strict=False)
        return next(index for index, (a, b) in enumerate(pairs) if a != b)

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _first_words(self) -> Iterator[str]:
        """Give words that are one token, each once."""
        words = sorted(word for word in self._tokenizer.get_vocab() if word.isascii() and word.isalpha())
        words = [word for word in words if 3 <= len(word) <= 12 and self._count(word) == 1]
        self._random.shuffle(words)
        return iter(words)


def _text() -> str:
    for path in _TEXTS:
        if path.exists():
            return path.read_text()
    raise RuntimeError(f"none of {', '.join(map(str, _TEXTS))} is on this machine")
