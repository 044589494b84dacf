"""The export in FOCUS columns: types, sums, and values that a spreadsheet would carry out."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.cost.focus import COLUMNS, COUNTED, HEADER, MONEY, text, write_focus
from semcache.cost.report import Book, total
from semcache.cost_port import CostKey, CostSums
from tests.cost.books import DAY, book, key

MANDATORY = {
    "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart",
    "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargePeriodEnd", "ChargePeriodStart", "ContractedCost",
    "EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName",
    "ServiceCategory", "ServiceName",
}  # fmt: skip
"""Of version 1.2 (focus.finops.org/focus-specification/v1-2)."""
COSTS = ("BilledCost", "ContractedCost", "EffectiveCost", "ListCost", *MONEY)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def rows(made: Book) -> list[dict[str, str]]:
    out = io.StringIO(newline="")
    count = write_focus(made, out)
    read = list(csv.DictReader(io.StringIO(out.getvalue(), newline="")))
    assert len(read) == count == len(made)
    return read


def test_every_mandatory_column_is_there_and_own_ones_come_last() -> None:
    assert set(COLUMNS) >= MANDATORY
    assert list(COLUMNS) == sorted(COLUMNS)
    own = HEADER[len(COLUMNS) :]
    assert all(name.startswith("x_") for name in own)
    assert len(set(HEADER)) == len(HEADER)


def test_types() -> None:
    for row in rows(book()):
        for name in ("ChargePeriodStart", "ChargePeriodEnd", "BillingPeriodStart", "BillingPeriodEnd"):
            assert TIME.fullmatch(row[name])
        start, end, month, after = (
            datetime.fromisoformat(row[name])
            for name in ("ChargePeriodStart", "ChargePeriodEnd", "BillingPeriodStart", "BillingPeriodEnd")
        )
        assert (end - start).total_seconds() == 86_400
        assert month <= start < end <= after
        assert (month.day, after.day) == (1, 1)
        assert row["BillingCurrency"] == "USD"
        assert row["ChargeCategory"] == "Usage"
        for name in COSTS:
            assert re.fullmatch(r"(-?\d+(\.\d{1,6})?)?", row[name]), name
        for name in (*COUNTED, "ConsumedQuantity", "PricingQuantity"):
            assert row[name].isdigit(), name
        for name in MANDATORY - {"ChargeClass", *COSTS}:
            assert row[name], name
        assert json.loads(row["Tags"] or "{}").keys() <= {"project", "environment", "business_line", "task"}


def test_sums_are_those_of_the_report() -> None:
    told, read = total(book()), rows(book())

    def added(name: str) -> Decimal:
        return sum((Decimal(row[name]) for row in read if row[name]), Decimal(0)) * 1_000_000

    assert added("BilledCost") == added("EffectiveCost") == told.spent
    assert added("x_AnswerCost") == told.paid
    assert added("x_CostWithoutCaches") == told.without_caches
    assert added("x_SavedByResponseCache") == told.by_response
    assert added("x_SavedByProviderCache") == told.by_provider
    assert added("x_SavedByLocalPrefixCache") == told.by_local
    assert added("x_EmbeddingCost") + added("x_SideCost") == told.beside
    assert added("x_ChargedCost") == told.sums.charged
    assert sum(int(row["x_Requests"]) for row in read) == told.sums.requests
    assert sum(int(row["x_Hits"]) for row in read) == told.hits
    assert sum(int(row["x_InputTokens"]) for row in read) == told.sums.input


def test_what_has_no_price_is_null_and_never_nothing() -> None:
    row = next(row for row in rows(book()) if row["SkuId"] == "mystery")
    assert {row[name] for name in ("BilledCost", "EffectiveCost", "ListCost", "x_AnswerCost")} == {""}
    assert (row["x_UnpricedRequests"], row["ConsumedQuantity"]) == ("5", "600")
    hit = next(row for row in rows(book()) if row["x_Outcome"] == "exact")
    assert (hit["BilledCost"], hit["x_SavedByResponseCache"]) == ("0", "0.62")


def test_a_negative_saving_stays_a_number() -> None:
    row = next(row for row in rows(book()) if row["x_Outcome"] == "draft")
    assert row["x_SavedByResponseCache"] == "-0.04"


@pytest.mark.parametrize(
    "value",
    ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", " =1", "\uff1d1", '="a","b"', "-2+3\n=1"],
)
def test_no_name_is_taken_for_a_formula(value: str) -> None:
    made: dict[CostKey, CostSums] = {
        key(model=value, backend=value, key_name=value, project=value, tenant=value): CostSums(requests=1)
    }
    (row,) = rows(made)
    for name, cell in row.items():
        if name not in COSTS:
            assert not cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d")), name


@given(st.text(max_size=20), st.text(st.characters(codec=None), max_size=20))
def test_any_text_keeps_its_cell_and_its_row(model: str, label: str) -> None:
    made: dict[CostKey, CostSums] = {
        key(model=model, project=label, day=DAY): CostSums(requests=1),
        key(model="plain"): CostSums(requests=2),
    }
    if len(made) == 2:
        read = rows(made)
        assert sorted(int(row["x_Requests"]) for row in read) == [1, 2]
        "".join(cell for row in read for cell in row.values()).encode()


def test_plain_unicode_is_kept() -> None:
    assert text("门诊 ünïcode 🙂") == "门诊 ünïcode 🙂"
    assert text("a-b") == "a-b"
    assert text("\ud800x") == "?x"


def test_december_ends_in_january() -> None:
    (row,) = rows({key(day=20_818): CostSums(requests=1)})  # 2026-12-31
    assert row["ChargePeriodStart"] == "2026-12-31T00:00:00Z"
    assert (row["BillingPeriodStart"], row["BillingPeriodEnd"]) == (
        "2026-12-01T00:00:00Z",
        "2027-01-01T00:00:00Z",
    )
