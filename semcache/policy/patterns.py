"""Accepts only regular expressions that cannot hang the process, and searches with a time limit.

Pure apart from the `regex` library's own clock. The dialect is small on purpose: literals,
classes, escapes, alternation, plain groups, and quantifiers on single characters or classes
only. Nested repetition, look-around, back-references and inline flags are refused, so the
worst left is polynomial, and the time limit cuts that.
"""

from __future__ import annotations

from typing import Protocol, cast

import regex

MAX_PATTERN = 500
"""Characters."""
SEARCH_SECONDS = 0.005
"""Longest time one rule may hold the event loop; a text that needs longer counts as a match."""

_ESCAPES = frozenset("dDwWsSbBnrtfxupP")
_WHERE = "look-around, named groups, inline flags and verbs are not allowed: only (...) and (?:...)"


class Pattern(Protocol):
    """What we use of a compiled pattern."""

    def search(self, string: str, *, timeout: float) -> object | None:
        """Search; raises `TimeoutError` when the time is over."""
        ...


def compile_pattern(source: str) -> Pattern:
    """Compile, ignoring case.

    Raises:
        ValueError: outside the safe dialect, too long, or not a regular expression.
    """
    if len(source) > MAX_PATTERN:
        raise ValueError(f"should be at most {MAX_PATTERN} characters long")
    _refuse_unsafe(source)
    try:
        return cast("Pattern", regex.compile(source, regex.IGNORECASE | regex.VERSION0))
    except (regex.error, OverflowError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None


def found_in(pattern: Pattern, text: str) -> bool:
    """Tell whether the pattern occurs; a search out of time counts as found.

    Rules that guard something must not be escaped by a text made to be slow.
    """
    try:
        return pattern.search(text, timeout=SEARCH_SECONDS) is not None
    except TimeoutError:
        return True


def _refuse_unsafe(source: str) -> None:
    """Walk the pattern once and refuse everything outside the dialect."""
    position = 0
    after_group = False
    while position < len(source):
        match source[position]:
            case "\\":
                position = _skip_escape(source, position)
                after_group = False
            case "[":
                position = _skip_class(source, position)
                after_group = False
            case "(":
                position = _skip_group_start(source, position)
                after_group = False
            case ")":
                position += 1
                after_group = True
            case "*" | "+" | "?" | "{":
                if after_group:
                    raise ValueError(
                        "repeats a group: quantifiers may follow single characters and [classes] only"
                    )
                position = _skip_quantifier(source, position)
            case _:
                position += 1
                after_group = False


def _skip_escape(source: str, position: int) -> int:
    letter = source[position + 1 : position + 2]
    if not letter or (letter.isalnum() and letter not in _ESCAPES) or not letter.isascii():
        raise ValueError(
            f"uses an escape that is not allowed: only \\ with one of {''.join(sorted(_ESCAPES))}"
        )
    if letter in "pP" and source[position + 2 : position + 3] == "{":
        end = source.find("}", position)
        return end + 1 if end > 0 else position + 2
    return position + 2


def _skip_class(source: str, position: int) -> int:
    position += 1
    if source[position : position + 1] == "^":
        position += 1
    if source[position : position + 1] == "]":
        position += 1
    while position < len(source) and source[position] != "]":
        position = _skip_escape(source, position) if source[position] == "\\" else position + 1
    if position >= len(source):
        raise ValueError("is not a regular expression: [ without ]")
    return position + 1


def _skip_group_start(source: str, position: int) -> int:
    following = source[position + 1 : position + 3]
    if following == "?:":
        return position + 3
    if following[:1] in ("?", "*"):
        raise ValueError(_WHERE)
    return position + 1


def _skip_quantifier(source: str, position: int) -> int:
    if source[position] != "{":
        return position + 1
    end = source.find("}", position)
    bounds = source[position + 1 : end].split(",") if end > 0 else []
    if len(bounds) not in (1, 2) or not all(part.isdecimal() and int(part) <= 100 for part in bounds):
        raise ValueError("uses { not as {n} or {n,m} with numbers up to 100 (write \\{ for the character)")
    return end + 1
