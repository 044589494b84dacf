"""Labelled files: pairs of questions, pairs of conversations, questions with a class.

One JSON object a line. Everything that is wrong is told with file and line, never with the text
of a question. Fields that nobody asked for are let be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from semcache.errors import SemcacheError

MAX_LINE = 4 << 20
"""Bytes of one line; a longer one is no row of questions."""

Messages = tuple[Mapping[str, Any], ...]
"""A whole conversation as a chat request has it, the last message being the question."""

_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two conversations (of one question each, or longer); `same`: the first one's answer is right for both."""

    first: Messages
    second: Messages
    same: bool
    category: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question; those of one class share an answer."""

    text: str
    cls: str
    domain: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    """One line: its fields, and where it stands."""

    fields: Mapping[str, Any]
    where: str

    def text(self, name: str) -> str:
        value = self._get(name)
        if not isinstance(value, str):
            raise self.problem(f"{name!r} should be a text")
        return value

    def word(self, name: str) -> str:
        """A text that may be missing."""
        return self.text(name) if self.fields.get(name) is not None else ""

    def truth(self, name: str) -> bool:
        value = self._get(name)
        if not isinstance(value, bool):
            raise self.problem(f"{name!r} should be true or false")
        return value

    def name(self, name: str) -> str:
        value = self._get(name)
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.problem(f"{name!r} should be a text or a number")
        return str(value)

    def turns(self, name: str) -> Messages:
        value = self._get(name)
        if not isinstance(value, list) or not value:
            raise self.problem(f"{name!r} should be a list of messages")
        for number, message in enumerate(value):
            if not _is_message(message):
                raise self.problem(f"{name}[{number}] should be an object with 'role' and 'content'")
        return tuple(value)

    def problem(self, message: str) -> SemcacheError:
        return SemcacheError(f"{self.where}: {message}")

    def _get(self, name: str) -> Any:
        if name not in self.fields:
            raise self.problem(f"has no {name!r}; see docs/evaluation.md for what a row holds")
        return self.fields[name]


def read_pairs(path: Path) -> list[Pair]:
    """Read pairs of questions: `a`, `b`, `same`, and if they like `category` and `domain`.

    Raises:
        SemcacheError: the file cannot be read, is empty, or a row is not of this shape.
    """
    return _read(
        path,
        lambda row: Pair(
            (_user(row.text("a")),),
            (_user(row.text("b")),),
            row.truth("same"),
            row.word("category"),
            row.word("domain"),
        ),
    )


def read_chats(path: Path) -> list[Pair]:
    """Read pairs of conversations: `turns_a`, `turns_b` (messages), `same`, `category`, `domain`.

    Raises:
        SemcacheError: see `read_pairs`.
    """
    return _read(
        path,
        lambda row: Pair(
            row.turns("turns_a"),
            row.turns("turns_b"),
            row.truth("same"),
            row.word("category"),
            row.word("domain"),
        ),
    )


def read_labelled(path: Path) -> list[Labelled]:
    """Read questions with their class: `text`, `cls`, and if they like `domain`.

    Raises:
        SemcacheError: see `read_pairs`.
    """
    return _read(path, lambda row: Labelled(row.text("text"), row.name("cls"), row.word("domain")))


def _user(text: str) -> Mapping[str, Any]:
    return {"role": "user", "content": text}


def _is_message(value: Any) -> bool:
    whole = isinstance(value, dict) and isinstance(value.get("role"), str)
    return whole and isinstance(value.get("content"), str | list)


def _read(path: Path, make: Callable[[_Row], _R]) -> list[_R]:
    rows = [make(row) for row in _rows(path)]
    if not rows:
        raise SemcacheError(f"{path}: holds no rows")
    return rows


def _rows(path: Path) -> Iterator[_Row]:
    for number, line in _lines(path):
        where = f"{path}:{number}"
        try:
            value = orjson.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            raise SemcacheError(f"{where}: is not UTF-8 text") from None
        except orjson.JSONDecodeError as error:
            raise SemcacheError(f"{where}: is not JSON: {error.msg}") from None
        if not isinstance(value, dict):
            raise SemcacheError(f"{where}: should be a JSON object")
        yield _Row(value, where)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Give every line that is not blank, with its number."""
    try:
        if path.exists() and not path.is_file():
            raise SemcacheError(f"{path}: is no file; name the .jsonl files themselves")
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise SemcacheError(f"{path}:{number}: is longer than {MAX_LINE >> 20} MiB")
                if line.strip():
                    yield number, line
    except OSError as error:
        raise SemcacheError(f"{path}: cannot be read: {error.strerror}") from None
