"""Whether a JSON value keeps to a schema, at a cost that is bounded whatever the schema says. Pure.

Schemas come from clients. Four things are bounded: the size and depth of schema and value; references, which may only
point into the schema itself; regular expressions, of which only those are tried that cannot take long; and the work
as a whole, which is counted while it is done, for references can double it at each step. What goes beyond a bound,
or is no valid schema, is not judged. Dialect: JSON Schema 2020-12, by the library `jsonschema`; `format` is an
annotation there. Knows nothing of questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import orjson
from jsonschema import Draft202012Validator, validators  # type: ignore[import-untyped]  # it brings no types
from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # as above

MOST_BYTES = 32_768
"""Of a schema."""
MOST_DEPTH = 48
"""Of schema and value."""
MOST_WORK = 20_000
"""Steps of one judgement: a keyword tried on a value, a member of a list compared."""
_MOST_VALUES = 10_000
_MOST_PATTERN, _MOST_SUBJECT = 100, 128
"""Characters of a regular expression, and of what it is tried on."""
_ELSEWHERE = frozenset(
    (
        "$id",
        "id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$recursiveAnchor",
        "$vocabulary",
    )
)
"""Keywords that make references mean something other than a place in this schema."""
_Keyword = Callable[[Any, Any, Any, Any], Any]


class _TooMuch(Exception):  # noqa: N818 - not an error of anybody's: it ends a search that costs too much
    """The work of a judgement goes beyond its bound."""


def keeps_to(schema: Any, value: Any) -> bool | None:
    """Say whether a value keeps to a schema; None where that is not judged.

    Args:
        schema: as the client sent it, read from JSON.
        value: read from JSON too.
    """
    try:
        written = orjson.dumps(schema)
    except (orjson.JSONEncodeError, RecursionError):
        return None
    if len(written) > MOST_BYTES or _is_beyond(value) or not _is_sound(written):
        return None
    try:
        found: bool = _counting()(schema).is_valid(value)
    except (_TooMuch, RecursionError, ArithmeticError):
        return None
    return found


@lru_cache(maxsize=256)
def _is_sound(written: bytes) -> bool:
    """True for a valid schema that can be judged; remembered, for checking one costs milliseconds."""
    schema = orjson.loads(written)
    if _is_beyond(schema) or not all(_is_harmless(part, schema) for part in _parts(schema)):
        return False
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True


def _is_beyond(value: Any) -> bool:
    """True for a value that is too deep or holds too many others."""
    level, seen = [value], 0
    for _ in range(MOST_DEPTH):
        following: list[Any] = []
        for part in level:
            match part:
                case dict():
                    following += part.values()
                case list():
                    following += part
        seen += len(level)
        if not following:
            return seen > _MOST_VALUES
        level = following
        if seen + len(level) > _MOST_VALUES:
            return True
    return True


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a JSON value."""
    rest = [value]
    while rest:
        part = rest.pop()
        match part:
            case dict():
                yield part
                rest += part.values()
            case list():
                rest += part


def _is_harmless(part: dict[str, Any], schema: Any) -> bool:
    """True for a part that points nowhere else and has no dangerous pattern; properties of such names count too."""
    if not _ELSEWHERE.isdisjoint(part):
        # A property may be called `id`: then it holds a schema and is no keyword.
        named = [part[word] for word in _ELSEWHERE & part.keys()]
        if any(not isinstance(value, dict | bool) for value in named):
            return False
    if isinstance(part.get("$ref"), str) and not _points_inside(part["$ref"], schema):
        return False
    patterns = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
    named_by = part.get("patternProperties")
    patterns += named_by if isinstance(named_by, dict) else ()
    return all(is_quick(pattern) for pattern in patterns)


def _points_inside(reference: str, schema: Any) -> bool:
    if reference == "#":
        return True
    if not reference.startswith("#/") or "%" in reference:
        return False
    for step in reference[2:].split("/"):
        match schema:
            case dict() if (name := step.replace("~1", "/").replace("~0", "~")) in schema:
                schema = schema[name]
            case list() if step.isascii() and step.isdecimal() and int(step[:6]) < len(schema):
                schema = schema[int(step[:6])]
            case _:
                return False
    return isinstance(schema, dict | bool)


@lru_cache(maxsize=1)
def _varying() -> re.Pattern[str]:
    return re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(?P<often>[*+]|\{\d*,\d*\})|(?P<maybe>\?)|(?P<group>[()|])")


def is_quick(pattern: str) -> bool:
    """True for a regular expression that cannot backtrack long: no groups, and hardly anything that repeats."""
    if len(pattern) > _MOST_PATTERN:
        return False
    found = [match.lastgroup for match in _varying().finditer(pattern)]
    if "group" in found or found.count("often") > 1 or found.count("maybe") > 2:
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


@lru_cache(maxsize=1)
def _keywords() -> dict[str, _Keyword]:
    known: dict[str, _Keyword] = dict(Draft202012Validator.VALIDATORS)
    return known


def _counting() -> Any:
    """Give a validator class that counts its work."""
    work = 0

    def counted(keyword: _Keyword, name: str) -> _Keyword:
        def judge(validator: Any, wanted: Any, value: Any, schema: Any) -> Any:
            nonlocal work
            work += _cost(name, wanted, value)
            if work > MOST_WORK:
                raise _TooMuch
            return keyword(validator, wanted, value, schema)

        return judge

    return validators.extend(
        Draft202012Validator, {name: counted(keyword, name) for name, keyword in _keywords().items()}
    )


def _cost(name: str, wanted: Any, value: Any) -> int:
    """Give the steps of one keyword on one value."""
    if name in ("pattern", "patternProperties"):
        subjects = [value] if isinstance(value, str) else list(value) if isinstance(value, dict) else []
        if any(len(subject) > _MOST_SUBJECT for subject in subjects):
            raise _TooMuch
        return 10 * (1 + len(subjects) * (len(wanted) if isinstance(wanted, dict) else 1))
    if name == "uniqueItems":
        return 1 + (len(value) ** 2 if isinstance(value, list) else 0)
    return 1 + (len(wanted) if isinstance(wanted, list | dict) else 0)
