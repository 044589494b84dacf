"""Word groups as an index: which equal words, and which close but different ones, a phrase could be given."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from scripts.verifier.synth.english import plural

_FUNCTION = [
    "in",
    "on",
    "at",
    "for",
    "after",
    "with",
    "without",
    "to",
    "from",
    "by",
    "during",
    "under",
    "over",
    "while",
    "as",
    "before",
    "when",
    "about",
    "and",
    "or",
    "of",
    "is",
    "are",
    "was",
    "than",
    "per",
    "until",
    "if",
    "that",
    "since",
    "near",
    "every",
]
_DETERMINERS = ["my", "a", "an", "the", "our", "your", "their", "his", "her", "any", "some", "this", "that"]
Group = tuple[str, list[str], list[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """One word or phrase and what may stand in its place."""

    old: str
    new: str


class WordIndex:
    """Finds words of groups inside a phrase; longest match first, no overlap."""

    def __init__(self, groups: Iterable[Group], spaced: bool = True) -> None:
        self._to: dict[str, dict[str, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
        self._spaced = spaced
        self._known: dict[tuple[str, str], list[Change]] = {}
        self._reached: dict[tuple[str, str], frozenset[str]] = {}
        for pos, words, targets in groups:
            self._add(pos, words, targets)
        self._patterns = {kind: self._pattern(forms) for kind, forms in self._to.items()}

    def _add(self, pos: str, words: list[str], targets: list[str]) -> None:
        kind = {"v": "verb", "t": "frame"}.get(pos, "noun")
        for word in words:
            for other in [*words, *targets]:
                if other == word:
                    continue
                self._to[kind][word].add((pos, other))
                if pos == "n" and self._spaced:
                    self._to[kind][plural(word)].add((pos, _plural_of(other)))

    def _pattern(self, forms: Iterable[str]) -> re.Pattern[str]:
        body = "|".join(re.escape(f) for f in sorted(forms, key=lambda f: (-len(f), f)))
        return re.compile(rf"(?<![\w'-])(?:{body})(?![\w'’-])" if self._spaced else body)

    def changes(self, kind: str, text: str) -> list[Change]:
        """All single replacements that keep the phrase well-formed (remembered: phrases come again and again)."""
        if (kind, text) not in self._known:
            self._known[kind, text] = self._changes(kind, text)
        return self._known[kind, text]

    def _changes(self, kind: str, text: str) -> list[Change]:
        if kind not in self._patterns:
            return []
        if kind == "verb":
            return [Change(text, new) for _, new in sorted(self._to[kind].get(text, ()))]
        found = []
        for match in self._patterns[kind].finditer(text):
            if self._inside_quantity(text, match.start()):
                continue
            for pos, new in sorted(self._to[kind][match.group()]):
                if not self._spaced or self._fits(pos, text, match, new):
                    found.append(Change(match.group(), new))
        return found

    @staticmethod
    def _inside_quantity(text: str, at: int) -> bool:
        return text.rfind("<", 0, at) > text.rfind(">", 0, at)

    @staticmethod
    def _fits(pos: str, text: str, match: re.Match[str], new: str) -> bool:
        before, after = text[: match.start()].split(), text[match.end() :].split()
        head = not after or after[0] in _FUNCTION
        if pos == "x":
            return match.start() == 0 and not after
        if pos == "a":
            return head or " " not in new
        if pos == "n":
            return head and (" " not in new or not before or before[-1] in _DETERMINERS)
        return head and (not before or before[-1] not in _DETERMINERS or pos == "t")

    def related(self, kind: str, first: str, second: str) -> bool:
        """Whether two phrases are, or may be turned into, the same words."""
        if first == second:
            return True
        return bool(self._reach(kind, first) & self._reach(kind, second))

    def _reach(self, kind: str, text: str) -> frozenset[str]:
        if (kind, text) not in self._reached:
            changed = (put(text, c.old, c.new) for c in self.changes(kind, text))
            self._reached[kind, text] = frozenset({text, *changed})
        return self._reached[kind, text]


def _plural_of(phrase: str) -> str:
    """The plural of a phrase such as "member of staff" or "system of records": its head is before "of"."""
    for joint in (" of ", " on ", " with ", " I ", " at ", " to ", " in ", " for "):
        if joint in phrase:
            head, rest = phrase.split(joint, 1)
            return plural(head) + joint + rest
    return plural(phrase)


def put(text: str, old: str, new: str) -> str:
    """Puts new words in place of the first old ones (whole words where words stand apart)."""
    if not old.isascii():
        return text.replace(old, new, 1)
    at = text.find(old)
    while at >= 0:
        end = at + len(old)
        if not (_joins(text[at - 1 : at]) or _joins(text[end : end + 1]) or text[end : end + 1] == "’"):
            return text[:at] + new + text[end:]
        at = text.find(old, at + 1)
    return text


def _joins(character: str) -> bool:
    return character.isalnum() or character in {"_", "'", "-"}
