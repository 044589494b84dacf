"""Each of the 45 events is shown by a test that is marked with its number."""

from __future__ import annotations

import ast
from pathlib import Path

EVENTS = range(1, 46)
TESTS = Path(__file__).parents[1]


def marked(file: Path) -> set[int]:
    """Give the numbers in `event` marks of tests in a file."""
    text = file.read_text(encoding="utf-8")
    if "mark.event" not in text:
        return set()
    found: set[int] = set()
    tree = ast.parse(text)
    tests = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    marks = [mark for one in tests if one.name.lower().startswith("test") for mark in one.decorator_list]
    marks += [_value for node in tree.body if (_value := _of_the_file(node)) is not None]
    for mark in marks:
        for call in ast.walk(mark):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("mark.event"):
                found |= {
                    one.value
                    for one in call.args
                    if isinstance(one, ast.Constant) and isinstance(one.value, int)
                }
    return found


def _of_the_file(node: ast.stmt) -> ast.expr | None:
    """Give what stands in `pytestmark`."""
    if isinstance(node, ast.Assign) and any(ast.unparse(target) == "pytestmark" for target in node.targets):
        return node.value
    return None


def test_every_event_has_a_test() -> None:
    found = set().union(*(marked(file) for file in TESTS.rglob("test_*.py")))
    assert sorted(set(EVENTS) - found) == []
    assert found <= set(EVENTS)


def test_a_mark_is_found_where_it_is_one(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(
        "import pytest\npytestmark = pytest.mark.event(7)\n\n@pytest.mark.event(3)\ndef test_a(): ...\n\n"
        "@pytest.mark.event(4)\ndef helper(): ...\n\n# @pytest.mark.event(5)\n"
    )
    assert marked(file) == {3, 7}
