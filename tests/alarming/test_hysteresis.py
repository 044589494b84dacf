"""Alarms are raised and over once, however readings waver around a level; too little traffic raises nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.alarming.hysteresis import MOST, Change, Level, Place, Reading, dump, load, step
from semcache.alarming.rules import DAY, LIMITS, AlarmRules, Limit
from semcache.cost_port import AlarmKind

KIND = AlarmKind.HIT_RATIO_LOW
LOW = Limit(0.05, 0.08, lasts=60, calms=30, is_low=True)
HIGH = Limit(0.5, 0.3, lasts=60, calms=30)
TURN = 10.0


class Walk:
    """Steps through readings of one subject, ten seconds apart."""

    def __init__(self, limit: Limit, kind: AlarmKind = KIND) -> None:
        self.limit, self.kind = limit, kind
        self.levels: dict[Place, Level] = {}
        self.now = 1000.0
        self.changes: list[Change] = []

    def see(self, value: float | None, times: int = 1, era: str = "", after: float = TURN) -> list[bool]:
        """Give whether each change raised the alarm."""
        told: list[bool] = []
        for _ in range(times):
            self.now += after
            reading = Reading(self.kind, "s", value, self.limit, era)
            self.levels, changes = step(self.levels, [reading], {self.kind}, self.now)
            self.changes += changes
            told += [change.level.is_raised for change in changes]
        return told


@pytest.mark.parametrize(
    ("limit", "bad", "between", "good"), [(LOW, 0.05, 0.07, 0.09), (HIGH, 0.5, 0.4, 0.2)]
)
def test_a_value_must_be_bad_for_long_and_good_for_long(
    limit: Limit, bad: float, between: float, good: float
) -> None:
    walk = Walk(limit)
    assert walk.see(bad, 6) == []
    assert walk.see(bad) == [True]
    raised = walk.levels[KIND, "s"]
    assert (raised.since, raised.value, raised.limit) == (walk.now, bad, limit.raises)
    assert walk.see(bad, 10) == []
    assert walk.see(between, 10) == []
    assert walk.see(good, 3) == []
    assert walk.see(good) == [False]
    assert walk.levels == {}
    assert walk.changes[-1].level.since == raised.since


def test_one_good_reading_between_begins_the_wait_anew() -> None:
    walk = Walk(HIGH)
    assert walk.see(0.9, 6) + walk.see(0.45) + walk.see(0.9, 6) == []
    assert walk.see(0.9) == [True]


def test_too_little_traffic_neither_raises_nor_clears_at_once() -> None:
    walk = Walk(HIGH)
    assert walk.see(0.9, 6) + walk.see(None) + walk.see(0.9, 6) == []
    assert walk.see(0.9) == [True]
    assert walk.see(None, 100) == []
    assert walk.see(None, after=DAY) == [False]


def test_a_subject_that_is_not_heard_of_any_more_is_over_in_the_end() -> None:
    walk = Walk(replace(HIGH, lasts=0))
    assert walk.see(0.9) == [True]
    levels, changes = step(walk.levels, [], {KIND}, walk.now + DAY - 1)
    assert not changes
    levels, changes = step(levels, [], {KIND}, walk.now + DAY)
    assert [change.level.is_raised for change in changes] == [False]
    assert levels == {}


def test_what_was_not_looked_at_stays_as_it_was() -> None:
    walk = Walk(replace(HIGH, lasts=0))
    walk.see(0.9)
    levels, changes = step(walk.levels, [], {AlarmKind.RETRIES}, walk.now + 10 * DAY)
    assert (levels, changes) == (walk.levels, ())


def test_a_new_window_clears_and_may_raise_again() -> None:
    walk = Walk(Limit(0.8, 0.8), AlarmKind.BUDGET)
    assert walk.see(0.79, era="may") == []
    assert walk.see(0.81, era="may") == [True]
    # Within a window the alarm stays, also where a correction took a little back.
    assert walk.see(0.7, 20, era="may") == []
    assert walk.see(None, era="may") == []
    assert walk.see(0.1, era="june") == [False]
    assert walk.see(0.9, era="june") == [True]
    assert walk.see(0.95, era="july") == [False, True]


def test_a_budget_that_is_gone_is_over_at_once() -> None:
    walk = Walk(Limit(0.8, 0.8), AlarmKind.BUDGET)
    walk.see(0.9, era="may")
    levels, changes = step(walk.levels, [], {AlarmKind.BUDGET}, walk.now + 1)
    assert levels == {}
    assert [change.level.is_raised for change in changes] == [False]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_says_nothing(odd: float) -> None:
    walk = Walk(replace(HIGH, lasts=0))
    assert walk.see(odd, 5) == []
    walk.see(0.9)
    assert walk.see(odd, 5) == []
    assert json.loads(json.dumps(dump(walk.levels))) == dump(walk.levels)


def test_a_clock_that_is_set_back_does_not_hold_an_alarm_for_ever() -> None:
    walk = Walk(HIGH)
    walk.see(0.9, 3)
    walk.now -= 1000
    assert True in walk.see(0.9, 8)
    walk.now -= 1000
    assert False in walk.see(0.1, 5)


def test_subjects_are_bounded() -> None:
    readings = [Reading(KIND, f"s{at}", 0.9, replace(HIGH, lasts=0)) for at in range(10 * MOST)]
    levels, changes = step({}, readings, {KIND}, 1.0)
    assert len(levels) == len(changes) == MOST


values = st.one_of(st.none(), st.floats(0, 1))


@given(st.lists(st.tuples(values, st.floats(0.1, 100)), max_size=60), st.sampled_from([LOW, HIGH]))
def test_changes_alternate_and_every_one_has_its_reason(
    readings: list[tuple[float | None, float]], limit: Limit
) -> None:
    walk, history = Walk(limit), []
    for value, pause in readings:
        before = len(walk.changes)
        walk.see(value, after=pause)
        history.append((walk.now, value))
        for change in walk.changes[before:]:
            # Bad (or good) without a break for as long as it takes.
            patience, asks = (
                (limit.lasts, limit.is_bad) if change.level.is_raised else (limit.calms, limit.is_good)
            )
            run = []
            for at, seen in reversed(history):
                if seen is None or not asks(seen):
                    break
                run.append(at)
            assert run
            assert run[0] - run[-1] >= patience
    told = [change.level.is_raised for change in walk.changes]
    assert told == [at % 2 == 0 for at in range(len(told))]


@given(st.lists(st.floats(-0.019, 0.019), min_size=1, max_size=200), st.booleans())
def test_noise_around_a_level_raises_at_most_once(noise: list[float], bad_first: bool) -> None:
    # Around the level at which it is raised: in no reading is it on the good side of the other one.
    walk = Walk(Limit(0.5, 0.48, lasts=20, calms=20))
    told = [change for wobble in noise for change in walk.see(0.5 + wobble)]
    assert told in ([], [True])
    # Around the level at which it is over: it never comes back.
    walk = Walk(Limit(0.5, 0.48, lasts=20, calms=20))
    if bad_first:
        walk.see(0.9, 5)
    told = [change for wobble in noise for change in walk.see(0.48 + wobble)]
    assert told in ([], [False])


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 500))
def test_money_that_is_spent_raises_each_step_once(spent: list[int], most: int) -> None:
    walk, total, told = Walk(Limit(0.5, 0.5), AlarmKind.BUDGET), 0, []
    for one in spent:
        total += one
        told += walk.see(total / most, era="may")
    assert told == ([True] if total >= most / 2 else [])


@given(st.lists(st.tuples(values, st.sampled_from(["", "may", "june"])), max_size=30))
def test_levels_survive_being_written_down(readings: list[tuple[float | None, str]]) -> None:
    walk = Walk(HIGH)
    for value, era in readings:
        walk.see(value, era=era)
        assert load(json.loads(json.dumps(dump(walk.levels)))) == walk.levels


@pytest.mark.parametrize(
    "rows",
    [
        None,
        7,
        {},
        [1],
        [[]],
        [["budget"]],
        [["nope", "s", True, None, 1, 1, 1, 1, ""]],
        [["budget", 1, True, None, 1, 1, 1, 1, ""]],
    ],
)
def test_what_is_no_level_is_left_out(rows: object) -> None:
    assert load(rows) == {}


def test_odd_numbers_in_levels_are_nothing() -> None:
    row = ["budget", "s", True, "x", math.nan, None, True, 5, "e"]
    assert load([row]) == {(AlarmKind.BUDGET, "s"): Level(True, None, 0.0, 0.0, 0.0, 5.0, "e")}


def test_default_limits_have_room() -> None:
    for limit in LIMITS.values():
        assert not (limit.is_bad(limit.raises) and limit.is_good(limit.raises))
        assert limit.clears >= limit.raises if limit.is_low else limit.clears <= limit.raises
    assert AlarmRules().limits == LIMITS
