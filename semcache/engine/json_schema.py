"""Which JSON schemas are taken on as the form of an answer: small enough, and without surprises.

Pure; knows nothing of grammars. Gives a copy that holds constraints only: annotations cost work
and bind nothing, and keywords beyond the standard could switch the grammar library's own modes.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from semcache.errors import RequestError

MAX_BYTES = 64 << 10
MAX_DEPTH = 64
MAX_NAMES = 500
"""Property names in all of a schema; the time to compile grows with their square."""

MAX_TEXT = 2048
MAX_PATTERN = 512
MAX_REPEAT = 256
"""Largest count in a pattern, as in `a{256}`; every repetition becomes states of its own."""

_ANNOTATIONS = frozenset(
    ["title", "description", "$comment", "examples", "default", "deprecated", "readOnly", "writeOnly", "$id"]
)
_NAME_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_VALUES = frozenset(("const", "enum"))
_COUNT = re.compile(r"\{(\d*)(?:,(\d*))?\}")


def refused(words: str) -> RequestError:
    """Build the refusal of a form; `words` say the rule and quote nothing."""
    return RequestError(f"response_format: {words}", code="invalid_schema", param="response_format")


def constraints_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Check a schema's size and give what binds in it.

    Raises:
        RequestError: 400: too large, too deep, or a part that would cost too much.
    """
    cleaned: dict[str, Any] = _Walk().schema(schema, 1)
    if len(orjson.dumps(cleaned)) > MAX_BYTES:
        raise refused(f"the schema is larger than {MAX_BYTES} bytes")
    return cleaned


class _Walk:
    def __init__(self) -> None:
        self._names = 0

    def schema(self, found: Any, depth: int) -> Any:
        """Copy a schema, or whatever stands where one may stand."""
        self._check_depth(depth)
        match found:
            case dict():
                return {
                    key: self._keyword(key, value, depth)
                    for key, value in found.items()
                    if key not in _ANNOTATIONS and not key.startswith(("x-", "%"))
                }
            case list():
                return [self.schema(item, depth + 1) for item in found]
            case str():
                self._check_text(found)
        return found

    def _keyword(self, key: str, value: Any, depth: int) -> Any:
        if key in _VALUES:
            self._value(value, depth + 1)
            return value
        if key == "pattern" and isinstance(value, str):
            _check_pattern(value)
        if key in _NAME_MAPS and isinstance(value, dict):
            for name in value:
                self._name(name, is_pattern=key == "patternProperties")
            return {name: self.schema(inner, depth + 2) for name, inner in value.items()}
        return self.schema(value, depth + 1)

    def _name(self, name: str, *, is_pattern: bool) -> None:
        self._check_text(name)
        self._names += 1
        if self._names > MAX_NAMES:
            raise refused(f"the schema has more than {MAX_NAMES} names")
        if is_pattern:
            _check_pattern(name)

    def _value(self, value: Any, depth: int) -> None:
        """Check a constant."""
        self._check_depth(depth)
        match value:
            case str():
                self._check_text(value)
            case dict():
                for name, inner in value.items():
                    self._check_text(name)
                    self._value(inner, depth + 1)
            case list():
                for inner in value:
                    self._value(inner, depth + 1)

    def _check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise refused(f"the schema is nested deeper than {MAX_DEPTH} levels")

    def _check_text(self, text: str) -> None:
        if len(text) > MAX_TEXT:
            raise refused(f"the schema has a text of more than {MAX_TEXT} characters")


def _check_pattern(pattern: str) -> None:
    """Refuse what would become very many states: long patterns and high counts."""
    if len(pattern) > MAX_PATTERN:
        raise refused(f"the schema has a pattern of more than {MAX_PATTERN} characters")
    for counts in _COUNT.findall(pattern):
        if any(len(count) > 6 or (count and int(count) > MAX_REPEAT) for count in counts):
            raise refused(f"the schema has a pattern that counts beyond {MAX_REPEAT}")
