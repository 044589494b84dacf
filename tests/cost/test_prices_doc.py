"""docs/prices.md: its example file is one, and the numbers of its table are what comes out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost.prices import PriceBook
from semcache.cost.savings import costed
from semcache.cost_rules import CostPolicy
from semcache.review_rules import DraftRecord

PAGE = (Path(__file__).parents[2] / "docs" / "prices.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.partition("| what happened |")[2].splitlines()[2:]
    if line.startswith("|")
]
CALL = RequestRecord(
    request_id="r",
    at=1_790_000_000.0,
    tenant="t",
    domain="",
    route="chat",
    model="m",
    stream=False,
    outcome=Outcome.MISS,
    reason="",
    status=200,
    duration=1.0,
    overhead=0.0,
    backend="api",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> PriceBook:
    found = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    path = tmp_path_factory.mktemp("prices") / "prices.yaml"
    path.write_text(found[1], encoding="utf-8")
    return PriceBook(path, local=frozenset({"local"}))


def record_of(what: str, model: str, usage: Usage) -> RequestRecord:
    """The record of a row."""
    call = replace(CALL, model=model)
    if what.startswith("hit"):
        return replace(call, outcome=Outcome.EXACT, saved=usage)
    if what.startswith("revision"):
        draft = DraftRecord("revise", "edited", saved=5157, model="gpt-4o-mini")
        return replace(call, outcome=Outcome.DRAFT, usage=usage, draft=draft)
    if model == "local":
        return replace(call, usage=usage, backend="local", is_local=True)
    return replace(call, usage=usage)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_table_is_what_comes_out(book: PriceBook, row: list[str]) -> None:
    what, model, *numbers = row
    read, cached, written, wrote = map(int, numbers[:4])
    money = costed(record_of(what, model, Usage(read, wrote, cached, written)), book, CostPolicy())
    found = (money.cost, money.by_response, money.by_provider, money.by_local, money.without_caches)
    assert found == tuple(None if number == "null" else int(number) for number in numbers[4:])


def test_the_table_has_rows_and_the_file_a_price_of_embedding(book: PriceBook) -> None:
    assert len(ROWS) == 8
    assert book.embedding(1_000_000) == 10_000
