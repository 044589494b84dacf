"""Grouping and ratios: what adds up, what is not known, and how money is written."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.cost.report import (
    By,
    Group,
    by_day,
    day_text,
    digits_of,
    dollars,
    grouped,
    money_text,
    parse_by,
    reduced,
    total,
)
from semcache.cost_port import CostKey, CostSums
from tests.cost.books import DAY, book

SIGNED = ("by_response", "by_provider", "by_local")


def sums_of(draw: st.DrawFn) -> CostSums:
    count, money = st.integers(0, 10**6), st.integers(-(10**9), 10**12)
    values = {field.name: draw(money if field.name in SIGNED else count) for field in fields(CostSums)}
    return CostSums(**values)


@st.composite
def books(draw: st.DrawFn) -> dict[CostKey, CostSums]:
    names = st.sampled_from(["", "a", "b", "~other"])
    outcomes = st.sampled_from(["exact", "semantic", "draft", "miss", "bypass", "error", "audit"])
    keys = st.builds(
        CostKey, names, st.integers(20_000, 20_004), names, names, outcomes, names, names, names, names, names
    )
    return {one: sums_of(draw) for one in draw(st.lists(keys, max_size=8, unique=True))}


@given(books(), st.lists(st.sampled_from(By), max_size=4, unique=True))
def test_groups_hold_everything_once(made: dict[CostKey, CostSums], by: list[By]) -> None:
    groups = grouped(made, by)
    assert len({group.names for group in groups}) == len(groups)
    for field in fields(CostSums):
        whole = sum(getattr(told, field.name) for told in made.values())
        assert sum(getattr(group.sums, field.name) for group in groups) == whole
    assert sum(group.hits for group in groups) == sum(
        told.requests for one, told in made.items() if one.outcome in ("exact", "semantic")
    )
    assert all(len(group.names) == len(by) for group in groups)


@given(books())
def test_what_it_would_have_cost_is_what_was_paid_and_the_three_savings(
    made: dict[CostKey, CostSums],
) -> None:
    for group in grouped(made, (By.MODEL,)):
        if group.has_no_price:
            assert (group.paid, group.saved, group.without_caches, group.net, group.spent) == (None,) * 5
            continue
        parts = (group.paid, group.by_response, group.by_provider, group.by_local)
        assert group.without_caches == sum(part for part in parts if part is not None)
        assert group.saved is not None
        assert group.net == group.saved - group.beside


def test_the_book_that_was_made_by_hand() -> None:
    told = total(book())
    assert (told.sums.requests, told.hits, told.hit_ratio) == (165, 70, 70 / 165)
    assert told.cached_share == 4_000 / 11_600
    assert (told.paid, told.without_caches) == (2_000_000, 2_795_000)
    assert (told.by_response, told.by_provider, told.by_local) == (600_000, 200_000, -5_000)
    assert told.saved == told.without_caches - told.paid  # type: ignore[operator]  # both have a price here
    assert (told.beside, told.net, told.spent) == (31_000, 764_000, 2_031_000)


def test_groups_come_by_day_else_the_dearest_first() -> None:
    assert [group.names for group in grouped(book(), (By.DAY,))] == [(day_text(DAY),), (day_text(DAY + 1),)]
    assert [group.names[0] for group in grouped(book(), (By.MODEL,))] == ["big", "mystery", "small"]
    pairs = [group.names for group in grouped(book(), (By.PROJECT, By.DAY))]
    assert [day for _, day in pairs] == sorted(day for _, day in pairs)


def test_a_group_without_any_price_is_not_free_of_charge() -> None:
    mystery = next(group for group in grouped(book(), (By.MODEL,)) if group.names == ("mystery",))
    assert mystery.has_no_price
    assert (mystery.paid, mystery.net, mystery.saved_share) == (None, None, None)
    assert (mystery.sums.input, mystery.sums.unpriced) == (500, 5)
    among_refused = Group((), CostSums(requests=2, unpriced=1, input=500), 0)
    assert (among_refused.has_no_price, among_refused.paid) == (True, None)
    free = Group((), CostSums(requests=3), 3)
    assert (free.has_no_price, free.paid, free.without_caches, free.saved_share) == (False, 0, 0, None)


def test_a_group_that_is_priced_in_part_shows_what_is_known() -> None:
    part = Group((), CostSums(requests=2, unpriced=1, cost=7), 0)
    assert (part.has_no_price, part.paid) == (False, 7)


def test_nothing_has_no_groups_and_an_empty_total() -> None:
    assert grouped({}, ()) == ()
    told = total({})
    assert (told.sums, told.hit_ratio, told.cached_share, told.saved_share) == (CostSums(), None, None, None)


def test_every_day_has_its_place() -> None:
    days = by_day(book(), DAY - 1, DAY + 2)
    assert [group.names[0] for group in days] == [day_text(DAY + by) for by in (-1, 0, 1, 2)]
    assert [group.sums.requests for group in days] == [0, 110, 55, 0]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ()),
        (["day,model"], (By.DAY, By.MODEL)),
        (["Day", " model , day "], (By.DAY, By.MODEL)),
        (["business-line"], (By.BUSINESS_LINE,)),
        (["", ","], ()),
    ],
)
def test_what_to_group_by_is_read(words: list[str], found: tuple[By, ...]) -> None:
    assert parse_by(words) == found


def test_what_is_none_is_named_with_all_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"'colour'; there are: tenant, day, model, backend, project"):
        parse_by(["day,colour"])


@given(st.integers(-(10**15), 10**15))
def test_money_is_written_exactly(micro: int) -> None:
    assert Decimal(dollars(micro)) == Decimal(micro) / 1_000_000
    shown = money_text(micro)
    assert Decimal(shown.replace("$", "").replace(",", "")) == Decimal(micro) / 1_000_000
    assert len(shown.partition(".")[2]) >= 2


@pytest.mark.parametrize(
    ("micro", "text"),
    [
        (0, "$0.00"),
        (12, "$0.000012"),
        (-12, "-$0.000012"),
        (1_234_500_000, "$1,234.50"),
        (1_234_567, "$1.234567"),
        (None, "no price"),
    ],
)
def test_money_for_people(micro: int | None, text: str) -> None:
    assert money_text(micro) == text


def test_amounts_of_a_column_are_written_alike() -> None:
    assert [digits_of(()), digits_of((None, 0)), digits_of((1_500_000, -5_000)), digits_of((1,))] == [
        2,
        2,
        3,
        6,
    ]
    assert money_text(1_500_000, digits=3) == "$1.500"


def test_days_outside_the_calendar_are_numbers() -> None:
    assert day_text(20_000) == "2024-10-04"
    assert day_text(10**12) == "1000000000000"


def test_a_key_is_found_under_each_of_its_names() -> None:
    one = CostKey("acme", DAY, "m", "b", "miss", "k", "p", "e", "l", "t")
    names = next(iter(grouped({one: CostSums(requests=1)}, tuple(By)))).names
    assert names == ("acme", day_text(DAY), "m", "b", "p", "e", "l", "t", "k", "miss")


@given(books(), st.lists(st.sampled_from(By), max_size=3, unique=True))
def test_a_reduced_book_has_the_same_groups(made: dict[CostKey, CostSums], by: list[By]) -> None:
    small = reduced(made, by)
    assert len(small) <= len(made)
    for one in (by, [*by, By.DAY], [By.OUTCOME]):
        assert grouped(small, one) == grouped(made, one)


def test_a_reduced_book_leaves_the_one_it_was_made_from_alone() -> None:
    made = book()
    assert len(reduced(made, ())) < len(made)
    assert made == book()
