"""What docs/ledger.md says about rows is what rows are."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcache.cost.row_fields import COLUMNS, NAMES, filled
from tests.cost.fields import table

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"


def test_every_column_is_explained() -> None:
    assert table() in PAGE.read_text()


def test_names_are_told_apart() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(
    "value", ["x", 5, 1.5, True, None, [1], {"a": 1}, -(1 << 70), float("nan"), float("-inf")]
)
def test_any_value_in_any_column_becomes_what_the_column_takes(value: object) -> None:
    row = filled(dict.fromkeys(NAMES, value))
    for column in COLUMNS:
        found = row[column.name]
        match column.kind.value:
            case "text":
                assert isinstance(found, str)
            case "flag":
                assert isinstance(found, bool)
            case "integer":
                assert type(found) is int
                assert abs(found) < 1 << 63
            case "money":
                assert found is None or (type(found) is int and abs(found) < 1 << 63)
            case "number":
                assert found is None or type(found) in (int, float)
