"""Phrases with a meaning the gate knows, and finding them in a text in one pass.

Each rule family brings a table of phrases; all tables make one `Lexicon`. The scan takes the
longest phrase at each place and goes on behind it, so that `no longer` is not also `no`, and
that a harmless compound (`区别`) hides the character that would mean something alone (`别`).
Knows nothing of what the families do with their marks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from semcache.decide.text import is_han


@dataclass(frozen=True, slots=True)
class Mark:
    """One meaning of a phrase: rule `family`, concept `name`, and which `member` of it."""

    family: str
    name: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A mark and the token span [start, end) it was found at."""

    mark: Mark
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All phrases: Latin ones keyed by words joined with a blank, Han ones by their characters.

    `longest` gives for each first token the length of its longest phrase.
    """

    phrases: Mapping[str, tuple[Mark, ...]]
    longest: Mapping[str, int]

    def scan(self, words: Sequence[str]) -> Iterator[Found]:
        """Yield the marks of a token sequence, longest phrase first, left to right."""
        i = 0
        while i < len(words):
            size, marks = self._at(words, i)
            for mark in marks:
                yield Found(mark, i, i + size)
            i += size

    def _at(self, words: Sequence[str], i: int) -> tuple[int, tuple[Mark, ...]]:
        longest = self.longest.get(words[i], 0)
        glue = "" if is_han(words[i]) else " "
        for size in range(min(longest, len(words) - i), 0, -1):
            marks = self.phrases.get(glue.join(words[i : i + size]))
            if marks is not None:
                return size, marks
        return 1, ()


def build(entries: Iterable[tuple[str, Mark]]) -> Lexicon:
    """Make a lexicon; a phrase given several times keeps all its marks in the order given."""
    table: defaultdict[str, list[Mark]] = defaultdict(list)
    for phrase, mark in entries:
        if mark not in table[phrase]:
            table[phrase].append(mark)
    return Lexicon({phrase: tuple(marks) for phrase, marks in table.items()}, longest_of(table))


def longest_of(phrases: Iterable[str]) -> dict[str, int]:
    """Give for each first token the length in tokens of the longest phrase that begins with it."""
    longest: dict[str, int] = {}
    for phrase in phrases:
        han = is_han(phrase[0])
        head, size = (phrase[0], len(phrase)) if han else (phrase.partition(" ")[0], phrase.count(" ") + 1)
        longest[head] = max(longest.get(head, 0), size)
    return longest


def forms(word: str) -> tuple[str, ...]:
    """Give the written forms of a table word.

    A trailing `~` asks for the regular verb forms, a trailing `+` for the plural; underscores
    stand for blanks, and then the first word is the one that changes.
    """
    if word[-1] not in "~+":
        return (word.replace("_", " "),)
    head, blank, rest = word[:-1].partition("_")
    ends = (head, *plural(head), *(_verb(head) if word[-1] == "~" else ()))
    return tuple(end + blank.replace("_", " ") + rest.replace("_", " ") for end in ends)


def plural(word: str) -> tuple[str, ...]:
    """Give the plural (or third person) of an English word by the regular rules."""
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        return (word + "es",)
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return (word[:-1] + "ies",)
    return (word + "s",)


def _verb(word: str) -> tuple[str, ...]:
    if word.endswith("e"):
        return (word + "d", word[:-1] + "ing")
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return (word[:-1] + "ied", word + "ing")
    twice = (word + word[-1] + "ed", word + word[-1] + "ing") if _doubles(word) else ()
    return (word + "ed", word + "ing", *twice)


def _doubles(word: str) -> bool:
    return len(word) > 2 and word[-1] not in "aeiouwxy" and word[-2] in "aeiou" and word[-3] not in "aeiou"
