"""The forms that requests and questions ask for."""

from __future__ import annotations

import time
from typing import Any

import pytest

from semcache.decide.revision.form import has_form


def fits(text: str, response_format: Any) -> bool:
    return has_form("What is it?", response_format, text)


def wanted(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


PERSON = wanted(
    {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize(
    ("text", "form", "fit"),
    [
        ("anything", None, True),
        ("anything", {"type": "text"}, True),
        ("{}", {"type": "json_object"}, True),
        ("[]", {"type": "json_object"}, False),
        ("{", {"type": "json_object"}, False),
        ("```json\n{}\n```", {"type": "json_object"}, False),
        ('{"name":"Eva"}', PERSON, True),
        ('{"name":3}', PERSON, False),
        ('{"name":"Eva","age":3}', PERSON, False),
        ("null", wanted({"type": "null"}), True),
        ("{}", {"type": "grammar"}, False),
        ("{}", {"type": "json_schema"}, False),
        ("{}", wanted({"type": 3}), False),
        (
            '{"a":{"b":1}}',
            wanted(
                {
                    "$defs": {"b": {"properties": {"b": {"type": "string"}}}},
                    "properties": {"a": {"$ref": "#/$defs/b"}},
                }
            ),
            False,
        ),
        (
            '{"a":{"b":"1"}}',
            wanted(
                {
                    "$defs": {"b": {"properties": {"b": {"type": "string"}}}},
                    "properties": {"a": {"$ref": "#/$defs/b"}},
                }
            ),
            True,
        ),
        ("{}", wanted({"$ref": "https://example.org/schema.json"}), False),
        ("{}", wanted({"$ref": "#/$defs/none"}), False),
        ("{}", wanted({"$ref": "#"}), False),
        ('"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"', wanted({"pattern": "^(a+)+$"}), False),
    ],
)
def test_what_is_surely_of_the_form(text: str, form: dict[str, Any] | None, fit: bool) -> None:
    assert fits(text, form) is fit


def test_a_schema_that_multiplies_costs_nothing() -> None:
    parts = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}
    bomb = wanted({"$defs": {**parts, "d40": {}}, "$ref": "#/$defs/d0"})
    cyclic = wanted(
        {"$defs": {"a": {"properties": {"x": {"allOf": [{"$ref": "#/$defs/a"}] * 9}}}}, "$ref": "#/$defs/a"}
    )
    wide = wanted({"items": {"anyOf": [{"const": i} for i in range(1500)]}})
    begun = time.process_time()
    assert not fits("{}", bomb)
    assert fits('{"x":{"x":{"x":{}}}}', cyclic)  # small enough to be judged
    assert not fits('{"x":' * 12 + "{}" + "}" * 12, cyclic)
    assert not fits("[" + ",".join(["-1"] * 10_000) + "]", wide)
    assert not fits("[" * 1000 + "]" * 1000, wanted({"type": "array"}))
    assert time.process_time() - begun < 1.0


LIST = "- one\n- two\n- three"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"


@pytest.mark.parametrize(
    ("asked", "answer", "has"),
    [
        ("Compare tea and coffee in a table", TABLE, True),
        ("Compare tea and coffee in a table", "Tea is milder.", False),
        ("用表格比较茶和咖啡", TABLE, True),
        ("Benefits of tea as bullet points", LIST, True),
        ("Benefits of tea as bullet points", "It calms.", False),
        ("Give me three tips for sleeping", LIST, True),
        ("Give me 5 tips for sleeping", LIST, False),
        ("Give me five tips for sleeping", "Sleep early.", True),
        ("列出3个优点", "1. 一\n2. 二\n3. 三", True),
        ("列出五个优点", "1. 一\n2. 二\n3. 三", False),
        ("Explain rain in JSON", '{"rain": "water"}', True),
        ("Explain rain in JSON", 'Here:\n```json\n{"rain": 1}\n```', False),
        ("Explain rain in JSON", "Rain is water.", False),
        ("Explain rain in one sentence", "Rain is water.", True),
        ("Explain rain in one sentence", "Rain is water. It falls.", False),
        ("Explain rain in at most 5 words", "Water that falls from clouds", True),
        ("Explain rain in at most 5 words", "Water that falls down from the dark clouds above", False),
        ("用不超过5个字解释雨", "天上落下来的水滴和云", False),
        ("Reverse a string in Python", "```python\ns[::-1]\n```", True),
        ("Reverse a string in Python", "Use slicing.", True),
        ("How do I pay?", "Online.", True),
    ],
)
def test_the_form_a_question_asks_for(asked: str, answer: str, has: bool) -> None:
    assert has_form(asked, None, answer) is has
