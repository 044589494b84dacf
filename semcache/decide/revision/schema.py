"""Whether a JSON text is what a request's `response_format` asks for; what would cost too much to tell is no.

Schemas are the client's own and hostile like any input: parts that refer to each other may multiply, patterns may
backtrack for ever, references may point outside. Such a schema is not judged. Knows nothing of questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from semcache.core import JsonObject

MAX_SCHEMA = 64 << 10
"""Bytes of a schema."""
MAX_PARTS = 2_000
"""Subschemas once all references are followed."""
MAX_DEPTH = 48
MAX_WORK = 200_000
"""Subschemas times values of the answer: some tenths of a second at the very most."""
_NOT_JUDGED = frozenset(
    ("pattern", "patternProperties", "$dynamicRef", "$recursiveRef", "uniqueItems", "$id", "$anchor")
)
"""Keywords whose cost nobody can bound, or that change what references mean."""


def fits(text: str, response_format: JsonObject | None) -> bool:
    """True when a text is surely of the form asked for; no form, or `text`, is asked for by most."""
    match response_format:
        case None | {"type": "text"}:
            return True
        case {"type": "json_object"}:
            return isinstance(parsed(text), dict)
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return _validates(text, schema)
    return False


class _Missing:
    """Stands for what is no JSON; null is a value."""


def parsed(text: str) -> Any:
    """Give the value of a JSON text; an object of a private type, equal to no JSON value, where it is none."""
    try:
        return orjson.loads(text)
    except ValueError:
        return _Missing()


def _validates(text: str, schema: dict[str, Any]) -> bool:
    value = parsed(text)
    if isinstance(value, _Missing):
        return False
    count, levels = _extent(value)
    parts = _size(schema) if levels <= MAX_DEPTH else None
    return parts is not None and parts * count <= MAX_WORK and _is_valid(schema, value)


def _is_valid(schema: dict[str, Any], value: Any) -> bool:
    # Imported here: it takes tenths of a second, and few requests ask for a schema.
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types; see above
    from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # noqa: PLC0415 - as above
    from referencing import Registry  # noqa: PLC0415 - as above
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

    try:
        Draft202012Validator.check_schema(schema)
        # An empty registry fetches nothing.
        return bool(Draft202012Validator(schema, registry=Registry()).is_valid(value))
    except (SchemaError, Unresolvable):
        return False


def _extent(value: Any) -> tuple[int, int]:
    """Count the values in a value and its levels; without recursion, for it may be as deep as orjson reads (1024)."""
    count = levels = 0
    row = [value]
    while row:
        count += len(row)
        levels += 1
        row = [
            part
            for item in row
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
    return count, levels


def _size(schema: dict[str, Any]) -> int | None:
    """Count the subschemas with all references followed; None: too many, cyclic, or not to be judged."""
    try:
        if len(orjson.dumps(schema)) > MAX_SCHEMA:
            return None
    except (orjson.JSONEncodeError, RecursionError):
        return None
    parts = 0
    for word in _walk(schema, schema, 0):
        parts += 1
        if not word or parts > MAX_PARTS:
            return None
    return parts


def _walk(root: Mapping[str, Any], part: Any, depth: int) -> Iterator[str]:
    """Yield one word for each subschema, "" for one that is not judged: deeper than allowed is how cycles show."""
    if depth > MAX_DEPTH:
        yield ""
        return
    match part:
        case dict():
            yield "" if not _NOT_JUDGED.isdisjoint(part) else "part"
            target = part.get("$ref")
            if target is not None:
                found = _target(root, target)
                yield from _walk(root, found, depth + 1) if found is not None else ("",)
            for key, inner in part.items():
                if key not in ("$ref", "$defs", "definitions", "const", "enum", "default", "examples"):
                    yield from _walk(root, inner, depth + 1)
        case list():
            for inner in part:
                yield from _walk(root, inner, depth + 1)


@lru_cache(maxsize=1)
def _pointer() -> re.Pattern[str]:
    return re.compile(r"#/(?:\$defs|definitions)/([\w.-]{1,200})")


def _target(root: Mapping[str, Any], reference: Any) -> Any:
    """Give the definition that a reference inside of the schema names."""
    match = _pointer().fullmatch(reference) if isinstance(reference, str) else None
    if match is None:
        return None
    definitions = root.get("$defs" if reference.startswith("#/$defs") else "definitions")
    return definitions.get(match[1]) if isinstance(definitions, dict) else None
