"""A compact edit of an answer: read from a model's reply, and applied. Strict and total: nothing raises.

    {"edit": "keep"}
    {"edit": [{"old": "30 days", "new": "14 days"}]}
    {"edit": {"answer": "..."}}

What is replaced is named by its words, which must stand in the answer exactly once, and no two may overlap: an edit
that fits in two ways is none. Models that are not held to a form also write `{"replace": [["old", "new"]]}` and
`{"answer": "..."}`, put the object into a code fence, or talk around it; all that is read, but one object must be the only
edit in the reply. Knows nothing of questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any

from semcache.decide.revision.prompt import MOST_CHANGES

MAX_REPLY = 1 << 18
"""Characters of a reply."""
MAX_ANSWER = 1 << 17
"""Characters of an answer after an edit."""
_MOST_STARTS = 64


@dataclass(frozen=True, slots=True)
class Keep:
    """The answer is right as it stands."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Parts are replaced: (old, new) each."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The whole answer, anew."""

    text: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """No edit. `why` is a closed word.

    `size`, `form` (no edit in it, or several), `count`, `empty`, `absent` (an old part is not there), `twice` (it is there more
    than once), `overlap`.
    """

    why: str


Edit = Keep | Replace | Rewrite


def read_edit(text: str) -> Edit | Unreadable:
    """Read the edit in a reply; never raises."""
    if len(text) > MAX_REPLY:
        return Unreadable("size")
    found = _edits(text)
    return found[0] if len(found) == 1 else Unreadable("form")


def apply_edit(answer: str, edit: Edit) -> str | Unreadable:
    """Give the answer after an edit; keeping gives the very same text. Never raises."""
    match edit:
        case Keep():
            return answer
        case Rewrite(text):
            made: str | Unreadable = text
        case Replace(pairs):
            made = _replaced(answer, pairs)
    if isinstance(made, Unreadable):
        return made
    if not made.strip():
        return Unreadable("empty")
    return made if len(made) <= MAX_ANSWER else Unreadable("size")


def _edits(text: str) -> list[Edit | Unreadable]:
    """Give what each JSON object of a reply means as an edit, but for those that mean nothing."""
    decoder = JSONDecoder(
        strict=False, parse_constant=_no_number, parse_int=_no_number, parse_float=_no_number
    )
    found: list[Edit | Unreadable] = []
    at = text.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (JSONDecodeError, RecursionError):
            end = at + 1
        else:
            edit = _meaning(value)
            if edit is not None:
                found.append(edit)
        at = text.find("{", end)
    return found


def _no_number(_: str) -> None:
    """Edits hold no numbers, and reading thousands of digits would raise."""


def _meaning(value: Any) -> Edit | Unreadable | None:
    match value:
        case {"edit": inner} if len(value) == 1:
            return _inner(inner)
        case {"replace": [*changes]} if len(value) == 1:
            return _replace(changes)
        case {"answer": str(text)} if len(value) == 1:
            return _rewrite(text)
    return None


def _inner(value: Any) -> Edit | Unreadable | None:
    match value:
        case "keep":
            return Keep()
        case [*changes]:
            return _replace(changes)
        case {"replace": [*changes]} if len(value) == 1:
            return _replace(changes)
        case {"answer": str(text)} if len(value) == 1:
            return _rewrite(text)
    return None


def _rewrite(text: str) -> Edit | Unreadable:
    if not _is_text(text):
        return Unreadable("form")
    return Rewrite(text) if text.strip() else Unreadable("empty")


def _replace(changes: list[Any]) -> Edit | Unreadable:
    if not 0 < len(changes) <= MOST_CHANGES:
        return Unreadable("count")
    pairs: list[tuple[str, str]] = []
    for change in changes:
        match change:
            case {"old": str(old), "new": str(new)} | [str(old), str(new)] if _is_text(old + new):
                if not old:
                    return Unreadable("empty")
                pairs.append((old, new))
            case _:
                return Unreadable("form")
    return Replace(tuple(pairs))


def _is_text(text: str) -> bool:
    """True for what can be sent: JSON may escape halves of characters, and no text holds NUL."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _replaced(answer: str, pairs: tuple[tuple[str, str], ...]) -> str | Unreadable:
    if not 0 < len(pairs) <= MOST_CHANGES:
        return Unreadable("count")
    places: list[tuple[int, int, str]] = []
    for old, new in pairs:
        start = answer.find(old) if old else -1
        if start < 0:
            return Unreadable("absent" if old else "empty")
        if answer.find(old, start + 1) >= 0:
            return Unreadable("twice")
        places.append((start, start + len(old), new))
    places.sort()
    parts: list[str] = []
    at = 0
    for start, end, new in places:
        if start < at:
            return Unreadable("overlap")
        parts += (answer[at:start], new)
        at = end
    return "".join((*parts, answer[at:]))
