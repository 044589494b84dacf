"""Each condition says what it sees, and nothing where there is too little to tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcache.alarming.conditions import (
    UNLABELLED,
    inputs_of,
    of_bounds,
    of_budgets,
    of_growth,
    of_traffic,
)
from semcache.alarming.counting import Trail, gather
from semcache.alarming.hysteresis import Place, Reading, step
from semcache.alarming.rules import DAY, LIMITS, AlarmRules
from semcache.cost_port import AlarmKind, BudgetState, CostKey, CostSums
from semcache.cost_rules import BudgetRule
from tests.alarming.sums import key, sums

TODAY = 20_000
MIDNIGHT = TODAY * DAY
NOON = MIDNIGHT + 43_200.0
RULES = AlarmRules(least=100)


class Traffic:
    """A book that fills, and the trail of it."""

    def __init__(self, now: float = NOON) -> None:
        self.trail, self.now = Trail(RULES), now
        self.book: dict[CostKey, CostSums] = {}
        self.trail.look(gather({key("miss", TODAY): sums(0)}), now - 30)

    def add(self, outcome: str, requests: int, model: str = "m", backend: str = "", **others: int) -> None:
        place = key(outcome, int(self.now // DAY), model, backend)
        self.book.setdefault(place, CostSums()).add(sums(requests, **others))

    def look(self, after: float = 30.0) -> None:
        self.trail.look(gather(self.book), self.now)
        self.now += after

    def readings(self) -> dict[Place, Reading]:
        return {(one.kind, one.subject): one for one in of_traffic(self.trail, RULES, self.now)}

    def value(self, kind: AlarmKind, subject: str = "") -> float | None:
        found = self.readings().get((kind, subject))
        return None if found is None else found.value


def test_ratios_of_the_last_hour() -> None:
    traffic = Traffic()
    traffic.add("exact", 20)
    traffic.add("semantic", 5)
    traffic.add("miss", 70, input=140_000, cached=14_000, retries=8, repetitive=7)
    traffic.add("draft", 5)
    traffic.add("bypass", 100)
    traffic.add("error", 50, retries=2)
    traffic.look()
    assert traffic.value(AlarmKind.HIT_RATIO_LOW) == 0.25
    assert traffic.value(AlarmKind.RETRIES) == 10 / 250
    assert traffic.value(AlarmKind.REPETITION, "m") == 7 / 175
    # Prompts are short on the whole: no provider caches a part of those.
    assert traffic.value(AlarmKind.CACHED_RATIO_LOW, "m") is None
    traffic.add("miss", 0, input=100_000)
    traffic.look()
    assert traffic.value(AlarmKind.CACHED_RATIO_LOW, "m") == 14_000 / 240_000
    traffic.look(3700)
    assert traffic.value(AlarmKind.HIT_RATIO_LOW) is None


@pytest.mark.parametrize("requests", [0, 1, 99])
def test_too_little_traffic_has_no_value(requests: int) -> None:
    traffic = Traffic()
    traffic.add("miss", requests, input=requests * 5000, retries=requests, repetitive=requests)
    traffic.look()
    assert all(
        one.value is None for one in traffic.readings().values() if one.kind is not AlarmKind.PRICE_UNKNOWN
    )


def test_models_without_a_price() -> None:
    traffic = Traffic()
    traffic.add("miss", 3, "new", "up", unpriced=3)
    traffic.add("judge", 1, "judge", unpriced=1)
    traffic.add("miss", 1, "known")
    traffic.look()
    assert traffic.value(AlarmKind.PRICE_UNKNOWN, "up/new") == 3
    assert traffic.value(AlarmKind.PRICE_UNKNOWN, "judge") == 1
    assert traffic.value(AlarmKind.PRICE_UNKNOWN, "known") == 0
    limit = LIMITS[AlarmKind.PRICE_UNKNOWN]
    assert limit.is_bad(1)
    assert limit.is_good(0)


def test_a_sudden_rise_is_seen_against_the_best_hour_of_the_day() -> None:
    traffic = Traffic(MIDNIGHT + 60)
    for _ in range(5 * 60):
        traffic.add("exact", 1)
        traffic.add("miss", 9)
        traffic.look(60)
    assert traffic.value(AlarmKind.HITS_JUMPED) == pytest.approx(0.0, abs=0.02)
    for _ in range(16):
        traffic.add("semantic", 8)
        traffic.add("miss", 2)
        traffic.look(60)
    assert traffic.value(AlarmKind.HITS_JUMPED) == pytest.approx(0.7, abs=0.03)
    for _ in range(90):
        traffic.add("semantic", 8)
        traffic.add("miss", 2)
        traffic.look(60)
    # What lasts is no longer sudden.
    assert traffic.value(AlarmKind.HITS_JUMPED) == pytest.approx(0.0, abs=0.1)


def test_a_cache_that_fills_has_no_sudden_rise() -> None:
    traffic, values = Traffic(MIDNIGHT + 60), []
    for minute in range(12 * 60):
        hits = round(10 * min(0.7, minute / 600))
        traffic.add("exact", hits)
        traffic.add("miss", 10 - hits)
        traffic.look(60)
        values.append(traffic.value(AlarmKind.HITS_JUMPED) or 0.0)
    assert max(values) < LIMITS[AlarmKind.HITS_JUMPED].raises


def grown(book: dict[CostKey, CostSums], rules: AlarmRules = RULES) -> list[Reading]:
    days = {
        day: {place: one for place, one in book.items() if place.day == day} for day in range(TODAY + 1)[-20:]
    }
    return list(of_growth({day: inputs_of(one) for day, one in days.items()}, TODAY, rules))


def test_prompts_of_a_task_that_grow() -> None:
    book = {
        key("miss", TODAY, task="chat"): sums(60, input=90_000),
        key("exact", TODAY - 1, task="chat"): sums(60, saved_input=90_000),
        key("draft", TODAY, task="chat"): sums(500, input=900_000),
        key("judge", TODAY, task="chat"): sums(500, input=900_000),
        **{key("miss", TODAY - age, task="chat"): sums(50, input=50_000) for age in range(2, 9)},
        key("miss", TODAY - 9, task="chat"): sums(50, input=50_000_000),
        key("miss", TODAY, task="rare"): sums(99, input=99_000),
        key("miss", TODAY - 3, task="rare"): sums(500, input=5000),
        key("bypass", TODAY): sums(200, input=20_000),
        key("bypass", TODAY - 4): sums(200, input=20_000),
        key("miss", TODAY, task="new"): sums(500, input=5000),
    }
    told = {one.subject: one.value for one in grown(book)}
    assert told == {"chat": pytest.approx(0.5), "rare": None, UNLABELLED: 0.0, "new": None}
    assert not grown(book, replace(RULES, limits={}))


def test_tasks_are_cut_to_the_busiest() -> None:
    book = {key("miss", TODAY, task=f"t{at}"): sums(at + 1) for at in range(200)}
    told = [one.subject for one in grown(book)]
    assert told == [f"t{at}" for at in range(199, 199 - 32, -1)]


def state(rule: BudgetRule, spent: int, held: int = 0, requests: int = 0) -> BudgetState:
    return BudgetState(rule, 1000.0, 2000.0, spent, held, requests)


def steps_of(state: BudgetState) -> dict[str, bool]:
    return {one.subject: one.limit.is_bad(one.value or 0) for one in of_budgets([state], RULES)}


def test_steps_of_a_budget() -> None:
    rule = BudgetRule("team", hard=1000)
    assert steps_of(state(rule, 499)) == {"team 50%": False, "team 80%": False, "team 100%": False}
    assert steps_of(state(rule, 800, requests=800)) == {
        "team 50%": True,
        "team 80%": True,
        "team 100%": False,
    }
    assert steps_of(state(rule, 1000)) == {"team 50%": True, "team 80%": True, "team 100%": True}


def test_a_hard_limit_counts_as_reached_where_no_call_fits_in_any_more() -> None:
    rule = BudgetRule("team", hard=1000)
    assert steps_of(state(rule, 970, requests=20))["team 100%"]
    assert steps_of(replace(state(rule, 700, requests=20), refused=1))["team 100%"]
    assert not steps_of(state(rule, 900, requests=20))["team 100%"]
    assert not steps_of(state(rule, 600, held=400, requests=1))["team 100%"]
    assert not steps_of(state(rule, 0, held=1000, requests=20))["team 100%"]


def test_soft_limits_and_limits_of_requests() -> None:
    both = BudgetRule("team", soft=500, hard=1000, requests=10)
    assert steps_of(state(both, 500, requests=8)) == {
        "team 50%": True,
        "team 80%": False,
        "team 100%": False,
        "team soft limit 100%": True,
        "team requests 50%": True,
        "team requests 80%": True,
        "team requests 100%": False,
    }
    soft = BudgetRule("team", soft=500)
    assert steps_of(state(soft, 400, held=10_000)) == {"team 50%": True, "team 80%": True, "team 100%": False}
    assert steps_of(state(BudgetRule("team"), 400)) == {}
    assert steps_of(state(BudgetRule("none", hard=0, requests=0), 0)) == {}


def test_a_limit_that_is_changed_begins_anew() -> None:
    levels: dict[Place, object] = {}
    small, large = BudgetRule("team", hard=100), BudgetRule("team", hard=1000)
    levels, changes = step({}, of_budgets([state(small, 90)], RULES), {AlarmKind.BUDGET}, 1.0)
    assert [one.level.is_raised for one in changes] == [True, True]
    levels, changes = step(levels, of_budgets([state(large, 90)], RULES), {AlarmKind.BUDGET}, 2.0)
    assert [one.level.is_raised for one in changes] == [False, False]
    assert levels == {}


def test_bounds() -> None:
    told = list(of_bounds({"chat": True, "code": False}, RULES))
    assert [(one.subject, one.value) for one in told] == [("chat", 1.0), ("code", 0.0)]
    assert not list(of_bounds({"chat": True}, replace(RULES, limits={})))


def test_kinds_that_are_switched_off_are_not_read() -> None:
    trail = Trail(RULES)
    trail.look({}, NOON)
    trail.look(gather({key("miss", TODAY): sums(500)}), NOON + 30)
    assert not list(of_traffic(trail, replace(RULES, limits={}), NOON + 60))
