"""Draws meanings and styles, makes pairs of them, and keeps both labels alike in the size of the change."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Protocol

from scripts.verifier.synth.good import GoodEdits
from scripts.verifier.synth.model import Meaning, Schema, Style, Value, ends
from scripts.verifier.synth.traps import TrapEdits


class Renderer(Protocol):
    """Puts a meaning into words."""

    def text(self, meaning: Meaning, style: Style) -> str:
        """The question."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """Two questions and whether one answer serves both."""

    a: str
    b: str
    same: bool
    kind: str
    edits: tuple[str, ...]


@dataclass(slots=True)
class PairMaker:
    """Makes pairs of one language."""

    schemas: list[tuple[Schema, float]]
    renderer: Renderer
    good: GoodEdits
    traps: TrapEdits
    overlap: Callable[[str, str], int]
    share_of_families: float = 0.0  # of the traps that questions written out whole can have
    _choice: dict[bool, tuple[list[Schema], list[float]]] = field(default_factory=dict)
    _seen: Counter[tuple[int, bool]] = field(default_factory=Counter)

    def pairs(self, rng: random.Random, count: int) -> Iterator[Pair]:
        """As many pairs as asked for, half of them same, the labels alike in overlap of words."""
        made = 0
        known: set[tuple[str, str]] = set()
        while made < count:
            same = made % 2 == 0
            pair = self._balanced(rng, same=same)
            if pair is None or (pair.a, pair.b) in known:
                continue
            known.add((pair.a, pair.b))
            made += 1
            yield pair

    def _balanced(self, rng: random.Random, *, same: bool) -> Pair | None:
        """A pair whose overlap class is not already fuller under its label than under the other."""
        pair = None
        for _ in range(12):
            pair = self._pair(rng, same=same)
            if pair is None:
                continue
            bin_ = self.overlap(pair.a, pair.b)
            if self._seen[bin_, same] <= self._seen[bin_, not same] + 5:
                self._seen[bin_, same] += 1
                return pair
        if pair is not None:
            self._seen[self.overlap(pair.a, pair.b), same] += 1
        return pair

    def _pair(self, rng: random.Random, *, same: bool) -> Pair | None:
        meaning = other = self._meaning(rng)
        kind = "same" if same else self.traps.pick(rng)
        if not same:
            trapped = self._trapped(kind, rng)
            if trapped is None:
                return None
            meaning, other = trapped
            if other.pin is not None:
                meaning = replace(meaning, pin=other.pin)
        style = self._style(meaning, rng)
        edits = [] if same else [kind]
        new = self._fitted(style, other)
        for _ in range(rng.choices((1, 2, 3, 4), (30, 34, 22, 14))[0] - (0 if same else 1)):
            new, name = self.good.apply(other, new, rng)
            edits.append(name)
        a, b = self.renderer.text(meaning, style), self.renderer.text(other, new)
        if _plain(a) == _plain(b) and (a == b or not same):
            return None
        if kind == "person" and other.person and other.person[0] not in b.lower():
            return None
        if rng.random() < 0.5:
            a, b = b, a
        return Pair(a, b, same, kind, tuple(edits))

    def _trapped(self, kind: str, rng: random.Random) -> tuple[Meaning, Meaning] | None:
        """A meaning that the trap can change, and the changed one."""
        whole = rng.random() < self.share_of_families and kind in {"class", "sibling", "confusable"}
        for _ in range(60):
            meaning = self._meaning(rng, whole=whole)
            other = self.traps.apply(kind, meaning, rng)
            if other is not None and _visible(meaning, other):
                return meaning, other
        return None

    @staticmethod
    def _fitted(style: Style, meaning: Meaning) -> Style:
        """The style, for a meaning of a class with fewer templates perhaps."""
        count = len(meaning.schema.classes[meaning.kind])
        if style.template < count:
            return style
        return Style(
            style.template % count, style.wording, style.words, style.front, style.sentence, style.mirrored,
            style.backwards, style.quantities, style.surface,
        )  # fmt: skip

    def _meaning(self, rng: random.Random, *, whole: bool = False) -> Meaning:
        """A meaning; with `whole` one of the questions that are written out whole."""
        schema = self._schema(rng, whole=whole)
        fill = rng.randrange(len(schema.fills))
        columns = dict(zip(schema.slots, schema.fills[fill], strict=True))
        modifiers = columns.pop("M", ())
        count = min(rng.choices((0, 1, 2), (35, 50, 15))[0], len(modifiers))
        values = tuple((slot, rng.choice(column)) for slot, column in columns.items())
        kinds = list(schema.classes)
        weights = _class_weights(schema)
        return Meaning(
            schema, rng.choices(kinds, weights)[0], fill, values, _compatible(rng.sample(modifiers, count))
        )

    def _schema(self, rng: random.Random, *, whole: bool) -> Schema:
        if whole not in self._choice:
            fit = [(s, w) for s, w in self.schemas if not (whole and s.slots)]
            self._choice[whole] = ([s for s, _ in fit], list(accumulate(w for _, w in fit)))
        schemas, weights = self._choice[whole]
        return rng.choices(schemas, cum_weights=weights)[0]

    def _style(self, meaning: Meaning, rng: random.Random) -> Style:
        count = len(meaning.schema.classes[meaning.kind])
        style = Style(template=rng.randrange(count) if meaning.pin is None else meaning.pin)
        if rng.random() < 0.25:
            style = Style(template=style.template, surface=(("nopunct", 0), ("lower", 0)))
        for _ in range(rng.choices((0, 1, 2), (60, 30, 10))[0]):
            style, _name = self.good.apply(meaning, style, rng)
        return style


def _compatible(modifiers: Sequence[Value]) -> tuple[Value, ...]:
    """The modifiers without those that look like an earlier one ("under 5 euros", "under 9 euros")."""
    kept: list[Value] = []
    for value in modifiers:
        if not any(set(ends(value)) & set(ends(v)) for v in kept):
            kept.append(value)
    return tuple(kept)


def _visible(meaning: Meaning, other: Meaning) -> bool:
    """Whether what differs is part of both questions, whichever templates are taken."""
    slots = [s for (s, v), (_, w) in zip(meaning.values, other.values, strict=True) if v != w]
    if meaning.modifiers != other.modifiers:
        slots.append("M")
    return all(m.shows(slot) for m in (meaning, other) for slot in slots)


def _class_weights(schema: Schema) -> list[int]:
    """The first classes of a schema with slots are what people ask most; families know no such order."""
    count = len(schema.classes)
    if not schema.slots:
        return [1] * count
    return [(14 if count > 15 else 5) if i == 0 else 3 if i < 6 else 1 for i in range(count)]


def _plain(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())
