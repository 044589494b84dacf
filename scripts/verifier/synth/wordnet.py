"""Synonyms, siblings and antonyms out of a WordNet 3.1 database directory.

Only a word's first sense is used, and only where it is the only sense or seen in tagged text: the rest is
where WordNet's synonyms stop being exchangeable. WordNet 3.1, Princeton University; free for any use with
its copyright notice (https://wordnet.princeton.edu/license-and-commercial-use).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from scripts.verifier.synth.english import article
from scripts.verifier.synth.model import Schema, Value

_CONCRETE = {"05", "06", "13", "20", "27"}  # animal, artifact, food, plant, substance
_ABSTRACT = {"04", "07", "09", "12", "18", "26"}  # act, attribute, cognition, feeling, person, state
_SOMETHING = "08"  # the sentence frame "somebody ----s something"
_MASS = {"13", "20", "27"}
_ROW = 6
_SEEN = 2


@dataclass(frozen=True, slots=True)
class Synset:
    """One meaning: its words (first senses only), its field, its hypernyms, its opposites."""

    offset: str
    field: str
    words: tuple[str, ...]
    hypernyms: tuple[str, ...]
    opposites: tuple[str, ...]
    frames: frozenset[str]


def schemas_from(directory: Path, bare: list[Schema]) -> list[tuple[Schema, float]]:
    """The schemas of bare words, filled from WordNet, with their weights."""
    by_name = {s.name: s for s in bare}
    rng = random.Random(31)
    nouns, verbs = _read(directory, "noun"), _read(directory, "verb")
    adjectives = _read(directory, "adj")
    concrete = [s for s in nouns if s.field in _CONCRETE]
    abstract = [s for s in nouns if s.field in _ABSTRACT]
    doing = [s for s in verbs if _SOMETHING in s.frames]
    return [
        (_filled(by_name["noun"], _siblings(concrete, rng), "wn-noun", nouns=True), 6.0),
        (_filled(by_name["define"], _drawn(abstract, rng), "wn-define", nouns=False), 4.0),
        (_filled(by_name["verb"], _drawn(doing, rng), "wn-verb", nouns=False), 4.0),
        (_filled(by_name["adj"], _opposed(adjectives, rng), "wn-adj", nouns=False), 3.0),
    ]


def _filled(schema: Schema, rows: list[list[Synset]], name: str, *, nouns: bool) -> Schema:
    fills = tuple((tuple(_value(s, nouns=nouns) for s in row),) for row in rows)
    return replace(schema, name=name, fills=fills, domains=tuple(f"{name}-{i}" for i in range(len(fills))))


def _value(synset: Synset, *, nouns: bool) -> Value:
    if nouns and synset.field not in _MASS:
        return tuple(f"{article(w)} {w}" for w in synset.words)
    return synset.words


def _siblings(synsets: list[Synset], rng: random.Random) -> list[list[Synset]]:
    """Meanings under one hypernym, at least one of them with two words."""
    under: dict[str, list[Synset]] = defaultdict(list)
    for synset in synsets:
        for up in synset.hypernyms:
            under[up].append(synset)
    groups = [g for g in under.values() if len(g) > 1 and any(len(s.words) > 1 for s in g)]
    return [rng.sample(group, min(_ROW, len(group))) for group in groups]


def _drawn(synsets: list[Synset], rng: random.Random) -> list[list[Synset]]:
    """Meanings of one field, drawn by chance, each row with some of two words."""
    fields: dict[str, list[Synset]] = defaultdict(list)
    for synset in synsets:
        fields[synset.field].append(synset)
    rows = []
    for group in fields.values():
        pairs = [s for s in group if len(s.words) > 1]
        rng.shuffle(pairs)
        rows += [[*pairs[i : i + 4], *rng.sample(group, min(2, len(group)))] for i in range(0, len(pairs), 4)]
    return [list(dict.fromkeys(row)) for row in rows]


def _opposed(synsets: list[Synset], rng: random.Random) -> list[list[Synset]]:
    """A meaning, its opposite, and some others."""
    known = {s.offset: s for s in synsets}
    rows = []
    for synset in synsets:
        against = [known[o] for o in synset.opposites if o in known]
        if against or len(synset.words) > 1:
            rows.append(list(dict.fromkeys([synset, *against, *rng.sample(synsets, 2)])))
    return rows


def _first_senses(directory: Path, part: str) -> dict[str, str]:
    """Words to the offset of their first sense, where that sense is common enough."""
    seen = _seen(directory)
    found = {}
    for line in (directory / f"index.{part}").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split()
        word, senses, offset = fields[0], int(fields[2]), fields[-int(fields[2])]
        if _usable(word) and (senses == 1 or seen.get(f"{word}:{offset}", 0) >= _SEEN):
            found[word] = offset
    return found


def _seen(directory: Path) -> dict[str, int]:
    """How often a word was tagged with a sense."""
    counts: dict[str, int] = {}
    for line in (directory / "index.sense").read_text(encoding="utf-8").splitlines():
        key, offset, _, count = line.split()
        name = f"{key.partition('%')[0]}:{offset}"
        counts[name] = max(counts.get(name, 0), int(count))
    return counts


def _usable(word: str) -> bool:
    return 3 <= len(word) <= 22 and word.count("_") <= 1 and word.replace("_", "").replace("-", "").isalpha()


def _read(directory: Path, part: str) -> list[Synset]:
    first = _first_senses(directory, part)
    seen = _seen(directory)
    lines = (directory / f"data.{part}").read_text(encoding="utf-8").splitlines()
    return [s for line in lines if not line.startswith(" ") for s in _synset(line, first, seen)]


def _synset(line: str, first: dict[str, str], seen: dict[str, int]) -> Iterator[Synset]:
    fields = line.partition(" | ")[0].split()
    offset, field, count = fields[0], fields[1], int(fields[3], 16)
    raw = [w.split("(")[0] for w in fields[4 : 4 + 2 * count : 2]]
    tagged = [w for w in raw if w == w.lower() and seen.get(f"{w}:{offset}", 0)]  # others are too rare
    words = [w for w in tagged if first.get(w) == offset]
    if not words:
        return
    at = 4 + 2 * count
    pointers = [tuple(fields[i : i + 4]) for i in range(at + 1, at + 1 + 4 * int(fields[at]), 4)]
    rest = fields[at + 1 + 4 * int(fields[at]) :]
    yield Synset(
        offset=offset,
        field=field,
        words=tuple(w.replace("_", " ") for w in words),
        hypernyms=tuple(p[1] for p in pointers if p[0] == "@"),
        opposites=tuple(p[1] for p in pointers if p[0] == "!"),
        frames=frozenset(rest[i + 1] for i in range(1, len(rest) - 1, 3)),  # count, then "+ frame word" each
    )
