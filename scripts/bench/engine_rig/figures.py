"""The figures by name: which servers each one needs, and which ratios it is judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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
    slots: int = 16
    cold: dict[str, Row] = field(default_factory=dict)

    @property
    def all(self) -> list[Server]:
        """Both sides."""
        return [*self.theirs, *self.ours]


def _best(rows: Sequence[Row], rig: Rig, *, less: bool) -> Row:
    """Of the other side's settings the one that serves it best in this figure."""
    names = {server.name for server in rig.theirs}
    theirs = [row for row in rows if row.server in names]
    return min(theirs, key=lambda row: row.middle) if less else max(theirs, key=lambda row: row.middle)


def _of_ours(rows: Sequence[Row], rig: Rig) -> list[Row]:
    names = {server.name for server in rig.ours}
    return [row for row in rows if row.server in names]


def _goal(server: str, goals: Mapping[str, Goal]) -> Goal | None:
    return next((goal for word, goal in goals.items() if word in server), None)


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
        rows += found
        if rig.theirs:
            best = _best(found, rig, less=True)
            rows += [
                ratio(found[0].figure, each, best, _goal(each.server, _TTFT)) for each in _of_ours(found, rig)
            ]
    return rows


def _cold(rig: Rig) -> list[Row]:
    cold = first_token.cold(rig.all, rig.prompts, rig.rounds)
    cached = first_token.cached(rig.all, rig.prompts, rig.rounds, prefix=1024 - first_token.NEW)
    mine = {server.name for server in rig.ours}
    goal = Goal(20, 30)
    ratios = []
    for above, below in zip(cold, cached, strict=True):
        row = ratio("cold / cached TTFT, 1024", above, below, goal if above.server in mine else None)
        row.server = above.server
        ratios.append(row)
    against: list[Row] = []
    if rig.theirs:
        best = _best(cold, rig, less=True)
        against = [ratio(cold[0].figure, each, best) for each in _of_ours(cold, rig)]
    return [*cold, *against, *cached, *ratios]


def _four(rig: Rig) -> list[Row]:
    first, again = first_token.four(rig.all, rig.prompts, rig.rounds)
    rows: list[Row] = []
    for found, goals in ((first, _FOUR), (again, {})):
        rows += found
        if rig.theirs:
            best = _best(found, rig, less=True)
            rows += [
                ratio(found[0].figure, best, each, _goal(each.server, goals)) for each in _of_ours(found, rig)
            ]
    return rows


def _decode(rows: int) -> Callable[[Rig], list[Row]]:
    def figure(rig: Rig) -> list[Row]:
        found = decoding.decode(rig.all, rig.prompts, rig.rounds, rows=rows)
        if not rig.theirs:
            return found
        best = _best(found, rig, less=False)
        ratios = [
            ratio(found[0].figure, each, best, _goal(each.server, _DECODE[rows]))
            for each in _of_ours(found, rig)
        ]
        return [*found, *ratios]

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


_DECODERS = ("no fa", "no fa, Q4_0 head", "fa, Q4_0 head")

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
