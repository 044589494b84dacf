"""What was added between two looks at sums by day is counted in minutes, whatever happens to the book."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.alarming.counting import ALL, COLUMNS, MODELS, Counts, Trail, columns, gather
from semcache.alarming.rules import DAY, AlarmRules
from semcache.alarming.series import Series
from semcache.cost_port import CostKey, CostSums
from tests.alarming.sums import key, sums

TODAY = 20_000
NOON = TODAY * DAY + 43_200.0
RULES = AlarmRules()


def looked(trail: Trail, now: float, book: Mapping[CostKey, CostSums]) -> Counts:
    return trail.look(gather(book), now)


def test_only_what_came_since_the_last_look_counts() -> None:
    trail = Trail(RULES)
    book = {key("exact", TODAY): sums(500), key("miss", TODAY): sums(500, input=1000)}
    assert looked(trail, NOON, book) == Counts()
    book[key("exact", TODAY)] = sums(503)
    book[key("miss", TODAY)] = sums(507, input=1700, cached=300, retries=2, repetitive=1)
    new = looked(trail, NOON + 30, book)
    assert new == Counts(10, 10, 3, 2, 7, 700, 300, 1, 0)
    assert columns(trail.minutes.total(NOON - 100, NOON + 60)) == new
    assert looked(trail, NOON + 60, book) == Counts()


def test_what_is_no_request_counts_as_money_only() -> None:
    book = {
        key("judge", TODAY, "j"): sums(5, input=100, unpriced=2),
        key("error", TODAY): sums(3, unpriced=1),
    }
    told = gather(book)[TODAY]
    assert columns(told[ALL]) == Counts(requests=3, unpriced=3)
    assert columns(told["j"]) == Counts(unpriced=2)
    assert columns(gather({key("bypass", TODAY): sums(4)})[TODAY][ALL]) == Counts(requests=4, asked=4)
    assert columns(gather({key("draft", TODAY): sums(4)})[TODAY][ALL]) == Counts(4, eligible=4, asked=4)


def test_what_runs_here_needs_no_price() -> None:
    book = {replace(key("miss", TODAY, "m", "local"), is_local=True): sums(5, unpriced=5)}
    assert columns(gather(book)[TODAY]["local/m"]) == Counts(5, 5, asked=5)


def test_models_are_told_apart_by_where_they_run_and_have_quiet_names() -> None:
    book = {
        key("miss", TODAY, "m", "up"): sums(1),
        key("miss", TODAY, "m"): sums(2),
        key("miss", TODAY, "<!here>\ud800\n"): sums(3),
        key("exact", TODAY, "never asked"): sums(9),
    }
    assert set(gather(book)[TODAY]) == {ALL, "up/m", "m", "__here___"}


def test_many_models_are_cut_to_the_busiest() -> None:
    book = {key("miss", TODAY, f"m{at:03d}"): sums(1000 - at) for at in range(200)}
    told = gather(book)[TODAY]
    assert set(told) == {ALL} | {f"m{at:03d}" for at in range(MODELS)}
    assert columns(told[ALL]).requests == sum(1000 - at for at in range(200))


def test_a_new_day_counts_from_its_beginning() -> None:
    trail, midnight = Trail(RULES), (TODAY + 1) * DAY
    before = {key("miss", TODAY): sums(100)}
    looked(trail, midnight - 20, before)
    # Both what came late for the day before and what the new one brought.
    after = {key("miss", TODAY): sums(104), key("exact", TODAY + 1): sums(6)}
    assert looked(trail, midnight + 10, after) == Counts(10, 10, 6, asked=4)


def test_what_came_while_nobody_looked_is_not_taken_for_sudden() -> None:
    trail = Trail(RULES)
    looked(trail, NOON, {key("miss", TODAY): sums(100)})
    later = {key("miss", TODAY + 1): sums(5000)}
    assert looked(trail, NOON + DAY, later) == Counts()
    assert looked(trail, NOON + DAY + 30, {key("miss", TODAY + 1): sums(5001)}).requests == 1


def test_a_book_that_was_erased_takes_nothing_away() -> None:
    trail = Trail(RULES)
    looked(trail, NOON, {key("miss", TODAY): sums(100)})
    assert looked(trail, NOON + 30, {key("miss", TODAY): sums(10)}) == Counts()
    assert looked(trail, NOON + 60, {key("miss", TODAY): sums(12)}).requests == 2
    looked(trail, NOON + 90, {})
    assert min(min(row) for row in trail.minutes.slots.values()) >= 0


def test_a_model_that_is_new_counts_from_its_first_request() -> None:
    trail = Trail(RULES)
    looked(trail, NOON, {key("miss", TODAY): sums(100)})
    looked(trail, NOON + 30, {key("miss", TODAY): sums(100), key("miss", TODAY, "new"): sums(7, unpriced=7)})
    assert columns(trail.models["new"].total(NOON, NOON + 60)).unpriced == 7


def test_what_was_known_survives_being_written_down() -> None:
    trail = Trail(RULES)
    looked(trail, NOON, {key("miss", TODAY): sums(100)})
    looked(trail, NOON + 30, {key("miss", TODAY): sums(130, input=500), key("exact", TODAY, "名"): sums(9)})
    again = Trail.load(RULES, json.loads(json.dumps(trail.dump())))
    assert again.looked == trail.looked
    assert again.minutes.slots == trail.minutes.slots
    assert again.hours.slots == trail.hours.slots
    assert {name: one.slots for name, one in again.models.items()} == {
        name: one.slots for name, one in trail.models.items()
    }
    more = {key("miss", TODAY): sums(131, input=500), key("exact", TODAY, "名"): sums(9)}
    assert looked(again, NOON + 60, more) == looked(trail, NOON + 60, more)


def test_those_who_are_idle_are_written_down_alike() -> None:
    trail, book = Trail(RULES), {key("miss", TODAY): sums(1)}
    looked(trail, NOON, book)
    first = trail.dump()
    looked(trail, NOON + 90, book)
    assert trail.dump() == first


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"at": "x", "looked": 5, "minutes": "y", "hours": None, "models": [1]},
        {"looked": {"x": {}, "5": [], "²": {"": [0] * 9}}, "models": {"m": [[1, 2]]}},
        {"looked": {"20000": {"": [1, 2], "m": [True] * 9, "n": [-1] * 9}}},
        {"at": float("nan"), "minutes": [[1.5] * 10, [1, *[-1] * 9], ["1"] * 10, [10**30, *[0] * 9]]},
    ],
)
def test_what_is_of_another_form_begins_anew(told: dict[str, object]) -> None:
    trail = Trail.load(RULES, told)
    assert trail.at == 0.0
    assert not any(trail.looked.values())
    assert trail.minutes.slots == {}
    assert looked(trail, NOON, {key("miss", TODAY): sums(1)}) == Counts()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.floats(1, 600)), max_size=40))
def test_nothing_is_lost_between_looks(steps: list[tuple[int, int, float]]) -> None:
    trail, hits, misses, now = Trail(RULES), 0, 0, NOON - 20_000
    looked(trail, now, {})
    counted = Counts()
    for more_hits, more_misses, pause in steps:
        hits, misses, now = hits + more_hits, misses + more_misses, now + pause
        new = looked(trail, now, {key("exact", TODAY): sums(hits), key("miss", TODAY): sums(misses)})
        counted.hits += new.hits
        counted.eligible += new.eligible
    # All but the very first sums, of which nobody knows when they came.
    first = steps[0] if steps else (0, 0, 0.0)
    assert counted.hits in (hits, hits - first[0])
    assert counted.eligible in (hits + misses, hits + misses - first[0] - first[1])


def test_slots_are_those_of_the_last_time_only() -> None:
    series = Series(1, 60, 3)
    for minute in range(5):
        series.add(minute * 60.0, [minute + 1])
    assert series.dump() == [[2, 3], [3, 4], [4, 5]]
    series.add(0.0, [99])
    assert series.total(0, 1000) == [12]
    assert series.total(200, 250) == [9]
    assert list(series.whole(240)) == [[3], [4]]
    assert not series.is_idle(300)
    assert series.is_idle(500)


def test_columns_have_names() -> None:
    assert len(COLUMNS) == 9
    assert columns(range(9)) == Counts(*range(9))
