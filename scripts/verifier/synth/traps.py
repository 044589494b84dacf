"""Edits of the meaning: the question becomes another one."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from scripts.verifier.synth.model import Meaning, Value, ends
from scripts.verifier.synth.quantities import Quantities
from scripts.verifier.synth.words import WordIndex, put

Trap = Callable[[Meaning, random.Random], Meaning | None]


@dataclass(frozen=True, slots=True)
class TrapWords:
    """The words of a language that traps put in."""

    quantities: Quantities
    persons: list[tuple[str, str]]
    owners: list[tuple[str, str]]  # (what a value begins with, what it begins with then)
    restrictions: list[tuple[str, str]]
    negations: list[tuple[str, str | Callable[[re.Match[str]], str]]]  # (pattern, replacement)
    neutral: frozenset[str]  # modifiers whose presence need not change the answer


class TrapEdits:
    """All edits of the meaning by name; an edit gives None where it finds nothing to do."""

    def __init__(self, same: WordIndex, other: WordIndex, words: TrapWords) -> None:
        self._same, self._other, self._words = same, other, words
        self._neutral = words.neutral
        self._traps: dict[str, tuple[Trap, int]] = {
            "class": (self._class, 17),
            "sibling": (self._sibling, 15),
            "confusable": (self._confusable, 14),
            "added modifier": (self._add, 8),
            "dropped modifier": (self._drop, 4),
            "other modifier": (self._other_modifier, 8),
            "swapped": (self._swap, 6),
            "number": (self._number, 6),
            "unit": (self._unit, 3),
            "comparison": (self._comparison, 3),
            "negation": (self._negation, 5),
            "person": (self._person, 3),
            "owner": (self._owner, 3),
            "restriction": (self._restriction, 4),
            "two words": (self._two, 4),
            "same domain": (self._domain, 6),
        }

    def pick(self, rng: random.Random) -> str:
        """The name of an edit, by weight."""
        return rng.choices(list(self._traps), [w for _, w in self._traps.values()])[0]

    def apply(self, name: str, meaning: Meaning, rng: random.Random) -> Meaning | None:
        """The edit of that name, or None where the meaning gives it nothing to do."""
        new = self._traps[name][0](meaning, rng)
        return None if new == meaning else new

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
        if not meaning.values:
            return self._class(meaning, rng)
        slot, old = rng.choice(meaning.values)
        taken = [v for _, v in meaning.values]
        fit = [v for v in meaning.choices(slot) if v not in taken and self._differs(slot, old, v)]
        return _with(meaning, slot, rng.choice(fit)) if fit else None

    def _confusable(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        if not meaning.values:
            return self._patched(meaning, rng)
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

    def _patched(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        """A question written out whole with one word replaced."""
        templates = meaning.schema.classes[meaning.kind]
        at = rng.randrange(len(templates)) if meaning.pin is None else meaning.pin
        found = [
            c for c in self._other.changes("noun", templates[at]) if self._differs("N", (c.old,), (c.new,))
        ]
        if not found:
            return None
        change = rng.choice(found)
        return replace(meaning, pin=at, patch=(change.old, change.new))

    def _add(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        if not meaning.schema.has_modifiers or len(meaning.modifiers) > 1:
            return None
        taken = {end for v in meaning.modifiers for end in ends(v)}
        free = [v for v in meaning.choices("M") if v[0] not in self._neutral]
        fit = [v for v in free if not taken.intersection(ends(v))]
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
        return self._quantity(meaning, rng, self._words.quantities.other_number)

    def _unit(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        return self._quantity(meaning, rng, self._words.quantities.other_unit)

    def _comparison(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        return self._quantity(meaning, rng, self._words.quantities.other_comparison)

    def _negation(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        """ "with" for "without" and the like, in a modifier or a predicate."""
        parts = [(s, v) for s, v in meaning.values if s == "P"] + [("M", v) for v in meaning.modifiers]
        options = []
        for slot, value in parts:
            options += [
                (slot, value, re.sub(old, new, value[0], count=1))
                for old, new in self._words.negations
                if re.search(old, value[0])
            ]
        if not options:
            return None
        slot, before, after = rng.choice(options)
        return _exchange(meaning, slot, before, (after,))

    def _person(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        return replace(meaning, person=rng.choice(self._words.persons)) if self._words.persons else None

    def _owner(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        return self._begin(meaning, rng, self._words.owners, "OSAB")

    def _restriction(self, meaning: Meaning, rng: random.Random) -> Meaning | None:
        if meaning.schema.name not in {"task", "noun"}:
            return None
        return self._begin(meaning, rng, self._words.restrictions, "ON")

    @staticmethod
    def _begin(
        meaning: Meaning, rng: random.Random, table: list[tuple[str, str]], slots: str
    ) -> Meaning | None:
        """A value with another beginning: another owner, or a narrower kind."""
        fit = [(s, v, o, n) for s, v in meaning.values if s in slots for o, n in table if v[0].startswith(o)]
        if not fit:
            return None
        slot, value, old, new = rng.choice(fit)
        return None if new.strip() in value[0] else _with(meaning, slot, (new + value[0].removeprefix(old),))

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
