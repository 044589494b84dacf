"""The plots of costs: the series that are drawn, and files that are pictures."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from semcache.cli.cost_plots import draw_costs, label_panel, money_panel, ratio_panel, token_panel
from semcache.cost.report import By, by_day, total
from semcache.cost_port import CostSums
from semcache.evaluate.plot import Bars
from tests.cost.books import DAY, book, key

DAYS = by_day(book(), DAY - 1, DAY + 1)


def test_bars_of_a_day_add_up_to_what_it_would_have_cost() -> None:
    panel = money_panel(DAYS)
    assert [layer.label for layer in panel.layers] == [
        "paid",
        "response cache",
        "provider cache",
        "local prefix",
    ]
    whole = [sum(layer.values[at] for layer in panel.layers) for at in range(3)]
    assert whole == pytest.approx([0.0, 2.715, 0.08])
    assert sum(whole) == pytest.approx((total(book()).without_caches or 0) / 1e6)


def test_days_without_requests_are_gaps_and_not_nothing() -> None:
    hits, cached, *_ = ratio_panel(DAYS).lines
    assert [math.isnan(value) for value in hits.y] == [True, False, False]
    assert hits.y[1:] == pytest.approx([60 / 110, 10 / 55])
    assert cached.y[1:] == pytest.approx([4000 / 11000, 0.0])


def test_a_day_between_gaps_is_seen() -> None:
    made = {key(day=DAY + at): CostSums(requests=1) for at in (0, 1, 3)}
    dots = next(line for line in ratio_panel(by_day(made, DAY, DAY + 4)).lines if line.mark)
    assert [at for at, value in enumerate(dots.y) if not math.isnan(value)] == [3]


def test_tokens_are_each_in_one_layer() -> None:
    panel = token_panel(DAYS)
    assert [layer.values[1] for layer in panel.layers] == [7000.0, 4000.0, 3100.0, 15000.0]


def test_labels_that_are_too_many_are_added_up() -> None:
    many = {key(project=f"p{n}"): CostSums(requests=1, by_response=n) for n in range(1, 31)}
    panel = label_panel(many, By.PROJECT)
    assert [name for _, name in panel.ticks] == [*(f"p{n}" for n in range(30, 20, -1)), "20 more"]
    assert panel.layers[0].values[-1] == pytest.approx(sum(range(1, 21)) / 1e6)


def test_few_days_are_named(tmp_path: Path) -> None:
    panel = money_panel(by_day({}, DAY - 89, DAY))
    assert len(panel.ticks) <= 8
    assert panel.ticks[-1] == (89.0, "4 Sep")


@pytest.mark.parametrize("suffix", ["svg", "png"])
@pytest.mark.parametrize(
    "made",
    [{}, book(), {key(project="门诊 $x^2$ _y_"): CostSums(requests=1, cost=1)}],
    ids=["none", "some", "odd"],
)
def test_files_are_pictures(tmp_path: Path, suffix: str, made: dict) -> None:  # type: ignore[type-arg]  # a book
    path = tmp_path / f"costs.{suffix}"
    draw_costs(path, made, DAY - 6, DAY + 1, By.PROJECT)
    begins = path.read_bytes()[:400]
    assert begins.startswith(b"\x89PNG") if suffix == "png" else b"<svg" in begins or b"<?xml" in begins


def test_a_group_without_a_price_is_not_shown_as_one_that_saved_nothing() -> None:
    made = {
        key(project="dear"): CostSums(requests=1, unpriced=1, input=9),
        key(project="none"): CostSums(requests=1, cost=5),
    }
    names = {name for _, name in label_panel(made, By.PROJECT).ticks}
    assert names == {"dear (no price)", "none"}


def test_bars_are_generic() -> None:
    assert isinstance(label_panel({}, By.MODEL), Bars)
