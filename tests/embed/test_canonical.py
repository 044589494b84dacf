"""Canonical text: what must be one text, and what must stay two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.embed.canonical import canonical_text


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("What is DNS?", " What is  DNS? "),
        ("What is DNS?", "What is DNS?\r\n"),
        ("What is DNS?", "\n\nWhat is DNS?\t"),
        ("a b\nc d", "a  b \r\nc\t d"),
        ("caf\u00e9", "cafe\u0301"),
    ],
)
def test_one_text(a: str, b: str) -> None:
    assert canonical_text(a) == canonical_text(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("if x:\n    y()\n    z()", "if x:\n    y()\nz()"),
        ("```\na  b\n```", "```\na b\n```"),
        ('length of "a  b"', 'length of "a b"'),
        ("Polish shoes", "polish shoes"),
        ("\uff11\uff17", "17"),
        ("a\u200bb", "ab"),
        ("What is\nDNS", "What is DNS"),
        ("\u2764", "\u2764\ufe0f"),
    ],
)
def test_two_texts(a: str, b: str) -> None:
    assert canonical_text(a) != canonical_text(b)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_idempotent(text: str) -> None:
    once = canonical_text(text)
    assert canonical_text(once) == once


@given(st.text(alphabet=" \t\n`ab\"'", max_size=40))
def test_idempotent_on_layout(text: str) -> None:
    once = canonical_text(text)
    assert canonical_text(once) == once
