"""The figures by name: which servers each one needs, and which ratios it is judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine_rig import decoding, first_token, sharing
from engine_rig.prompts import Prompts
from engine_rig.rows import Goal, Row, ratio
from engine_rig.servers import Server


@dataclass
class Rig:
    """What a figure gets: running servers of both sides, prompts, and how many rounds to take."""

    ours: Sequence[Server]
    theirs: Sequence[Server]
    prompts: Prompts
    rounds: int
    tenants: int = 256

    @property
    def all(self) -> list[Server]:
        """Both sides."""
        return [*self.theirs, *self.ours]


def _against(rows: Sequence[Row], rig: Rig, goals: Mapping[str, Goal], *, speed: bool = False) -> list[Row]:
    """Ratios of ours to the other side's best setting in this figure, and to its setting as shipped.

    `speed`: more is better. Time over time where a small ratio is the goal, else theirs over ours.
    """
    theirs = [row for row in rows if row.server in {server.name for server in rig.theirs}]
    if not theirs:
        return []
    best = max(theirs, key=_middle) if speed else min(theirs, key=_middle)
    shipped = [row for row in theirs if row.server == SHIPPED and row is not best]
    found = []
    for other, judged in [(best, True), *((row, False) for row in shipped)]:
        for mine in _of_ours(rows, rig):
            goal = next((goal for word, goal in goals.items() if word in mine.server), None)
            is_over = speed or goal is None or goal.less
            above, below = (mine, other) if is_over else (other, mine)
            found.append(ratio(rows[0].figure, above, below, goal if judged else None))
    return found


def _middle(row: Row) -> float:
    return row.middle


def _of_ours(rows: Sequence[Row], rig: Rig) -> list[Row]:
    names = {server.name for server in rig.ours}
    return [row for row in rows if row.server in names]


SHIPPED = "llama.cpp fa"
"""The setting that its server chooses by itself."""

_COLD = Goal(20, 30)
_TTFT = {"int8": Goal(1.15, 0.7, less=True), "fp32": Goal(1.15, less=True)}
_FOUR = {"int8": Goal(8, 15), "fp32": Goal(8)}
_DECODE = {
    1: {"int8": Goal(0.33, 0.6), "fp32": Goal(0.33)},
    8: {"int8": Goal(0.7, 1.4), "fp32": Goal(0.7)},
    16: {"int8": Goal(1.0, 1.9), "fp32": Goal(1.0)},
}


def _ttft(rig: Rig) -> list[Row]:
    rows: list[Row] = []
    for streamed in (False, True):
        found = first_token.cached(rig.all, rig.prompts, rig.rounds, streamed=streamed)
        rows += [*found, *_against(found, rig, _TTFT)]
    return rows


def _cold(rig: Rig) -> list[Row]:
    cold = first_token.cold(rig.all, rig.prompts, rig.rounds)
    cached = first_token.cached(rig.all, rig.prompts, rig.rounds, prefix=1024 - first_token.NEW)
    mine = {server.name for server in rig.ours}
    ratios = []
    for above, below in zip(cold, cached, strict=True):
        row = ratio("cold / cached TTFT, 1024", above, below, _COLD if above.server in mine else None)
        row.server = above.server
        ratios.append(row)
    return [*cold, *_against(cold, rig, {}), *cached, *ratios]


def _four(rig: Rig) -> list[Row]:
    first, again = first_token.four(rig.all, rig.prompts, rig.rounds)
    return [*first, *_against(first, rig, _FOUR), *again, *_against(again, rig, {})]


def _decode(rows: int) -> Callable[[Rig], list[Row]]:
    def figure(rig: Rig) -> list[Row]:
        found = decoding.decode(rig.all, rig.prompts, rig.rounds, rows=rows)
        return [*found, *_against(found, rig, _DECODE[rows], speed=True)]

    return figure


def _slots(rig: Rig) -> list[Row]:
    return [row for server in rig.ours for row in sharing.slots(server, rig.prompts)]


def _tenants(rig: Rig) -> list[Row]:
    return [row for server in rig.ours for row in sharing.tenants(server, rig.prompts, rig.tenants)]


def _accounts(rig: Rig) -> list[Row]:
    return [sharing.accounts(server) for server in rig.ours]


@dataclass(frozen=True)
class Figure:
    """`slots`: of llama.cpp's server (0: it takes no part). `theirs`: its settings that win in some part of it."""

    run: Callable[[Rig], list[Row]]
    slots: int = 0
    theirs: tuple[str, ...] = ()


_DECODERS = ("fa", "no fa, Q4_0 head")

FIGURES: Mapping[str, Figure] = {
    "slots": Figure(_slots),
    "tenants": Figure(_tenants),
    "ttft": Figure(_ttft, 4, ("fa", "no fa")),
    "cold": Figure(_cold, 4, ("fa", "no fa")),
    "four": Figure(_four, 4, ("fa",)),
    "decode1": Figure(_decode(1), 1, _DECODERS),
    "decode8": Figure(_decode(8), 8, _DECODERS),
    "decode16": Figure(_decode(16), 16, _DECODERS),
    "accounts": Figure(_accounts),
}
"""In the order in which they run: `slots` while the pool has room, so that nothing is evicted meanwhile;
`accounts` last, since it looks at what the others left."""
