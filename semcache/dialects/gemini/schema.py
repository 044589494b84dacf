"""Gemini's schemas (a part of OpenAPI's) as JSON Schema. Pure."""

from __future__ import annotations

from typing import Any

_NUMBERS = frozenset(("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"))
"""64 bit integers, which protobuf's JSON writes as texts."""
_NO_CONSTRAINT = frozenset(("propertyOrdering", "example", "nullable"))


_DEEPEST = 64
"""Beyond that nothing is put into other words."""


def json_schema(schema: Any, depth: int = 0) -> Any:
    """Give the same constraint in JSON Schema; what is no schema stays as it is."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return schema
    out = {
        name: _value(name, value, depth + 1) for name, value in schema.items() if name not in _NO_CONSTRAINT
    }
    if schema.get("nullable") is True and isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
    return out


def _value(name: str, value: Any, depth: int) -> Any:
    match name, value:
        case "type", str():
            return value.lower()
        case "items", _:
            return json_schema(value, depth)
        case "anyOf", list():
            return [json_schema(one, depth) for one in value]
        case "properties", dict():
            return {key: json_schema(one, depth) for key, one in value.items()}
        case _:
            is_count = name in _NUMBERS and isinstance(value, str) and value.isdecimal()
            return int(value) if is_count else value
