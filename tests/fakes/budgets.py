"""Budgets in memory, under the same contract suite as the real ones (tests/contracts/test_budgets.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from semcache.core import TenantId
from semcache.cost_port import BudgetState, Claim, Refused
from semcache.cost_rules import BudgetRule
from semcache.errors import StoreError
from semcache.store.windows import window_at

AHEAD = 300
Place = tuple[TenantId, str, str, float]


@dataclass
class Window:
    spent: int = 0
    held: int = 0
    requests: int = 0
    refused: int = 0


@dataclass
class Hold:
    due: float
    claims: list[tuple[Place, int, int]]
    how: str = "held"


@dataclass
class FakeBudgets:
    away: bool = False
    kind: str = "down"
    windows: dict[Place, Window] = field(default_factory=dict)
    holds: dict[tuple[TenantId, str], Hold] = field(default_factory=dict)
    newest: dict[tuple[TenantId, str, str], float] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def _reached(self, what: str) -> None:
        self.calls.append(what)
        if self.away:
            raise StoreError("budgets: away", kind=self.kind)

    def _place(self, tenant: TenantId, rule: BudgetRule, now: float) -> Place:
        begins, _ = window_at(rule.window, now)
        top = self.newest.get((tenant, rule.name, rule.window), begins)
        return tenant, rule.name, rule.window, top if begins < top <= now + AHEAD else begins

    def _opened(self, place: Place, now: float) -> Window:
        begins = place[3]
        key = (place[0], place[1], place[2])
        top = self.newest.get(key)
        if top is None or top < begins or top > now + AHEAD:
            self.newest[key] = begins
        return self.windows.setdefault(place, Window())

    def _let_go(self, hold: Hold) -> None:
        for place, money, requests in hold.claims:
            self.windows[place].held -= money
            self.windows[place].requests -= requests

    def _fall_back(self, tenant: TenantId, now: float) -> None:
        for (owner, _), hold in self.holds.items():
            if owner == tenant and hold.how == "held" and hold.due <= now:
                self._let_go(hold)
                hold.how = "fallen"

    def _state(self, place: Place, rule: BudgetRule) -> BudgetState:
        window = self.windows.get(place, Window())
        begins, ends = window_at(rule.window, place[3])
        return BudgetState(rule, begins, ends, window.spent, window.held, window.requests, window.refused)

    def _places_of(
        self, tenant: TenantId, hold: Hold | None, claims: Sequence[Claim], now: float
    ) -> list[Place]:
        known = {place[:3]: place for place, _, _ in hold.claims} if hold else {}
        places = [self._place(tenant, claim.rule, now) for claim in claims]
        return [known.get(place[:3], place) for place in places]

    async def reserve(
        self, tenant: TenantId, hold: str, claims: Sequence[Claim], now: float, life: float
    ) -> Refused | tuple[BudgetState, ...]:
        self._reached("reserve")
        self._fall_back(tenant, now)
        known = self.holds.get((tenant, hold))
        places = self._places_of(tenant, known, claims, now)
        pairs = list(zip(places, claims, strict=True))
        if known is None and claims:
            for place, claim in pairs:
                window = self.windows.get(place, Window())
                hard, most = claim.rule.hard, claim.rule.requests
                if hard is not None and window.spent + window.held + claim.money > hard:
                    self._opened(place, now).refused += 1
                    return Refused(self._state(place, claim.rule), "money")
                if most is not None and window.requests + claim.requests > most:
                    return Refused(self._state(place, claim.rule), "requests")
            taken = [(place, claim.money, claim.requests) for place, claim in pairs]
            self.holds[tenant, hold] = Hold(now + life, taken)
            for place, money, requests in taken:
                window = self._opened(place, now)
                window.held += money
                window.requests += requests
        return tuple(self._state(place, claim.rule) for place, claim in pairs)

    async def settle(
        self, tenant: TenantId, hold: str, claims: Sequence[Claim], now: float
    ) -> tuple[BudgetState, ...]:
        self._reached("settle")
        self._fall_back(tenant, now)
        known = self.holds.get((tenant, hold))
        places = self._places_of(tenant, known, claims, now)
        pairs = list(zip(places, claims, strict=True))
        if known is None or known.how != "done":
            if known is not None and known.how == "held":
                self._let_go(known)
            for place, claim in pairs:
                window = self._opened(place, now)
                window.spent += claim.money
                window.requests += claim.requests
            self.holds[tenant, hold] = Hold(0.0, [(place, c.money, c.requests) for place, c in pairs], "done")
        return tuple(self._state(place, claim.rule) for place, claim in pairs)

    async def states(
        self, tenant: TenantId, rules: Sequence[BudgetRule], now: float
    ) -> tuple[BudgetState, ...]:
        self._reached("states")
        self._fall_back(tenant, now)
        return tuple(self._state(self._place(tenant, rule, now), rule) for rule in rules)
