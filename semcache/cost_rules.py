"""What a tenant's policy says about money: labels, charges for hits, budgets, and trimmed histories. Frozen values.

Money is micro-USD (integers). Part of the shared vocabulary; knows no prices, no store and no files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Labels = tuple[tuple[str, str], ...]
"""Pairs of name and value, names unique, in the order they came."""

LABELS = ("project", "environment", "business_line", "task")
"""The labels that reports and budgets tell apart; requests may carry others, which only their rows keep."""

LABEL_WORDS: Mapping[str, str] = {
    "env": "environment",
    "business-line": "business_line",
    "businessline": "business_line",
    "bl": "business_line",
}
"""Other names that clients give them."""


def named(labels: Labels, fixed: Labels) -> Labels:
    """Give a request's labels under their usual names; `fixed` ones hold, whatever the client said."""
    if not labels and not fixed:
        return ()
    names: dict[str, str] = {}
    for name, value in (*labels, *fixed):
        names[LABEL_WORDS.get(name, name)] = value
    return tuple(names.items())


class HitCharge(StrEnum):
    """What a tenant is charged for an answer from the cache, whatever it cost us."""

    NONE = "none"
    FIXED = "fixed"
    FULL = "full"
    """As much as the call that it saved."""


class Counts(StrEnum):
    """Which money a budget counts."""

    COST = "cost"
    """What providers bill."""
    CHARGED = "charged"
    """What the tenant is charged, for hits too."""


class OnHard(StrEnum):
    """What becomes of requests over a budget's hard limit."""

    CACHE_ONLY = "cache_only"
    """Hits are served, everything else is refused."""
    REFUSE = "refuse"
    """Nothing is answered."""


class OnUnknownPrice(StrEnum):
    """What a hard limit does about a model whose price nobody knows."""

    REFUSE = "refuse"
    ALLOW = "allow"
    """Such calls go uncounted, and an alarm says so."""


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """One budget of a tenant.

    It holds for the requests that have every label of `labels` (names of `LABELS`), a model that one of `models` covers
    (a final `*` stands for any ending; () for all) and a key named in `keys` (() for all). `window` is `hour`, `day`, `week`
    or `month` of UTC. `soft` and `hard` are micro-USD, `requests` a number of requests (hits count), each None for no limit;
    a hard limit is never overrun but by what was set aside for calls under way.
    """

    name: str
    window: str = "month"
    labels: Labels = ()
    models: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    soft: int | None = None
    hard: int | None = None
    requests: int | None = None
    counts: Counts = Counts.COST
    on_hard: OnHard = OnHard.CACHE_ONLY
    unknown_price: OnUnknownPrice = OnUnknownPrice.REFUSE


@dataclass(frozen=True, slots=True)
class CostPolicy:
    """What a tenant's file says about money.

    `hit_price` is micro-USD a hit where `hit_charge` is fixed. `assumed_output` is how many output tokens are set aside for a
    call that names no limit of its own.
    """

    budgets: tuple[BudgetRule, ...] = ()
    hit_charge: HitCharge = HitCharge.NONE
    hit_price: int = 0
    assumed_output: int = 1024


class Trimming(StrEnum):
    """What becomes of the middle of a long history."""

    OFF = "off"
    REPORT = "report"
    """Nothing; a header says what would."""
    WINDOW = "window"
    """Left away."""
    SUMMARY = "summary"
    """Put into few words by a model."""


@dataclass(frozen=True, slots=True)
class HistoryPolicy:
    """How long histories are trimmed for clients that ask for it; sizes in (guessed) tokens.

    `most` is the furthest that a client may ask for. A history longer than `above` is cut down to about `keep`, so that the
    cut moves seldom and what stands before it stays the same; `head` messages after the system prompt are kept, and the
    last user turn always. `summariser` names the upstream (or upstream/model; "" the one that answers) that sums up,
    within `summary` tokens and `deadline` seconds.
    """

    most: Trimming = Trimming.OFF
    above: int = 8_000
    keep: int = 4_000
    head: int = 0
    summariser: str = ""
    summary: int = 400
    deadline: float = 20.0
