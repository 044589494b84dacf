"""docs/security.md says what is so: its tests exist, its links lead somewhere, its defaults are the program's."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from semcache.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`( \(slow\))?", PAGE)))
ROW = re.compile(r"^\| `([\w.]+)` \| ([^|]+) \|", re.M)


def rows(heading: str) -> list[tuple[str, str]]:
    """The rows of the table that begins with this heading: what is named, and its value."""
    _, found, rest = PAGE.partition(f"| {heading} |")
    assert found, heading
    return [(name, told.strip()) for name, told in ROW.findall(rest.split("\n\n")[0])]


@cache
def functions(file: Path) -> dict[str, bool]:
    """The test functions of a file, and whether each is marked slow."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    whole = any(
        isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node) and "slow" in ast.unparse(node)
        for node in tree.body
    )
    return {
        node.name: whole or any("mark.slow" in ast.unparse(mark) for mark in node.decorator_list)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def value_of(text: str) -> Any:
    """What a cell says: none, true, a number, or a word."""
    if text == "none":
        return None
    return yaml.safe_load(text)


@pytest.mark.parametrize(("file", "name", "slow"), NAMED, ids=lambda part: part or "-")
def test_every_test_that_it_names_exists(file: str, name: str, slow: str) -> None:
    known = functions(ROOT / file)
    assert name in known, f"docs/security.md names {file}::{name}"
    assert known[name] == bool(slow), f"{name}: the page says slow where it is, and nowhere else"


def test_every_row_about_an_attacker_names_a_test_or_says_that_nothing_helps() -> None:
    attackers = PAGE.partition("## Who attacks")[2].partition("## Defaults")[0]
    lines = [line for line in attackers.splitlines() if line.startswith("| ") and "| shown by |" not in line]
    assert len(lines) > 30
    for line in lines:
        assert "::test_" in line or "**nothing" in line, line


def test_it_leads_to_the_pages_beside_it() -> None:
    for page in ("events.md", "attacks.md", "confirmation.md", "archive.md", "alarms.md"):
        assert f"({page})" in PAGE
    for page, place in re.findall(r"\]\(([\w-]+\.md)(?:#([\w-]+))?\)", PAGE):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert not place or place in anchors(text), f"{page}#{place}"


def anchors(text: str) -> set[str]:
    """The places of a page that a link may name, as GitHub makes them of headings."""
    return {
        re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }


def test_its_defaults_are_those_of_the_program() -> None:
    told = rows("setting | default")
    assert len(told) > 15
    for name, text in told:
        value: Any = Settings.model_construct()
        for part in name.split("."):
            value = getattr(value, part)
        assert (value or None if isinstance(value, tuple) else value) == value_of(text), name


def test_the_policy_is_the_one_that_ships() -> None:
    shipped = yaml.safe_load((ROOT / "semcache/policy/default.yaml").read_text(encoding="utf-8"))
    told = rows("knob of the shipped policy | value")
    assert len(told) > 8
    for name, text in told:
        value: Any = shipped
        for part in name.split("."):
            value = value[part]
        assert value == (text if text == "none" else value_of(text)), name
