"""Edits of the meaning: the question becomes another one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from scripts.verifier.synth import quantities
from scripts.verifier.synth.model import Meaning, Value
from scripts.verifier.synth.words import WordIndex, put

Trap = Callable[[Meaning, random.Random], Meaning | None]


class TrapEdits:
    """All edits of the meaning by name; an edit gives None where it finds nothing to do."""

    def __init__(self, same: WordIndex, other: WordIndex, persons: list[tuple[str, str]], restrict: list[str],
                 owners: list[str], neutral: frozenset[str], negations: list[tuple[str, str]]) -> None:  # fmt: skip
        self._same, self._other = same, other
        self._persons, self._restrict, self._owners = persons, restrict, owners
        self._neutral, self._negations = neutral, negations
        self.traps: dict[str, tuple[Trap, int]] = {
            "class": (self._class, 16),
            "sibling": (self._sibling, 22),
            "confusable": (self._confusable, 16),
            "added modifier": (self._add, 8),
            "dropped modifier": (self._drop, 5),
            "other modifier": (self._other_modifier, 9),
            "swapped": (self._swap, 12),
            "number": (self._number, 9),
            "unit": (self._unit, 5),
            "comparison": (self._comparison, 8),
            "negation": (self._negation, 7),
            "person": (self._person, 4),
            "owner": (self._owner, 4),
            "restriction": (self._restriction, 5),
            "two words": (self._two, 5),
            "same domain": (self._domain, 7),
        }

    def apply(self, meaning: Meaning, rng: random.Random) -> tuple[Meaning, str] | None:
        """One edit that has something to do, chosen by weight; None when none was found in a dozen tries."""
        names = list(self.traps)
        weights = [self.traps[n][1] for n in names]
        for _ in range(12):
            name = rng.choices(names, weights)[0]
            new = self.traps[name][0](meaning, rng)
            if new is not None and new != meaning:
                return new, name
        return None

    def _class(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        schema = meaning.schema
        others = [
            k for k in schema.classes if k != meaning.kind and frozenset((k, meaning.kind)) not in schema.near
        ]
        return replace(meaning, kind=rng.choice(others)) if others else None

    def _differs(self, slot: str, first: Value, second: Value) -> bool:
        kind = "verb" if slot == "V" else "noun"
        return not any(self._same.related(kind, a, b) for a in first for b in second)

    def _sibling(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        slot, old = rng.choice(meaning.values)
        taken = [v for _, v in meaning.values]
        fit = [v for v in meaning.choices(slot) if v not in taken and self._differs(slot, old, v)]
        return _with(meaning, slot, rng.choice(fit)) if fit else None

    def _confusable(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        options: list[tuple[str, Value, str]] = []
        for slot, value in meaning.values:
            kind = "verb" if slot == "V" else "noun"
            options += [
                (slot, value, put(value[0], c.old, c.new)) for c in self._other.changes(kind, value[0])
            ]
        for value in meaning.modifiers:
            options += [
                ("M", value, put(value[0], c.old, c.new)) for c in self._other.changes("noun", value[0])
            ]
        options = [o for o in options if self._differs(o[0], o[1], (o[2],))]
        if not options:
            return None
        slot, old, new = rng.choice(options)
        return _exchange(meaning, slot, old, (new,))

    def _add(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        if not meaning.schema.has_modifiers or len(meaning.modifiers) > 1:
            return None
        fit = [v for v in meaning.choices("M") if v not in meaning.modifiers and v[0] not in self._neutral]
        return replace(meaning, modifiers=(*meaning.modifiers, rng.choice(fit))) if fit else None

    def _drop(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        fit = [v for v in meaning.modifiers if v[0] not in self._neutral]
        if not fit:
            return None
        gone = rng.choice(fit)
        return replace(meaning, modifiers=tuple(v for v in meaning.modifiers if v != gone))

    def _other_modifier(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        if not meaning.modifiers:
            return None
        old = rng.choice(meaning.modifiers)
        fit = [v for v in meaning.choices("M") if v not in meaning.modifiers and self._differs("M", old, v)]
        return _exchange(meaning, "M", old, rng.choice(fit)) if fit else None

    def _swap(self, meaning: Meaning, _rng: random.Random) -> Meaning | None:
        pair = meaning.schema.ordered
        if pair is None:
            return None
        first, second = meaning.value(pair[0]), meaning.value(pair[1])
        return _with(_with(meaning, pair[0], second), pair[1], first)

    def _quantity(self, meaning: Meaning, rng: random.Random,
                  change: Callable[[str, random.Random], str | None]) -> Meaning | None:  # fmt: skip
        marked = [(s, v) for s, v in meaning.values if "<" in v[0]] + [
            ("M", v) for v in meaning.modifiers if "<" in v[0]
        ]
        if not marked:
            return None
        slot, old = rng.choice(marked)
        new = change(old[0], rng)
        return None if new is None else _exchange(meaning, slot, old, (new,))

    def _number(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        return self._quantity(meaning, rng, quantities.other_number)

    def _unit(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        return self._quantity(meaning, rng, quantities.other_unit)

    def _comparison(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        return self._quantity(meaning, rng, quantities.other_comparison)

    def _negation(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        """ "with" for "without" and the like, in a modifier or a predicate."""
        options = []
        parts = [(s, v) for s, v in meaning.values if s == "P"] + [("M", v) for v in meaning.modifiers]
        for slot, value in parts:
            options += [
                (slot, value, value[0].replace(a, b, 1)) for a, b in self._negations if value[0].startswith(a)
            ]
        if not options:
            return None
        slot, old, new = rng.choice(options)
        return _exchange(meaning, slot, old, (new,))

    def _person(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        return replace(meaning, person=rng.choice(self._persons))

    def _owner(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        mine = [(s, v) for s, v in meaning.values if v[0].startswith("my ")]
        if not mine:
            return None
        slot, old = rng.choice(mine)
        return _with(meaning, slot, (old[0].replace("my ", rng.choice(self._owners), 1),))

    def _restriction(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        fit = [
            (s, v)
            for s, v in meaning.values
            if s in {"O", "N", "T"} and v[0].startswith(("my ", "a ", "an "))
        ]
        if not fit:
            return None
        slot, old = rng.choice(fit)
        first, rest = old[0].split(" ", 1)
        word = rng.choice(self._restrict)
        return None if word in rest else _with(meaning, slot, (f"{first} {word} {rest}",))

    def _two(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        first = self._sibling(meaning, rng)
        return None if first is None else (self._confusable(first, rng) or self._other_modifier(first, rng))

    def _domain(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        """Another task of the same domain in the same class."""
        schema = meaning.schema
        here = schema.domains[meaning.fill]
        fit = [i for i, d in enumerate(schema.domains) if d == here and i != meaning.fill]
        if not fit:
            return None
        fill = rng.choice(fit)
        fresh = [(s, rng.choice(schema.fills[fill][schema.slots.index(s)])) for s, _ in meaning.values]
        new = replace(meaning, fill=fill, values=tuple(fresh), modifiers=())
        close = [self._differs(s, meaning.value(s), v) for s, v in fresh]
        return new if all(close) else None


def _with(meaning: Meaning, slot: str, value: Value) -> Meaning:
    return replace(meaning, values=tuple((s, value if s == slot else v) for s, v in meaning.values))


def _exchange(meaning: Meaning, slot: str, old: Value, new: Value) -> Meaning:
    if slot != "M":
        return _with(meaning, slot, new)
    return replace(meaning, modifiers=tuple(new if v == old else v for v in meaning.modifiers))
