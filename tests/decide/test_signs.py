"""A number and its negative are two numbers; strokes that join or list are no signs."""

from __future__ import annotations

import pytest

from semcache.decide.gate import vetoes
from semcache.gate_rules import GateRules


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What is -5 plus 3?", "What is 5 plus 3?"),
        ("What is −5 plus 3?", "What is 5 plus 3?"),
        ("What is negative 5 plus 3?", "What is 5 plus 3?"),
        ("Is it safe at -20 °C?", "Is it safe at 20 °C?"),
        ("Is it safe at minus 20 °C?", "Is it safe at 20 °C?"),
        ("-20°C in Fahrenheit?", "20°C in Fahrenheit?"),
        ("Is it odd (-3)?", "Is it odd (3)?"),
        ("零下5度安全吗", "5度安全吗"),
    ],
)
def test_a_sign_tells_numbers_apart(asked: str, stored: str) -> None:
    assert "numbers" in vetoes(asked, stored, GateRules())
    assert "numbers" in vetoes(stored, asked, GateRules())


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Is it safe at -20 °C?", "Is it safe at minus 20 °C?"),
        ("Is it safe at -20 °C?", "Is it safe at −20 °C?"),
        ("Translate pages 10-20", "Translate pages 10 - 20"),
        ("Who wrote covid-19 rules?", "Who wrote covid 19 rules?"),
        ("Is 5 odd?", "- Is 5 odd?"),
        ("What is 10-5?", "What is 10 - 5?"),
    ],
)
def test_other_strokes_are_none(asked: str, stored: str) -> None:
    assert vetoes(asked, stored, GateRules()) == ()
