"""From readings to alarms that do not flap: a pure state machine, its state a JSON text.

An alarm is raised once a value has been bad for long enough, over once it has been good for long enough, and between
both levels nothing changes. A reading without a value (too little traffic) never raises anything.
Knows no store and what no value means.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from semcache.alarming.rules import DAY, Limit
from semcache.cost_port import AlarmKind

MOST = 100
"""Alarms of one tenant that are followed at once; readings of more subjects are not looked at."""

Place = tuple[AlarmKind, str]
_KINDS = {kind.value: kind for kind in AlarmKind}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was seen of one subject; `value` None: too little to tell.

    `era` names a window that begins anew: with another one the alarm of the last is over at once, and within one that
    is named (not "") an alarm once raised stays.
    """

    kind: AlarmKind
    subject: str
    value: float | None
    limit: Limit
    era: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """How far one subject is on its way to an alarm, or out of it; times in Unix seconds.

    `turning`: since when the value asks for a change. `heard`: when there last was a value.
    """

    is_raised: bool = False
    turning: float | None = None
    since: float = 0.0
    heard: float = 0.0
    value: float = 0.0
    limit: float = 0.0
    era: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """An alarm was raised, or is over."""

    kind: AlarmKind
    subject: str
    level: Level


Levels = Mapping[Place, Level]


def step(
    known: Levels, readings: Iterable[Reading], looked: Collection[AlarmKind], now: float, forget: float = DAY
) -> tuple[dict[Place, Level], tuple[Change, ...]]:
    """Go one step on.

    Args:
        known: from the step before.
        readings: what was seen; of each kind and subject at most one.
        looked: the kinds that were looked at: subjects of theirs without a reading have no value.
        now: Unix seconds.
        forget: seconds without a value after which a raised alarm is over.

    Returns:
        What to give to the next step, and what has changed.
    """
    seen = {(reading.kind, reading.subject): reading for reading in readings}
    levels: dict[Place, Level] = {}
    changes: list[Change] = []
    for place in dict.fromkeys((*known, *seen)):
        level, reading = known.get(place), seen.get(place)
        if level is None and len(levels) >= MOST:
            continue
        if level is None:
            level = Level(heard=now)
        if reading is not None or place[0] in looked:
            for after in _moved(level, reading, now, forget):
                if after.is_raised != level.is_raised:
                    changes.append(Change(*place, after))
                level = after
        if level.is_raised or level.turning is not None:
            levels[place] = level
    return levels, tuple(changes)


def _moved(level: Level, reading: Reading | None, now: float, forget: float) -> Iterator[Level]:
    """Yield where a level goes: one step, or two where a window began anew."""
    if level.era and (reading is None or reading.era != level.era):
        level = Level(value=level.value, limit=level.limit, since=level.since, heard=now)
        yield level
    if reading is None or reading.value is None or not math.isfinite(reading.value):
        yield _unheard(level, now, forget)
    else:
        yield _heard(level, reading, reading.value, now)


def _unheard(level: Level, now: float, forget: float) -> Level:
    heard = min(level.heard, now)
    is_raised = level.is_raised and now - heard < forget
    return replace(level, is_raised=is_raised, turning=None, heard=heard)


def _heard(level: Level, reading: Reading, value: float, now: float) -> Level:
    limit = reading.limit
    level = replace(level, value=value, limit=limit.raises, heard=now, era=reading.era)
    if level.is_raised:
        turns, patience = limit.is_good(value) and not reading.era, limit.calms
    else:
        turns, patience = limit.is_bad(value), limit.lasts
    if not turns:
        return replace(level, turning=None)
    # A clock that was set back must not make a turn last for ever.
    turning = now if level.turning is None else min(level.turning, now)
    if now - turning < patience:
        return replace(level, turning=turning)
    raised = not level.is_raised
    return replace(level, is_raised=raised, turning=None, since=now if raised else level.since)


def dump(levels: Levels) -> list[list[Any]]:
    """Give levels as plain JSON values."""
    return [[kind.value, subject, *astuple(level)] for (kind, subject), level in levels.items()]


def load(rows: Any) -> dict[Place, Level]:
    """Read what `dump` gave; rows that are none of its are left out: their alarms begin anew."""
    levels: dict[Place, Level] = {}
    for row in rows if isinstance(rows, list) else ():
        match row:
            case [str(kind), str(subject), bool(raised), turning, since, heard, value, limit, str(era)] if (
                kind in _KINDS
            ):
                begun = number_or_none(turning)
                since, heard, value, limit = (
                    number_or_none(one) or 0.0 for one in (since, heard, value, limit)
                )
                levels[_KINDS[kind], subject] = Level(raised, begun, since, heard, value, limit, era)
            case _:
                continue
    return levels


def number_or_none(value: Any) -> float | None:
    """Give a finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
