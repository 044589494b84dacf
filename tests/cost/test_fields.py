"""What docs/ledger.md says about rows is what rows are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from semcache.core import DraftRecord, Outcome, Usage
from semcache.cost.prices import PriceBook
from semcache.cost.row_fields import COLUMNS, NAMES, filled
from semcache.cost.row_making import row_of, side_row_of
from semcache.cost.savings import costed
from semcache.cost_rules import LABELS, CostPolicy
from semcache.records import SideKind, SideRecord
from tests.cost.fields import table
from tests.cost.told import MISS

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


def test_rows_have_no_other_columns_and_every_column_comes_from_somewhere() -> None:
    used = Usage(9, 8, 3, 2, 1, 4, is_odd=True)
    draft = DraftRecord("revise", "kept", input=5, output=6)
    full = replace(
        MISS,
        labels=(*((name, "x") for name in LABELS), ("team", "y")),
        outcome=Outcome.EXACT,
        usage=used,
        saved=used,
        draft=draft,
        is_local=True,
        waited=1.0,
        similarity=0.9,
        score=0.9,
        entry_id="e",
        vetoes=("numbers",),
        stored=True,
        collapsed=True,
        shadow="exact",
        faults=("store:late",),
        retry=True,
        repetition=0.1,
        trimmed=1,
        embedded=1,
        estimated=True,
    )
    row = row_of(full, costed(full, PriceBook(), CostPolicy()))
    assert set(row) == set(NAMES)
    side = SideRecord(
        SideKind.JUDGE, 1.0, "acme", "chat", "m", "up", used, "r", full.labels, "k", is_local=True
    )
    assert set(side_row_of(side, None, "v")) < set(NAMES)
    assert set(row_of(replace(full, usage=None, draft=None), None)) < set(NAMES)


def test_a_nought_is_a_number_and_not_left_away() -> None:
    row = row_of(replace(MISS, similarity=0.0, duration=0.0, repetition=0.0, usage=None), None)
    assert (row["similarity"], row["seconds"], row["repetition"]) == (0.0, 0.0, 0.0)
    assert not {"input", "cached", "waited", "score", "stored", "shadow"} & set(row)
