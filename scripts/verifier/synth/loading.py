"""Reads the hand-written data files: schemas with their frames and fillers, word groups, surface words."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from scripts.verifier.synth.model import Schema, Value

DATA = Path(__file__).parent / "data"


def lines(name: str) -> list[str]:
    """The lines of a data file without comments and blanks."""
    text = (DATA / name).read_text(encoding="utf-8")
    return [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def values(text: str, separator: str = ";") -> tuple[Value, ...]:
    """Slot values of "a ~ b; c"."""
    parts = [p.strip() for p in text.split(separator) if p.strip()]
    return tuple(tuple(w.strip() for w in p.split("~")) for p in parts)


def _fill(text: str, slots: tuple[str, ...], verbs_by_comma: bool = False) -> tuple[tuple[Value, ...], ...]:
    columns = [c.strip() for c in text.split("|")]
    columns += [""] * (len(slots) - len(columns))
    return tuple(
        values(c, "," if verbs_by_comma and slot == "V" else ";")
        for slot, c in zip(slots, columns, strict=True)
    )


class _Open:
    """A schema while its lines are read."""

    def __init__(self, header: str) -> None:
        name, *slots = header[1:].split()
        self.name, self.slots = name, tuple(slots)
        self.classes: dict[str, list[str]] = defaultdict(list)
        self.fills: list[tuple[tuple[Value, ...], ...]] = []
        self.domains: list[str] = []
        self.pairs: dict[str, tuple[str, str]] = {}
        self.near: set[frozenset[str]] = set()
        self.current = ""

    def take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "=":
            self.current = rest
        elif word == "fill":
            self.fills.append(_fill(rest, self.slots))
            self.domains.append(f"{self.name}-{len(self.fills)}")
        elif word in {"sym", "swap"}:
            first, second = rest.split()
            self.pairs[word] = (first, second)
        elif word == "amb":
            self.near |= _near(rest)
        else:
            self.classes[self.current].append(line)

    def close(self) -> Schema:
        return Schema(
            name=self.name,
            slots=self.slots,
            classes={k: tuple(v) for k, v in self.classes.items()},
            fills=tuple(self.fills),
            domains=tuple(self.domains),
            symmetric=self.pairs.get("sym"),
            ordered=self.pairs.get("swap"),
            near=frozenset(self.near),
        )


def families(lang: str) -> list[Schema]:
    """Questions written out whole: a family is a schema without slots, each of its questions a class."""
    found: list[Schema] = []
    name = ""
    classes: dict[str, tuple[str, ...]] = {}
    for line in [*(DATA / f"sets_{lang}.txt").read_text(encoding="utf-8").splitlines(), "## end"]:
        if line.startswith("## "):
            if classes:
                found.append(Schema(name, (), classes, ((),), (name,)))
            name, classes = line[3:], {}
        elif line.strip() and not line.startswith("#"):
            wordings = tuple(w.strip() for w in line.split("|"))
            classes[wordings[0]] = wordings
    return found


def _near(text: str) -> set[frozenset[str]]:
    pairs: set[frozenset[str]] = set()
    for group in text.split(","):
        names = group.split()
        pairs |= {frozenset((a, b)) for a in names for b in names if a != b}
    return pairs


def schemas(lang: str) -> list[Schema]:
    """All schemas of a language; the clusters of tasks fill the schema "task"."""
    opened: list[_Open] = []
    for line in lines(f"frames_{lang}.txt"):
        if line.startswith("@"):
            opened.append(_Open(line))
        else:
            opened[-1].take(line)
    for line in lines(f"tasks_{lang}.txt"):
        domain, _, rest = line.partition("|")
        opened[0].fills.append(_fill(rest, opened[0].slots, verbs_by_comma=True))
        opened[0].domains.append(domain.strip())
    return [o.close() for o in opened]


def groups(name: str) -> list[tuple[str, list[str], list[str]]]:
    """Word groups as (part of speech, words, words that are only ever put in)."""
    found = []
    for line in lines(name):
        pos, _, rest = line.partition(":")
        words, _, targets = rest.partition(">")
        found.append((pos.strip(), _words(words), _words(targets)))
    return found


def _words(text: str) -> list[str]:
    return [w.strip() for w in text.split(",") if w.strip()]


def surface(lang: str) -> dict[str, list[str]]:
    """Surface words by section."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in lines(f"surface_{lang}.txt"):
        section, _, rest = line.partition(":")
        found[section.strip()].append(rest.strip())
    return dict(found)
