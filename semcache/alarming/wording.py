"""Alarms in words, for log lines, chat rooms and screens. Pure."""

from __future__ import annotations

from semcache.alarming.hysteresis import Change
from semcache.alarming.naming import quiet
from semcache.cost_port import AlarmKind, CostAlarm

_BAD = {
    AlarmKind.HIT_RATIO_LOW: "only {value:.1%} of the requests that the cache could have answered were hits (limit {limit:.1%})",
    AlarmKind.CACHED_RATIO_LOW: (
        "only {value:.1%} of the input tokens of {subject} were read from a prompt cache (limit {limit:.1%})"
    ),
    AlarmKind.HITS_JUMPED: (
        "hits suddenly rose by {value:.0%} of all requests above the best hour of the day before (limit {limit:.0%})"
    ),
    AlarmKind.INPUT_GROWING: (
        "prompts of task {subject} are {value:.0%} longer than in the week before (limit {limit:.0%})"
    ),
    AlarmKind.REPETITION: "{value:.1%} of the answers of {subject} repeat themselves (limit {limit:.1%})",
    AlarmKind.RETRIES: "{value:.1%} of the requests ask the same again at once (limit {limit:.1%})",
    AlarmKind.BUDGET: "budget {subject} is reached: {value:.0%} is used",
    AlarmKind.PRICE_UNKNOWN: (
        "requests to {subject} without a known price: {value:.0f}; they are in no cost and no saving until "
        "your price file states it"
    ),
    AlarmKind.BOUND_BROKEN: "domain {subject} has broken its bound on wrong hits and serves less by meaning, or nothing",
}


def alarm_of(tenant: str, change: Change, at: float) -> CostAlarm:
    """Give the alarm that a change is, with its words."""
    level = change.level
    return CostAlarm(
        tenant=tenant,
        kind=change.kind,
        subject=quiet(change.subject),
        is_raised=level.is_raised,
        since=level.since,
        at=at,
        value=level.value,
        limit=level.limit,
        text=_text(tenant, change),
    )


def _text(tenant: str, change: Change) -> str:
    subject, level = quiet(change.subject), change.level
    what = _BAD[change.kind].format(subject=subject, value=level.value, limit=level.limit)
    head = "ALARM" if level.is_raised else "over"
    return (
        f"semcache {head}: {quiet(tenant)}: {what if level.is_raised else _good(change.kind, subject, what)}"
    )


def _good(kind: AlarmKind, subject: str, what: str) -> str:
    match kind:
        case AlarmKind.BUDGET:
            return f"budget {subject}: its window or its limit is a new one"
        case AlarmKind.PRICE_UNKNOWN:
            return f"no more requests to {subject} without a price"
        case AlarmKind.BOUND_BROKEN:
            return f"domain {subject} keeps its bound on wrong hits again"
        case _:
            return f"no longer so: {what.removeprefix('only ')}"
