"""What a question means, and how it is put: the two halves of every generated question.

A `Meaning` decides the label (two questions of one meaning share their answer); a `Style` never does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Value = tuple[str, ...]  # equal wordings of one slot value, the plainest first; "!" begins a whole sentence


def ends(value: Value) -> tuple[str, str]:
    """First and last word (Chinese: first sign, and all): values that share one look like alternatives."""
    words = value[0].split()
    return (words[0], words[-1]) if value[0].isascii() else (value[0][0], value[0])


@dataclass(frozen=True, slots=True)
class Schema:
    """A family of questions with the same slots. Templates of one class mean the same."""

    name: str
    slots: tuple[str, ...]
    classes: dict[str, tuple[str, ...]]
    fills: tuple[tuple[tuple[Value, ...], ...], ...]
    domains: tuple[str, ...]
    symmetric: tuple[str, str] | None = None
    ordered: tuple[str, str] | None = None
    near: frozenset[frozenset[str]] = frozenset()

    @property
    def has_modifiers(self) -> bool:
        """Whether the last slot takes any number of modifiers."""
        return "M" in self.slots


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is asked: two questions share an answer exactly if their meanings are equal."""

    schema: Schema
    kind: str
    fill: int
    values: tuple[tuple[str, Value], ...]
    modifiers: tuple[Value, ...] = ()
    person: tuple[str, str] | None = None
    pin: int | None = None  # the only template that this meaning can be put in
    patch: tuple[str, str] | None = None  # words of that template that are replaced

    def value(self, slot: str) -> Value:
        """The value of a slot."""
        return dict(self.values)[slot]

    def shows(self, slot: str) -> bool:
        """Whether every template of the class has the slot: only then is its value part of the question."""
        return all("{" + slot in t for t in self.schema.classes[self.kind])

    def choices(self, slot: str) -> tuple[Value, ...]:
        """All values the slot could have beside the other values of this meaning."""
        return self.schema.fills[self.fill][self.schema.slots.index(slot)]


@dataclass(frozen=True, slots=True)
class Style:
    """How it is asked. Everything here leaves the meaning as it is."""

    template: int = 0
    wording: tuple[tuple[str, int], ...] = ()  # plainest wording -> index of the wording to use
    words: tuple[tuple[str, str, str], ...] = ()  # (slot, old, new)
    front: bool = False
    sentence: bool = False
    mirrored: bool = False
    backwards: bool = False  # modifiers in the other order
    quantities: int = 0  # seed of the rewriting of quantities; 0: as written
    surface: tuple[tuple[str, int], ...] = field(default=())  # (operation, seed)
