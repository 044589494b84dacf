"""Reads one YAML document into plain values, with the line of every key, and refuses tricks.

Works on the event stream, so nothing is built before it is checked: no anchors or aliases (a
few lines of them can stand for gigabytes), no tags, no merge keys, no second document, no
duplicate keys, bounded depth and number of nodes. Plain scalars follow the YAML 1.2 core
schema: `off`, `no` and `on` are texts here, only `true` and `false` are booleans.
Knows nothing of policies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from semcache.policy.problems import Path, Problem, path_text, printable

MAX_DEPTH = 16
MAX_NODES = 20_000
MAX_NUMBER = 40
"""Characters of a plain number; longer ones are texts, and refused where a number is due."""

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip

Scalar = str | int | float | bool | None
Value = Scalar | list["Value"] | dict[str, "Value"]


@dataclass(frozen=True, slots=True)
class Document:
    """A read document: its value, and the line (from 1) of every path in it."""

    value: Value
    lines: Mapping[Path, int]


class DocumentError(Exception):
    """The text is refused; `problem` says where and why. Stays inside this room."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(slots=True)
class _Reader:
    """One pass over the events of one file."""

    file: str
    events: Iterator[yaml.Event]
    lines: dict[Path, int] = field(default_factory=dict)
    nodes: int = 0

    def refuse(self, event: yaml.Event, message: str, path: Path = ()) -> DocumentError:
        """Make the error for an event."""
        return DocumentError(Problem(self.file, _line(event), path_text(path), message))

    def node(self, event: yaml.Event, path: Path) -> Value:
        """Read the node that begins with `event`."""
        self._check(event, path)
        self.lines.setdefault(path, _line(event))
        match event:
            case yaml.ScalarEvent():
                return _plain(event.value) if _is_plain(event) else str(event.value)
            case yaml.SequenceStartEvent():
                return self._sequence(path)
            case yaml.MappingStartEvent():
                return self._mapping(path)
            case _:
                raise self.refuse(event, "is not a value", path)

    def _check(self, event: yaml.Event, path: Path) -> None:
        self.nodes += 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self.refuse(event, "anchors (&) and aliases (*) are not allowed: write the value out", path)
        if getattr(event, "tag", None):
            raise self.refuse(event, "tags (!) are not allowed", path)
        if len(path) > MAX_DEPTH:
            raise self.refuse(event, f"is nested more than {MAX_DEPTH} deep", path[:4])
        if self.nodes > MAX_NODES:
            raise self.refuse(event, f"the file has more than {MAX_NODES} values")

    def _sequence(self, path: Path) -> list[Value]:
        items: list[Value] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._key(event, path)
            if key in found:
                first = self.lines[(*path, key)]
                raise self.refuse(event, f"this key stands here twice (first in line {first})", (*path, key))
            self.lines[(*path, key)] = _line(event)
            found[key] = self.node(next(self.events), (*path, key))
        return found

    def _key(self, event: yaml.Event, path: Path) -> str:
        self._check(event, path)
        if not isinstance(event, yaml.ScalarEvent):
            raise self.refuse(event, "a key should be a text", path)
        if event.value == "<<" and _is_plain(event):
            raise self.refuse(event, "merge keys (<<) are not allowed: write the values out", path)
        return str(event.value)


def _line(event: yaml.Event) -> int:
    """Give the line of an event; only events made by hand have no mark."""
    return event.start_mark.line + 1 if event.start_mark else 1


def _is_plain(event: yaml.ScalarEvent) -> bool:
    """Tell an unquoted scalar; its style is None from one parser and empty from the other."""
    return not event.style


def _plain(text: str) -> Scalar:
    """Resolve a plain scalar by the YAML 1.2 core schema, without octal, hex, inf and nan."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= MAX_NUMBER:
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentError(Problem(file, line, "", "is not UTF-8")) from None


def read_document(data: bytes, file: str) -> Document:
    """Read the bytes of a file; `file` is the name used in messages.

    Raises:
        DocumentError: not UTF-8, not YAML, empty, more than one document, or one of the tricks.
    """
    text = _decode(data, file)
    # libyaml's parser when it was built in: ten times as fast, same events.
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    try:
        return _read(text, file, loader)
    except yaml.YAMLError as error:
        raise DocumentError(_from_yaml(error, text, file)) from None


def _read(text: str, file: str, loader: type[yaml.CSafeLoader] | type[yaml.SafeLoader]) -> Document:
    events = iter(yaml.parse(text, Loader=loader))
    reader = _Reader(file, events)
    next(events)  # the stream's start
    if isinstance(start := next(events), yaml.StreamEndEvent):
        raise reader.refuse(start, "the file is empty")
    value = reader.node(next(events), ())
    next(events)  # the document's end
    if not isinstance(more := next(events), yaml.StreamEndEvent):
        raise reader.refuse(more, "holds a second document (---): one file is one tenant")
    return Document(value, reader.lines)


def _from_yaml(error: yaml.YAMLError, text: str, file: str) -> Problem:
    """Give the parser's complaint a line; its own text may quote the file, so only its reason is used."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        return Problem(
            file, line, "", f"is not YAML: {printable(error.problem or error.context or 'error', 120)}"
        )
    position = getattr(error, "position", 0)
    line = text.count("\n", 0, position if isinstance(position, int) else 0) + 1
    return Problem(file, line, "", "is not YAML: holds a character that YAML does not allow")
