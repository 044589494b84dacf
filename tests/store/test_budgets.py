"""Budgets in a real server: against a plain model, after crashes of the reply, and what stays behind in the keys."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from semcache.core import TenantId
from semcache.cost_port import Claim
from semcache.cost_rules import BudgetRule
from semcache.errors import StoreError
from semcache.store.budgets import RedisBudgets
from semcache.store.budgets_lua import REAPED
from semcache.store.embedded import ValkeyChild
from semcache.store.link import Link, LinkRules
from tests.fakes.budgets import FakeBudgets
from tests.store.servers import ACME, command

NOW = 1_780_000_000.0 - 1_780_000_000.0 % 3600 + 3000
"""Ten minutes before the end of an hour."""
RULES = (
    BudgetRule("money", "hour", hard=1000),
    BudgetRule("requests", "day", requests=5),
    BudgetRule("both", "hour", hard=600, requests=8),
    BudgetRule("soft", "month", soft=10),
)
TENANTS = (ACME, TenantId("b"))
claims = st.lists(
    st.builds(Claim, st.sampled_from(RULES), st.integers(0, 500), st.integers(0, 1)),
    min_size=1,
    max_size=4,
    unique_by=lambda claim: claim.rule.name,
)
who = st.sampled_from(TENANTS)
holds = st.integers(0, 7).map(str)


class Machine(RuleBasedStateMachine):
    """Whatever is asked in whatever order, the server answers as the plain model does."""

    url: str
    loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        super().__init__()
        self.model = FakeBudgets()
        self.real = RedisBudgets(self.url, LinkRules(deadline=5.0), uuid.uuid4().hex)
        self.now = NOW

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    @rule(seconds=st.integers(-3, 900))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule(tenant=who, hold=holds, claims=claims, life=st.sampled_from([60.0, 2000.0]))
    def reserve(self, tenant: TenantId, hold: str, claims: list[Claim], life: float) -> None:
        expected = self.run(self.model.reserve(tenant, hold, claims, self.now, life))
        assert self.run(self.real.reserve(tenant, hold, claims, self.now, life)) == expected

    @rule(tenant=who, hold=holds, claims=st.one_of(st.just([]), claims))
    def settle(self, tenant: TenantId, hold: str, claims: list[Claim]) -> None:
        expected = self.run(self.model.settle(tenant, hold, claims, self.now))
        assert self.run(self.real.settle(tenant, hold, claims, self.now)) == expected

    @invariant()
    def the_same_everywhere(self) -> None:
        for tenant in TENANTS:
            expected = self.run(self.model.states(tenant, RULES, self.now))
            assert self.run(self.real.states(tenant, RULES, self.now)) == expected
        open_holds = [hold for hold in self.model.holds.values() if hold.how == "held"]
        for place, window in self.model.windows.items():
            assert window.held == sum(
                m for hold in open_holds for where, m, _ in hold.claims if where == place
            )
            assert min(window.spent, window.held, window.requests) >= 0

    def teardown(self) -> None:
        self.run(self.real.aclose())


def test_the_server_answers_as_the_model_does(valkey: ValkeyChild) -> None:
    Machine.url = valkey.url
    Machine.loop = asyncio.new_event_loop()
    try:
        rules = settings(
            max_examples=100, stateful_step_count=25, suppress_health_check=list(HealthCheck), deadline=None
        )
        run_state_machine_as_test(Machine, settings=rules)
    finally:
        Machine.loop.close()


@pytest.fixture
def prefix() -> str:
    return uuid.uuid4().hex


async def lives(url: str, prefix: str) -> int:
    """Count the keys, each of which must end some day."""
    keys = await command(url, "KEYS", f"{prefix}:*")
    for key in keys:
        assert 0 < await command(url, "PTTL", key) <= 39 * 86_400_000, key
    return len(keys)


async def test_windows_and_holds_do_not_live_for_ever(valkey: ValkeyChild, prefix: str) -> None:
    budgets = RedisBudgets(valkey.url, LinkRules(deadline=5.0), prefix)
    try:
        for n, each in enumerate(RULES):
            await budgets.reserve(ACME, f"h{n}", [Claim(each, 1, 1)], NOW, 60)
        assert await lives(valkey.url, prefix) >= 10
        await budgets.settle(ACME, "h0", [Claim(RULES[0], 1, 1)], NOW)
        await budgets.states(ACME, RULES, NOW + 61)
        await budgets.settle(ACME, "h1", [], NOW + 62)
        assert await lives(valkey.url, prefix) >= 9
    finally:
        await budgets.aclose()


async def test_much_falls_back_in_several_calls(valkey: ValkeyChild, prefix: str) -> None:
    budgets = RedisBudgets(valkey.url, LinkRules(deadline=5.0), prefix)
    each = BudgetRule("wide", "day", hard=10**9)
    try:
        many = REAPED * 2 + 5
        await asyncio.gather(
            *(budgets.reserve(ACME, f"h{n}", [Claim(each, 7, 1)], NOW, 60) for n in range(many))
        )
        left = [(await budgets.states(ACME, [each], NOW + 61))[0].held for _ in range(3)]
        assert left == [7 * (REAPED + 5), 7 * 5, 0]
    finally:
        await budgets.aclose()


async def test_large_sums_are_counted_to_the_last_micro_dollar(valkey: ValkeyChild, prefix: str) -> None:
    budgets = RedisBudgets(valkey.url, LinkRules(deadline=5.0), prefix)
    each = BudgetRule("large", "month", hard=10**15)
    million = 10**12 - 1
    try:
        for n in range(5):
            await budgets.settle(ACME, f"s{n}", [Claim(each, million)], NOW)
            await budgets.reserve(ACME, f"h{n}", [Claim(each, million)], NOW, 60)
        (found,) = await budgets.states(ACME, [each], NOW)
        assert (found.spent, found.held) == (5 * million, 5 * million)
        assert found.left == 10**15 - 10 * million
        # What no call costs is cut: no caller can push a count out of what it can hold.
        await budgets.settle(ACME, "huge", [Claim(each, 10**30, 10**30)], NOW)
        await budgets.settle(ACME, "less", [Claim(each, -5, -5)], NOW)
        (after,) = await budgets.states(ACME, [each], NOW)
        assert (after.spent, after.requests) == (5 * million + 10**12, 10 + 10**6)
    finally:
        await budgets.aclose()


async def test_a_key_of_another_kind_is_a_fault_of_the_store(valkey: ValkeyChild, prefix: str) -> None:
    budgets = RedisBudgets(valkey.url, LinkRules(deadline=5.0), prefix)
    await command(valkey.url, "SET", f"{prefix}:{{acme}}:bl", "x")
    try:
        with pytest.raises(StoreError):
            await budgets.reserve(ACME, "h", [Claim(RULES[0], 1, 1)], NOW, 60)
        with pytest.raises(StoreError):
            await budgets.settle(ACME, "h", [Claim(RULES[0], 1, 1)], NOW)
        with pytest.raises(StoreError):
            await budgets.states(ACME, RULES, NOW)
    finally:
        await budgets.aclose()


@pytest.mark.parametrize(
    "reply", [None, b"ok", [b"ok"], [b"ok", []], [b"over", 7, b"money", [b"0", 1, 1, 1]], [b"ok", [[b"x", 1, 1, 1]]], [b"ok", [[b"0", 1, 1]]]]
)  # fmt: skip
async def test_an_odd_reply_is_a_fault_of_the_store(reply: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answered(*_: Any) -> Any:
        return reply

    monkeypatch.setattr(Link, "run", answered)
    budgets = RedisBudgets("redis://127.0.0.1:1", LinkRules())
    with pytest.raises(StoreError):
        await budgets.reserve(ACME, "h", [Claim(RULES[0], 1, 1)], NOW, 60)


async def test_a_server_that_is_away_is_a_fault_of_the_store() -> None:
    budgets = RedisBudgets("redis://127.0.0.1:1", LinkRules(deadline=0.2))
    with pytest.raises(StoreError):
        await budgets.reserve(ACME, "h", [Claim(RULES[0], 1, 1)], NOW, 60)
    assert await budgets.reserve(ACME, "h", [], NOW, 60) == ()
    assert await budgets.states(ACME, [], NOW) == ()
    await budgets.aclose()
