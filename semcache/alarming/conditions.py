"""What is looked at: each condition as a pure function from counts to readings.

A reading has a value only where there was traffic enough to tell. Knows no levels' state and no store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from semcache.alarming.counting import Counts, Trail, columns
from semcache.alarming.hysteresis import Reading
from semcache.alarming.naming import quiet
from semcache.alarming.rules import AlarmRules, Limit
from semcache.core import Outcome
from semcache.cost_port import AlarmKind, BudgetState, CostKey, CostSums

RECENT_DAYS, EARLIER_DAYS = 2, 7
"""Growth: today and yesterday against the seven days before."""
SUBJECTS = 32
"""Tasks of a tenant that are told apart: those with the most requests."""
_NEARLY = 0.9
"""From this share on, what is left of a hard limit may be too little for another call."""
UNLABELLED = "(no task)"

_GROWS = frozenset(
    outcome.value for outcome in (Outcome.MISS, Outcome.BYPASS, Outcome.EXACT, Outcome.SEMANTIC)
)
"""Requests whose own prompt is known; drafts send another one."""


def of_traffic(trail: Trail, rules: AlarmRules, now: float) -> Iterator[Reading]:
    """Read what the last hour's requests say."""
    told = columns(trail.minutes.total(now - rules.window, now + 1))
    shares = (
        (AlarmKind.HIT_RATIO_LOW, told.hits, told.eligible),
        (AlarmKind.RETRIES, told.retries, told.requests),
    )
    for kind, part, whole in shares:
        if limit := rules.limits.get(kind):
            yield Reading(kind, "", share(part, whole, rules.least), limit)
    if limit := rules.limits.get(AlarmKind.HITS_JUMPED):
        yield Reading(AlarmKind.HITS_JUMPED, "", _jump(trail, rules, now), limit)
    for name, series in trail.models.items():
        yield from _of_model(name, columns(series.total(now - rules.window, now + 1)), rules)


def share(part: int, whole: int, least: int) -> float | None:
    """Give a share in [0, 1]; None for less than `least`."""
    return None if whole < max(1, least) else min(1.0, max(0.0, part / whole))


def _jump(trail: Trail, rules: AlarmRules, now: float) -> float | None:
    """Give by how much the share of hits is above that of the best hour of the last day."""
    least, since = max(1, rules.least // 4), now - rules.sudden
    recent = columns(trail.minutes.total(since, now + 1))
    present = share(recent.hits, recent.eligible, least)
    hours = [share(hits, eligible, least) for eligible, hits in trail.hours.whole(since)]
    known = [one for one in hours if one is not None]
    # A cache that fills needs some hours before anything about it is sudden.
    return None if present is None or len(known) < 3 else present - max(known)


def _of_model(name: str, told: Counts, rules: AlarmRules) -> Iterator[Reading]:
    cached = None
    if told.asked and told.input >= rules.prompt * told.asked and told.asked >= rules.least:
        cached = share(told.cached, told.input, 1)
    repeats = share(told.repetitive, told.asked, rules.least)
    unpriced = float(told.unpriced) if told.unpriced or told.asked else None
    for kind, value in (
        (AlarmKind.CACHED_RATIO_LOW, cached),
        (AlarmKind.REPETITION, repeats),
        (AlarmKind.PRICE_UNKNOWN, unpriced),
    ):
        if limit := rules.limits.get(kind):
            yield Reading(kind, name, value, limit)


Inputs = Mapping[str, tuple[int, int]]
"""By task: how many requests, and the input tokens of them all."""


def inputs_of(sums: Mapping[CostKey, CostSums]) -> Inputs:
    """Give the input of each task, from the sums of one day; of the busiest tasks only."""
    tasks: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for key, one in sums.items():
        if key.outcome in _GROWS:
            row = tasks[quiet(key.task) or UNLABELLED]
            row[0] += max(0, one.requests)
            row[1] += max(0, one.input + one.saved_input)
    busiest = sorted(tasks, key=lambda task: (-tasks[task][0], task))[: 8 * SUBJECTS]
    return {task: (tasks[task][0], tasks[task][1]) for task in busiest}


def of_growth(days: Mapping[int, Inputs], today: int, rules: AlarmRules) -> Iterator[Reading]:
    """Read by what part the mean input of each task has grown: 0.5 is half as much again.

    Args:
        days: the input of today and the eight days before.
        today: which day that is.
        rules: with how many requests there is something to say.
    """
    limit = rules.limits.get(AlarmKind.INPUT_GROWING)
    if limit is None:
        return
    recent: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    before: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for day, tasks in days.items():
        age = today - day
        for task, (requests, tokens) in tasks.items() if 0 <= age < RECENT_DAYS + EARLIER_DAYS else ():
            row = (recent if age < RECENT_DAYS else before)[task]
            row[0] += requests
            row[1] += tokens
    busiest = sorted(recent, key=lambda task: (-recent[task][0], task))[:SUBJECTS]
    for task in busiest:
        mean, earlier = _mean(recent[task], rules.least), _mean(before[task], rules.least)
        value = None if mean is None or earlier is None or earlier < 1 else mean / earlier - 1
        yield Reading(AlarmKind.INPUT_GROWING, task, value, limit)


def _mean(row: Sequence[int], least: int) -> float | None:
    return row[1] / row[0] if row[0] >= max(1, least) else None


def of_budgets(states: Sequence[BudgetState], rules: AlarmRules) -> Iterator[Reading]:
    """Read how far each budget is used, once for every step; the last step also where calls are refused."""
    for state in states:
        rule = state.rule
        money = rule.hard if rule.hard is not None else rule.soft
        if money is not None:
            full = rule.hard is not None and _is_full(state)
            yield from _steps(state, "", state.spent, money, rules.steps, full)
        if rule.soft is not None and rule.hard is not None:
            yield from _steps(state, " soft limit", state.spent, rule.soft, (1.0,), False)
        if rule.requests is not None:
            yield from _steps(state, " requests", state.requests, rule.requests, rules.steps, False)


def _steps(
    state: BudgetState, what: str, used: int, most: int, steps: Sequence[float], full: bool
) -> Iterator[Reading]:
    if most <= 0:
        return  # nothing was ever to be spent: that is no news
    part = used / most
    for at in steps:
        value = max(part, 1.0) if full and at >= 1 else part
        subject = quiet(f"{state.rule.name}{what} {at:.0%}")
        yield Reading(AlarmKind.BUDGET, subject, value, Limit(at, at), era=f"{state.begins:.0f}/{most}")


def _is_full(state: BudgetState) -> bool:
    """True where calls are refused, or the next one like those so far would be: spending stops short of a hard limit."""
    if state.refused > 0:
        return True
    mean = state.spent / state.requests if state.requests > 0 else 0.0
    most = state.rule.hard or 0
    return state.left is not None and state.spent >= _NEARLY * most and state.spent > 0 and state.left <= mean


def of_bounds(broken: Mapping[str, bool], rules: AlarmRules) -> Iterator[Reading]:
    """Read which domains have broken their bound on wrong hits."""
    if limit := rules.limits.get(AlarmKind.BOUND_BROKEN):
        for domain, is_broken in broken.items():
            yield Reading(AlarmKind.BOUND_BROKEN, quiet(domain), float(is_broken), limit)
