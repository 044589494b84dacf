"""Edits of the style: the question stays the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from scripts.verifier.synth.model import Meaning, Style
from scripts.verifier.synth.words import WordIndex

Edit = Callable[[Meaning, Style, random.Random], Style | None]


class GoodEdits:
    """All edits of the style by name; an edit gives None where it finds nothing to do."""

    def __init__(self, same: WordIndex, surface_weights: dict[str, int]) -> None:
        self._same = same
        self._surface = surface_weights
        self.edits: dict[str, tuple[Edit, int]] = {
            "frame": (self._frame, 30),
            "wording": (self._wording, 12),
            "synonym": (self._synonym, 26),
            "frame word": (self._frame_word, 4),
            "fronting": (self._front, 6),
            "statement": (self._sentence, 10),
            "mirror": (self._mirror, 12),
            "modifier order": (self._backwards, 5),
            "quantity": (self._quantity, 10),
            "surface": (self._surface_edit, 26),
        }

    def apply(self, meaning: Meaning, style: Style, rng: random.Random) -> tuple[Style, str]:
        """One edit that has something to do, chosen by weight."""
        names = list(self.edits)
        weights = [self.edits[n][1] for n in names]
        for _ in range(12):
            name = rng.choices(names, weights)[0]
            new = self.edits[name][0](meaning, style, rng)
            if new is not None and new != style:
                label = new.surface[-1][0] if name == "surface" else name
                return new, label
        return self._surface_edit(meaning, style, rng) or style, "surface"

    def _frame(self, meaning: Meaning, style: Style, rng: random.Random) -> Style | None:
        if meaning.pin is not None:
            return None
        count = len(meaning.schema.classes[meaning.kind])
        others = [i for i in range(count) if i != style.template]
        return replace(style, template=rng.choice(others)) if others else None

    def _wording(self, meaning: Meaning, style: Style, rng: random.Random) -> Style | None:
        values = [v for _, v in meaning.values] + list(meaning.modifiers)
        fit = [v for v in values if len([w for w in v if not w.startswith("!")]) > 1]
        if not fit:
            return None
        value = rng.choice(fit)
        usable = len([w for w in value if not w.startswith("!")])
        now = dict(style.wording)
        now[value[0]] = (now.get(value[0], 0) + rng.randrange(1, usable)) % usable
        return replace(style, wording=tuple(sorted(now.items())))

    def _synonym(self, meaning: Meaning, style: Style, rng: random.Random) -> Style | None:
        options = []
        for slot, value in meaning.values:
            if slot == "X" and meaning.schema.name == "translate":
                continue  # a quoted phrase is not to be touched
            kind = "verb" if slot == "V" else "noun"
            options += [
                (slot, c.old, c.new) for c in self._same.changes(kind, value[0]) if not c.new.startswith("!")
            ]
        for modifier in meaning.modifiers:
            options += [
                ("M", c.old, c.new)
                for c in self._same.changes("noun", modifier[0])
                if not c.new.startswith("!")
            ]
        taken = {(w[0], w[1]) for w in style.words}
        options = [o for o in options if (o[0], o[1]) not in taken]
        return replace(style, words=(*style.words, rng.choice(options))) if options else None

    def _frame_word(self, meaning: Meaning, style: Style, rng: random.Random) -> Style | None:
        template = meaning.schema.classes[meaning.kind][style.template]
        found = self._same.changes("frame", template)
        if not meaning.values:
            found += self._same.changes("noun", template)
        touched = meaning.patch[0] if meaning.patch else "\0"
        found = [c for c in found if not c.new.startswith("!") and c.old not in touched]
        if not found:
            return None
        change = rng.choice(found)
        return replace(style, words=(*style.words, ("frame", change.old, change.new)))

    def _front(self, meaning: Meaning, style: Style, _rng: random.Random) -> Style | None:
        return replace(style, front=not style.front) if meaning.modifiers else None

    def _sentence(self, meaning: Meaning, style: Style, _rng: random.Random) -> Style | None:
        said = any(w.startswith("!") for v in meaning.modifiers for w in v)
        return replace(style, sentence=not style.sentence) if said else None

    def _mirror(self, meaning: Meaning, style: Style, _rng: random.Random) -> Style | None:
        return replace(style, mirrored=not style.mirrored) if meaning.schema.symmetric else None

    def _backwards(self, meaning: Meaning, style: Style, _rng: random.Random) -> Style | None:
        return replace(style, backwards=not style.backwards) if len(meaning.modifiers) > 1 else None

    def _quantity(self, meaning: Meaning, style: Style, rng: random.Random) -> Style | None:
        marked = any("<" in v[0] for _, v in meaning.values) or any("<" in v[0] for v in meaning.modifiers)
        return replace(style, quantities=rng.randrange(1, 1 << 30)) if marked else None

    def _surface_edit(self, meaning: Meaning, style: Style, rng: random.Random) -> Style | None:
        del meaning
        done = {name for name, _ in style.surface}
        names = [n for n in self._surface if n not in done]
        name = rng.choices(names, [self._surface[n] for n in names])[0]
        return replace(style, surface=(*style.surface, (name, rng.randrange(1 << 30))))
