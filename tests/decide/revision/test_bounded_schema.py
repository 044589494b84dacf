"""Schemas are kept to, broken, or not judged; none of them costs more than it may."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.decide.revision.bounded_schema import MOST_BYTES, MOST_DEPTH, is_quick, keeps_to

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "id": {"type": "integer"}, "next": {"$ref": "#"}},
    "required": ["name"],
    "additionalProperties": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "value", "kept"),
    [
        (PERSON, {"name": "Ada", "id": 1}, True),
        (PERSON, {"name": "Ada", "next": {"name": "Bob"}}, True),
        (PERSON, {"name": "Ada", "next": {"name": "bob"}}, False),
        (PERSON, {"name": "Ada", "x": 1}, False),
        (PERSON, {}, False),
        ({"$defs": {"a/b": {"type": "null"}}, "$ref": "#/$defs/a~1b"}, None, True),
        ({"anyOf": [{"type": "null"}, {"enum": [1, 2]}]}, 2, True),
        (True, {"a": 1}, True),
        (False, {"a": 1}, False),
        ({"$ref": "https://schemas.example/a.json"}, 1, None),
        ({"$ref": "file:///etc/passwd"}, 1, None),
        ({"$ref": "#/$defs/none"}, 1, None),
        ({"$ref": "#"}, 1, None),
        ({"$id": "https://schemas.example/", "$ref": "#"}, 1, None),
        ({"$dynamicRef": "#a"}, 1, None),
        ({"type": "strange"}, 1, None),
        ({"type": 7}, 1, None),
        ({"pattern": "("}, "x", None),
        ({"pattern": "(a+)+$"}, "a" * 40, None),
        ({"pattern": "^[a-z]+$"}, "a" * 200, None),
        ({"patternProperties": {"(a|a)*b": True}}, {"a": 1}, None),
        (7, 1, None),
        (object(), 1, None),
        ({"multipleOf": 1e-300}, 1e300, False),
    ],
)
def test_a_schema_is_judged(schema: Any, value: Any, kept: bool | None) -> None:
    assert keeps_to(schema, value) is kept


def deep(depth: int, leaf: Any = None) -> Any:
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def bombs() -> list[tuple[Any, Any]]:
    steps = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}
    doubling = {"$defs": {**steps, "d40": {"type": "null"}}, "$ref": "#/$defs/d0"}
    loop = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    return [
        (doubling, None),
        (loop, None),
        ({"uniqueItems": True}, [{"a": i} for i in range(5000)]),
        ({"items": {"enum": list(range(-3000, 0))}}, [-1] * 3000),
        ({"not": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}, 1),
        ({"description": "x" * MOST_BYTES}, 1),
        (deep(500), 1),
        ({"items": deep(MOST_DEPTH)}, 1),
        ({}, deep(MOST_DEPTH + 1)),
        ({}, list(range(20_000))),
    ]


@pytest.mark.parametrize("number", range(10))
def test_bombs_are_not_judged_and_cost_little(number: int) -> None:
    schema, value = bombs()[number]
    began = time.process_time()
    assert keeps_to(schema, value) is None
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("pattern", ["^[A-Z]{2}\\d+$", "^\\d{4}-\\d{2}-\\d{2}$", "abc?d", "^[^@ ]+@x\\.org$"])
def test_harmless_patterns_are_tried(pattern: str) -> None:
    assert is_quick(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a)", "a*a*", "a|b", "a{1,9}b{1,9}", "x" * 101, "a?b?c?", "[", "a{99999999999}"]
)
def test_others_are_not(pattern: str) -> None:
    assert not is_quick(pattern)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["type", "$ref", "items", "allOf", "enum", "pattern", "properties", "required", "id", "a"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(_json, _json)
def test_whatever_a_client_sends_is_an_answer(schema: Any, value: Any) -> None:
    assert keeps_to(schema, value) in (True, False, None)
