"""The doors to what is known of money: the book of costs, budgets, and what lint and alarms found.

Everything belongs to a tenant and is shared by all replicas. Money is micro-USD (integers), days are UTC days since
1970. A price that is not known makes money None and counts in `unpriced`: it is never 0. Knows neither Redis nor prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from semcache.core import TenantId
from semcache.cost_rules import BudgetRule

DAY = 86_400


@dataclass(frozen=True, slots=True, order=True)
class CostKey:
    """What costs are told apart by. Values of labels are "" where a request has none, `~other` where there were too many."""

    tenant: str
    day: int
    model: str
    backend: str
    outcome: str
    """A `core.Outcome`, or a `records.SideKind` for work beside requests."""
    key_name: str = ""
    project: str = ""
    environment: str = ""
    business_line: str = ""
    task: str = ""
    is_local: bool = False


@dataclass(slots=True)
class CostSums:
    """What was counted under one key; sums of non-negative integers, but savings may be negative.

    Tokens billed: `input` (all), of it `cached` and `written`; `output`, of it `reasoning`. Tokens of the original calls
    that hits (and shared calls) saved: `saved_input`, `saved_output`. Money: `cost` is what was paid for answers,
    `embedding` and `side` (audits, judges, summaries) for what stood beside them; `charged` what the tenant is charged.
    Savings, each request's in one of them at most: `by_response` (hits, shared calls, drafts: the price of the avoided call
    less what was paid instead), `by_provider` (what the provider's prompt cache took off, less what writing to it
    cost), `by_local` (the same of the local engine's). So what it would have cost without caches is
    `cost + by_response + by_provider + by_local`. `unpriced` requests have no price and no part in money; `estimated` ones were
    guessed. `milliseconds` is the whole time of the requests, `saved_milliseconds` what hits took less than the original call.
    """

    requests: int = 0
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0
    saved_input: int = 0
    saved_output: int = 0
    cost: int = 0
    embedding: int = 0
    side: int = 0
    charged: int = 0
    by_response: int = 0
    by_provider: int = 0
    by_local: int = 0
    unpriced: int = 0
    estimated: int = 0
    errors: int = 0
    retries: int = 0
    repetitive: int = 0
    milliseconds: int = 0
    saved_milliseconds: int = 0

    @property
    def without_caches(self) -> int:
        """What it would have cost without any cache, in micro-USD."""
        return self.cost + self.by_response + self.by_provider + self.by_local

    def add(self, other: CostSums) -> None:
        """Add another's sums to these."""
        for name in CostSums.__slots__:
            value = getattr(other, name)
            if value:
                setattr(self, name, getattr(self, name) + value)


class CostBook(Protocol):
    """Sums by day. Every method may raise StoreError: unreachable, late, read-only or full."""

    async def add(self, batch: str, sums: Mapping[CostKey, CostSums]) -> None:
        """Add sums; a batch is named `<writer>.<number>`, and a writer's numbers grow.

        One whose number is not above the writer's last counts once, so it can be sent again (within a week, with the same sums).
        Raises ValueError for other names, and for days outside 0 to 2932896.
        """
        ...

    async def read(self, tenant: TenantId, first: int, last: int) -> Mapping[CostKey, CostSums]:
        """Give the sums of a tenant's days, both ends included."""
        ...

    async def tenants(self) -> tuple[TenantId, ...]:
        """Give who has any, sorted."""
        ...

    async def forget(self, tenant: TenantId) -> int:
        """Erase all of a tenant's; gives how many days had any."""
        ...


@dataclass(frozen=True, slots=True)
class Claim:
    """What one budget is to set aside for a request, or to count: micro-USD, and whether it counts as a request."""

    rule: BudgetRule
    money: int
    requests: int = 1


@dataclass(frozen=True, slots=True)
class BudgetState:
    """One budget's present window: `begins` and `ends` in Unix seconds, money in micro-USD.

    `spent` is settled, `held` set aside for calls under way. `refused` counts requests that its hard limit refused.
    """

    rule: BudgetRule
    begins: float
    ends: float
    spent: int
    held: int
    requests: int
    refused: int = 0

    @property
    def left(self) -> int | None:
        """What a new call may still cost; None without a hard limit."""
        return None if self.rule.hard is None else max(0, self.rule.hard - self.spent - self.held)


@dataclass(frozen=True, slots=True)
class Refused:
    """A budget stands against a request; `limit` is `money` or `requests`."""

    state: BudgetState
    limit: str


class Budgets(Protocol):
    """Reserving before a call and settling after it, over all budgets of a request at once.

    Every method may raise StoreError: unreachable, late, read-only or full.
    """

    async def reserve(
        self, tenant: TenantId, hold: str, claims: Sequence[Claim], now: float, life: float
    ) -> Refused | tuple[BudgetState, ...]:
        """Set aside all claims or none, in one step; gives each budget's state afterwards, or the first that refuses.

        A claim is refused where spent + held + its money would exceed the hard limit, or requests the number allowed.
        A reservation nobody settles falls back after `life` seconds. The same hold twice is set aside once.
        """
        ...

    async def settle(
        self, tenant: TenantId, hold: str, claims: Sequence[Claim], now: float
    ) -> tuple[BudgetState, ...]:
        """Take what was set aside back and count what it came to, in the window it was set aside in.

        Once a hold; one that fell back meanwhile is counted all the same. Claims of an unknown hold are booked as spent.
        """
        ...

    async def states(
        self, tenant: TenantId, rules: Sequence[BudgetRule], now: float
    ) -> tuple[BudgetState, ...]:
        """Give the present window of each."""
        ...


class Cause(StrEnum):
    """What keeps a prompt's beginning from being reused; names of providers where they have one."""

    TIME = "time"
    UUID = "uuid"
    IDENTIFIER = "identifier"
    COUNTER = "counter"
    TOOLS_CHANGED = "tools_changed"
    TOOLS_REORDERED = "tools_reordered"
    SYSTEM_CHANGED = "system_changed"
    MODEL_CHANGED = "model_changed"
    KEY_ORDER = "key_order"
    WHITESPACE = "whitespace"
    REORDERED = "reordered"
    """The same pieces (documents, schemas, files) in another order."""
    HISTORY_REWRITTEN = "history_rewritten"
    HISTORY_WINDOW = "history_window"
    USER_TEXT = "user_text"
    """What differs from user to user stands before what all share."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One cause in one group of prompts, over one day.

    `group` is a digest of what the prompts share, `where` the part of the request (`system`, `tools`, `messages[3]`),
    `byte` and `token` the offset at which they usually part (of the whole prompt, tokens guessed), `sample` the kind of
    text that differs with every letter and digit masked. `seen` of `prompts` prompts broke there and lost `tokens` in all;
    `money` is what that cost in micro-USD, None without a price; `fix` says what to do.
    """

    tenant: str
    day: int
    group: str
    cause: Cause
    where: str
    byte: int
    token: int
    sample: str
    prompts: int
    seen: int
    tokens: int
    money: int | None
    fix: str
    model: str = ""
    labels: tuple[tuple[str, str], ...] = ()


class LintShelf(Protocol):
    """What lint found, by day. Every method may raise StoreError."""

    async def put(self, worker: str, findings: Sequence[LintFinding]) -> None:
        """Replace what a worker found on these findings' days; those of different workers stand beside each other."""
        ...

    async def findings(self, tenant: TenantId, first: int, last: int) -> tuple[LintFinding, ...]:
        """Give what was found, most tokens lost first; equal findings of several workers added up."""
        ...

    async def tenants(self) -> tuple[TenantId, ...]:
        """Give who has any, sorted."""
        ...


class AlarmKind(StrEnum):
    """What an alarm is about."""

    HIT_RATIO_LOW = "hit_ratio_low"
    CACHED_RATIO_LOW = "cached_ratio_low"
    HITS_JUMPED = "hits_jumped"
    INPUT_GROWING = "input_growing"
    REPETITION = "repetition"
    RETRIES = "retries"
    BUDGET = "budget"
    PRICE_UNKNOWN = "price_unknown"
    BOUND_BROKEN = "bound_broken"


@dataclass(frozen=True, slots=True)
class CostAlarm:
    """One alarm: raised or over. `subject` is what it is about within the tenant (a budget's step, a model, a domain).

    `value` and `limit` are in the unit that `text` names; `since` is when it was raised, in Unix seconds.
    """

    tenant: str
    kind: AlarmKind
    subject: str
    is_raised: bool
    since: float
    at: float
    value: float
    limit: float
    text: str


class AlarmShelf(Protocol):
    """Which alarms are raised. Every method may raise StoreError."""

    async def lead(self, worker: str, seconds: float) -> bool:
        """True for the one worker of all that looks for alarms during the next seconds."""
        ...

    async def load(self) -> Mapping[str, str]:
        """Give what the last leader knew: JSON by tenant, for the next one."""
        ...

    async def save(self, known: Mapping[str, str]) -> None:
        """Keep it; what is known of other tenants stays."""
        ...

    async def put(self, alarms: Sequence[CostAlarm]) -> None:
        """Write changes down: raised ones stand until they are over, the last of all are listed."""
        ...

    async def alarms(self, tenant: TenantId) -> tuple[CostAlarm, ...]:
        """Give a tenant's alarms, raised ones first, then the newest."""
        ...

    async def raised(self) -> tuple[CostAlarm, ...]:
        """Give the alarms of all tenants that are raised, newest first."""
        ...
