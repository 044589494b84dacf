"""Budgets of all replicas: what is spent and set aside in the present windows.

    {<tenant>}:bw:<budget>:<beginning>   hash of one window: spent, held (micro-USD), requests
    {<tenant>}:bh:<hold>                 what was set aside for one request, and whether it is settled
    {<tenant>}:bx                        the same by the time when it falls back
    {<tenant>}:bl                        the newest window of each budget

A budget is known by its name and kind of window: whoever changes its limits goes on counting, whoever renames it begins
anew. Windows outlive their end by a week. Knows no prices and no policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcache.core import TenantId
from semcache.cost_port import BudgetState, Claim, Refused
from semcache.cost_rules import BudgetRule
from semcache.errors import StoreError
from semcache.store.budgets_lua import BudgetScripts
from semcache.store.cluster import open_link
from semcache.store.keys import Keys, digest
from semcache.store.link import LinkRules
from semcache.store.shapes import a_list, a_number, some_bytes
from semcache.store.windows import window_at

_DAY_MS = 86_400_000
_LIFE_MS = {"hour": 8 * _DAY_MS, "day": 8 * _DAY_MS, "week": 14 * _DAY_MS, "month": 38 * _DAY_MS}
_MEMORY_MS = _DAY_MS
"""How long after it fell back a hold is still known, so that it is counted where it was set aside, and once."""
_MOST = 10**12
"""Micro-USD of one claim: a million dollars."""
_MOST_REQUESTS = 10**6


class RedisBudgets:
    """`Budgets` on one server or a cluster.

    Args:
        url: as for `RedisStore`.
        rules: bounds of its link.
        prefix: keeps deployments in one database apart.

    Raises:
        StoreError: `config`: the URL is not usable.
    """

    def __init__(self, url: str, rules: LinkRules, prefix: str = "sc") -> None:
        self._link = open_link(url, rules)
        self._keys = Keys(prefix)
        self._scripts = BudgetScripts()

    async def reserve(
        self, tenant: TenantId, hold: str, claims: Sequence[Claim], now: float, life: float
    ) -> Refused | tuple[BudgetState, ...]:
        """Set aside all claims or none, in one step; see `cost_port.Budgets`.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        if not claims:
            return ()
        due, lives = int((now + life) * 1000), _lives([claim.rule for claim in claims])
        head = (*self._head(tenant, hold, now), due, int(life * 1000) + _MEMORY_MS, lives)
        rows = [(*_row(claim, now), *map(_limit, (claim.rule.hard, claim.rule.requests))) for claim in claims]
        reply = a_list(
            await self._link.run(self._scripts.reserve, self._names(tenant), _flat(head, rows)), 2, 4
        )
        match reply:
            case [b"over", at, bytes(limit), state] if 0 <= a_number(at) < len(claims):
                return Refused(_state(claims[a_number(at)].rule, state), limit.decode("ascii", "replace"))
            case [b"ok", states]:
                return _states([claim.rule for claim in claims], states)
            case _:
                raise _odd()

    async def settle(
        self, tenant: TenantId, hold: str, claims: Sequence[Claim], now: float
    ) -> tuple[BudgetState, ...]:
        """Take what was set aside back and count what it came to; see `cost_port.Budgets`.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        lives = _lives([claim.rule for claim in claims])
        head = (*self._head(tenant, hold, now), _MEMORY_MS, lives)
        arguments = _flat(head, [_row(claim, now) for claim in claims])
        reply = await self._link.run(self._scripts.settle, self._names(tenant), arguments)
        return _states([claim.rule for claim in claims], reply)

    async def states(
        self, tenant: TenantId, rules: Sequence[BudgetRule], now: float
    ) -> tuple[BudgetState, ...]:
        """Give the present window of each.

        Raises:
            StoreError: unreachable, late or read-only.
        """
        if not rules:
            return ()
        rows = [_place(rule, now) for rule in rules]
        arguments = _flat(self._head(tenant, "", now), rows)
        return _states(rules, await self._link.run(self._scripts.states, self._names(tenant), arguments))

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._link.aclose()

    def _names(self, tenant: TenantId) -> tuple[bytes, bytes]:
        base = self._keys.base(tenant)
        return base + b"bl", base + b"bx"

    def _head(self, tenant: TenantId, hold: str, now: float) -> tuple[bytes, str, int]:
        return self._keys.base(tenant), digest(hold).hex(), int(now * 1000)


def _place(rule: BudgetRule, now: float) -> tuple[str, int]:
    begins, _ = window_at(rule.window, now)
    return digest(f"{rule.name}\0{rule.window}").hex(), int(begins)


def _row(claim: Claim, now: float) -> tuple[str | int, ...]:
    money, requests = min(max(claim.money, 0), _MOST), min(max(claim.requests, 0), _MOST_REQUESTS)
    return (*_place(claim.rule, now), money, requests)


def _limit(most: int | None) -> str | int:
    return "" if most is None else most


def _lives(rules: Sequence[BudgetRule]) -> int:
    return max((_LIFE_MS.get(rule.window, _LIFE_MS["month"]) for rule in rules), default=_DAY_MS)


def _flat(
    head: tuple[bytes | str | int, ...], rows: Sequence[tuple[str | int, ...]]
) -> list[bytes | str | int | float]:
    return [*head, *(item for row in rows for item in row)]


def _states(rules: Sequence[BudgetRule], reply: Any) -> tuple[BudgetState, ...]:
    found = a_list(reply, len(rules), len(rules))
    return tuple(_state(rule, state) for rule, state in zip(rules, found, strict=True))


def _state(rule: BudgetRule, reply: Any) -> BudgetState:
    began, *numbers = a_list(reply, 5, 5)
    begins, ends = window_at(rule.window, a_number(some_bytes(began)))
    # What is set aside falls back at most once, and a count below nothing would be a defect that nobody sees.
    spent, held, requests, refused = (
        max(0, number) if isinstance(number, int) else a_number(number) for number in numbers
    )
    return BudgetState(rule, begins, ends, spent, held, requests, refused)


def _odd() -> StoreError:
    return StoreError("budgets: reply of another shape than asked for", kind="error")
