"""Says what is wrong in a policy file, where, and what is allowed, in one line each.

Knows the words for pydantic's error types. Never repeats a value from the file (somebody will
paste a key into the wrong place), only names of keys, shortened and made printable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from semcache.errors import PolicyError

Path = tuple[str | int, ...]
"""Where in the document: keys and positions, e.g. `("domains", "chat", "ttl")`."""

MAX_REPORTED = 100
"""Problems listed in one message; a file that is nonsense should not fill a log."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding; `line` counts from 1, and 0 means the file as a whole."""

    file: str
    line: int
    path: str
    message: str
    level: Literal["error", "warning"] = "error"

    @property
    def where(self) -> str:
        """Give `file:line`, or the file alone."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.where}: {self.path}: {self.message}" if self.path else f"{self.where}: {self.message}"


def policy_error(problems: Sequence[Problem]) -> PolicyError:
    """Join problems into the error that refuses a set of files; `where` is the first one's place."""
    listed = [str(problem) for problem in problems[:MAX_REPORTED]]
    if len(problems) > MAX_REPORTED:
        listed.append(f"and {len(problems) - MAX_REPORTED} more")
    error = PolicyError("\n".join(listed))
    error.where = problems[0].where if problems else ""
    return error


def printable(name: object, limit: int = 60) -> str:
    """Make a name from a file fit for a log line: printable ASCII and Unicode letters, shortened."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(name)[: limit + 1])
    return text if len(text) <= limit else text[:limit] + "..."


def path_text(path: Iterable[str | int]) -> str:
    """Write a path as people do: `assign.rules[2].domain`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{printable(part)}"
    return text.removeprefix(".")


def line_of(path: Path, lines: Mapping[Path, int]) -> int:
    """Give the line of a path, or of the nearest part above it that stands in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def from_validation(error: ValidationError, file: str, lines: Mapping[Path, int]) -> list[Problem]:
    """Turn what pydantic found into problems with file and line."""
    return [
        _from_detail(detail, file, lines) for detail in error.errors(include_url=False, include_input=False)
    ]


def _from_detail(detail: ErrorDetails, file: str, lines: Mapping[Path, int]) -> Problem:
    # pydantic marks a bad key of a mapping by a last part "[key]", which is no place of its own.
    path: Path = tuple(part for part in detail["loc"] if part != "[key]")
    message = _words(detail)
    if detail["loc"] and detail["loc"][-1] == "[key]":
        message = f"this name {message}"
    return Problem(file, line_of(path, lines), path_text(path), message)


_PLAIN_WORDS: Mapping[str, str] = {
    "extra_forbidden": "unknown key",
    "missing": "is missing",
    "string_type": "should be text (quote it if it looks like a number, true or null)",
    "bool_type": "should be true or false",
    "model_type": "should be a mapping (key: value)",
    "mapping_type": "should be a mapping (key: value)",
    "tuple_type": "should be a list",
    "finite_number": "should be a finite number",
}


def _words(detail: ErrorDetails) -> str:
    context: Mapping[str, Any] = detail.get("ctx", {})
    match detail["type"]:
        case "literal_error" | "enum":
            return f"should be {str(context['expected']).replace(chr(39), '')}"
        case "string_pattern_mismatch":
            return f"should match {context['pattern']}"
        case "value_error":
            return str(context["error"])
        case known if known in _PLAIN_WORDS:
            return _PLAIN_WORDS[known]
        case _:
            return _lowered(detail["msg"])


def _lowered(message: str) -> str:
    """Make pydantic's sentences ("Input should be ...") continue ours."""
    words = message.removeprefix("Input ").removeprefix("Value ")
    return words[:1].lower() + words[1:]
