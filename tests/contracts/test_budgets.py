"""What every count of budgets does, the one in Redis (on one server, on a cluster) and the fake alike."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from semcache.core import TenantId
from semcache.cost_port import Budgets, BudgetState, Claim, Refused
from semcache.cost_rules import BudgetRule
from semcache.store.budgets import RedisBudgets
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.fakes.budgets import FakeBudgets
from tests.store.servers import ACME, cluster, valkey

__all__ = ["cluster", "valkey"]

OTHER = TenantId("other {tenant}: \ud800 名")
NOW = 1_780_000_000.0 - 1_780_000_000.0 % 3600 + 600
"""Ten minutes into an hour."""
HOUR = 3600.0
LIFE = 600.0
FIVE = BudgetRule("five", "hour", hard=5_000_000)
MANY = BudgetRule("many", "day", requests=3)


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def budgets(
    request: pytest.FixtureRequest, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[Budgets]:
    if request.param == "fake":
        yield FakeBudgets()
        return
    url = valkey.url if request.param == "valkey" else cluster
    made = RedisBudgets(url, LinkRules(deadline=5.0), uuid.uuid4().hex)
    yield made
    await made.aclose()


def cents(rule: BudgetRule, micro: int, requests: int = 0) -> list[Claim]:
    return [Claim(rule, micro, requests)]


async def state(budgets: Budgets, rule: BudgetRule, now: float = NOW) -> tuple[int, int, int]:
    """Give spent, held and requests of the present window."""
    (found,) = await budgets.states(ACME, [rule], now)
    return found.spent, found.held, found.requests


async def test_a_new_budget_is_empty_and_knows_its_window(budgets: Budgets) -> None:
    (found,) = await budgets.states(ACME, [FIVE], NOW)
    assert found == BudgetState(FIVE, NOW - 600, NOW - 600 + HOUR, 0, 0, 0)
    assert found.left == 5_000_000
    assert await budgets.states(ACME, [], NOW) == ()


async def test_what_is_set_aside_is_settled_to_what_it_came_to(budgets: Budgets) -> None:
    found = await budgets.reserve(ACME, "h", cents(FIVE, 900_000, 1), NOW, LIFE)
    assert found == (BudgetState(FIVE, NOW - 600, NOW - 600 + HOUR, 0, 900_000, 1),)
    (after,) = await budgets.settle(ACME, "h", cents(FIVE, 250_001, 1), NOW + 5)
    assert (after.spent, after.held, after.requests, after.left) == (250_001, 0, 1, 4_749_999)
    assert await state(budgets, FIVE) == (250_001, 0, 1)


async def test_a_failed_call_costs_nothing(budgets: Budgets) -> None:
    await budgets.reserve(ACME, "h", cents(FIVE, 900_000, 1), NOW, LIFE)
    await budgets.settle(ACME, "h", cents(FIVE, 0, 1), NOW)
    assert await state(budgets, FIVE) == (0, 0, 1)
    await budgets.reserve(ACME, "i", cents(FIVE, 900_000, 1), NOW, LIFE)
    assert await budgets.settle(ACME, "i", [], NOW) == ()
    assert await state(budgets, FIVE) == (0, 0, 1)


async def test_two_of_four_parallel_calls_fit_under_the_limit(budgets: Budgets) -> None:
    await budgets.settle(ACME, "before", cents(FIVE, 4_752_700), NOW)
    asked = [budgets.reserve(ACME, f"h{n}", cents(FIVE, 88_400), NOW, LIFE) for n in range(4)]
    found = await asyncio.gather(*asked)
    refused = [each for each in found if isinstance(each, Refused)]
    assert [(each.limit, each.state.spent, each.state.held) for each in refused] == [
        ("money", 4_752_700, 176_800)
    ] * 2
    assert await state(budgets, FIVE) == (4_752_700, 176_800, 0)
    for n, each in enumerate(found):
        if not isinstance(each, Refused):
            await budgets.settle(ACME, f"h{n}", cents(FIVE, 88_400), NOW)
    assert await state(budgets, FIVE) == (4_929_500, 0, 0)


async def test_what_the_hard_limit_refused_is_counted_in_its_window(budgets: Budgets) -> None:
    for n in range(3):
        found = await budgets.reserve(ACME, f"h{n}", cents(FIVE, 5_000_001), NOW, LIFE)
        assert isinstance(found, Refused)
        assert found.state.refused == n + 1
    (now,) = await budgets.states(ACME, [FIVE], NOW)
    (later,) = await budgets.states(ACME, [FIVE], NOW + HOUR)
    assert (now.refused, now.spent, now.held, later.refused) == (3, 0, 0, 0)


async def test_a_window_does_not_begin_anew_with_each_request(budgets: Budgets) -> None:
    rule = BudgetRule("ten", "hour", hard=100_000)
    left, passed = [], 0
    for n in range(30):
        found = await budgets.reserve(ACME, f"h{n}", cents(rule, 10_000), NOW + 2 * n, LIFE)
        if isinstance(found, Refused):
            left.append(found.state.left)
            assert found.state.ends == NOW - 600 + HOUR
            continue
        passed += 1
        (after,) = await budgets.settle(ACME, f"h{n}", cents(rule, 10_000), NOW + 2 * n + 1)
        left.append(after.left)
    assert passed == 10
    assert left == [90_000 - 10_000 * n for n in range(10)] + [0] * 20
    assert await state(budgets, rule, NOW + HOUR) == (0, 0, 0)
    assert not isinstance(await budgets.reserve(ACME, "next", cents(rule, 10_000), NOW + HOUR, LIFE), Refused)


async def test_requests_are_limited_by_number(budgets: Budgets) -> None:
    for n in range(3):
        await budgets.reserve(ACME, f"h{n}", cents(MANY, 0, 1), NOW, LIFE)
    found = await budgets.reserve(ACME, "h3", cents(MANY, 0, 1), NOW, LIFE)
    assert isinstance(found, Refused)
    assert (found.limit, found.state.requests, found.state.left) == ("requests", 3, None)
    await budgets.settle(ACME, "h0", cents(MANY, 0, 1), NOW)
    assert isinstance(await budgets.reserve(ACME, "h4", cents(MANY, 0, 1), NOW, LIFE), Refused)


@pytest.mark.parametrize("limit", [0, 5])
async def test_exactly_the_limit_fits(budgets: Budgets, limit: int) -> None:
    rule = BudgetRule("exact", "hour", hard=limit)
    assert not isinstance(await budgets.reserve(ACME, "a", cents(rule, limit), NOW, LIFE), Refused)
    assert isinstance(await budgets.reserve(ACME, "b", cents(rule, 1), NOW, LIFE), Refused)
    assert not isinstance(await budgets.reserve(ACME, "c", cents(rule, 0), NOW, LIFE), Refused)


async def test_all_claims_or_none(budgets: Budgets) -> None:
    small = BudgetRule("small", "month", hard=10)
    claims = [Claim(FIVE, 100, 1), Claim(small, 11, 1), Claim(MANY, 0, 1)]
    found = await budgets.reserve(ACME, "h", claims, NOW, LIFE)
    assert isinstance(found, Refused)
    assert found.state.rule == small
    assert [(s.held, s.requests) for s in await budgets.states(ACME, [FIVE, small, MANY], NOW)] == [
        (0, 0)
    ] * 3
    fits = [Claim(FIVE, 100, 1), Claim(small, 10, 1), Claim(MANY, 0, 1)]
    taken = await budgets.reserve(ACME, "h", fits, NOW, LIFE)
    assert not isinstance(taken, Refused)
    assert [(s.rule.name, s.held, s.requests) for s in taken] == [
        ("five", 100, 1),
        ("small", 10, 1),
        ("many", 0, 1),
    ]


async def test_the_same_hold_counts_once(budgets: Budgets) -> None:
    first = await budgets.reserve(ACME, "h", cents(FIVE, 100, 1), NOW, LIFE)
    assert await budgets.reserve(ACME, "h", cents(FIVE, 100, 1), NOW + 1, LIFE) == first
    one = await budgets.settle(ACME, "h", cents(FIVE, 70, 1), NOW)
    assert await budgets.settle(ACME, "h", cents(FIVE, 70, 1), NOW) == one
    await budgets.reserve(ACME, "h", cents(FIVE, 100, 1), NOW, LIFE)
    assert await state(budgets, FIVE) == (70, 0, 1)


async def test_settling_what_nobody_set_aside_is_spending(budgets: Budgets) -> None:
    await budgets.settle(ACME, "side", cents(FIVE, 42), NOW)
    await budgets.settle(ACME, "side", cents(FIVE, 42), NOW)
    assert await state(budgets, FIVE) == (42, 0, 0)


async def test_a_hold_that_nobody_settles_falls_back(budgets: Budgets) -> None:
    await budgets.reserve(ACME, "h", cents(FIVE, 5_000_000, 1), NOW, LIFE)
    assert isinstance(await budgets.reserve(ACME, "i", cents(FIVE, 1), NOW + LIFE - 1, LIFE), Refused)
    assert not isinstance(await budgets.reserve(ACME, "i", cents(FIVE, 1), NOW + LIFE, LIFE), Refused)
    assert await state(budgets, FIVE, NOW + LIFE) == (0, 1, 0)


async def test_settling_what_fell_back_counts_all_the_same_and_once(budgets: Budgets) -> None:
    await budgets.reserve(ACME, "h", cents(FIVE, 900, 1), NOW, LIFE)
    assert await state(budgets, FIVE, NOW + LIFE) == (0, 0, 0)
    await budgets.settle(ACME, "h", cents(FIVE, 800, 1), NOW + LIFE + 1)
    await budgets.settle(ACME, "h", cents(FIVE, 800, 1), NOW + LIFE + 2)
    assert await state(budgets, FIVE, NOW + LIFE) == (800, 0, 1)


async def test_a_call_counts_in_the_window_where_it_was_set_aside(budgets: Budgets) -> None:
    late = NOW + HOUR - 601  # a second before the end
    await budgets.reserve(ACME, "h", cents(FIVE, 900, 1), late, LIFE)
    (after,) = await budgets.settle(ACME, "h", cents(FIVE, 800, 1), late + 30)
    assert (after.begins, after.spent) == (NOW - 600, 800)
    assert await state(budgets, FIVE, late + 30) == (0, 0, 0)
    assert await state(budgets, FIVE, late) == (800, 0, 1)


async def test_a_hold_of_a_past_window_that_fell_back_counts_there_too(budgets: Budgets) -> None:
    late = NOW + HOUR - 601
    await budgets.reserve(ACME, "h", cents(FIVE, 900, 1), late, 60)
    await budgets.states(ACME, [FIVE], late + 120)
    await budgets.settle(ACME, "h", cents(FIVE, 800, 1), late + 121)
    assert await state(budgets, FIVE, late + 121) == (0, 0, 0)
    assert await state(budgets, FIVE, late) == (800, 0, 1)


async def test_a_slower_clock_does_not_open_a_finished_window_again(budgets: Budgets) -> None:
    late = NOW + HOUR - 601
    await budgets.reserve(ACME, "full", cents(FIVE, 5_000_000), late + 2, LIFE)  # the next hour, a second old
    found = await budgets.reserve(ACME, "h", cents(FIVE, 1), late, LIFE)
    assert isinstance(found, Refused)
    assert found.state.begins == NOW - 600 + HOUR
    await budgets.settle(ACME, "side", cents(FIVE, 7), late)
    assert await state(budgets, FIVE, late) == (7, 5_000_000, 0)


async def test_a_clock_far_ahead_takes_nobody_along(budgets: Budgets) -> None:
    await budgets.reserve(ACME, "mad", cents(FIVE, 5_000_000), NOW + 100 * HOUR, LIFE)
    assert not isinstance(await budgets.reserve(ACME, "h", cents(FIVE, 1), NOW, LIFE), Refused)
    assert await state(budgets, FIVE) == (0, 1, 0)
    # And those whose clocks are right still hold each other to the newest window.
    late = NOW + HOUR - 601
    await budgets.reserve(ACME, "full", cents(FIVE, 5_000_000), late + 2, LIFE)
    assert isinstance(await budgets.reserve(ACME, "slow", cents(FIVE, 1), late, LIFE), Refused)


async def test_budgets_tenants_and_kinds_of_window_do_not_mix(budgets: Budgets) -> None:
    daily = replace(FIVE, window="day")
    await budgets.settle(ACME, "a", cents(FIVE, 1), NOW)
    await budgets.settle(ACME, "b", cents(daily, 2), NOW)
    await budgets.settle(ACME, "c", cents(MANY, 4), NOW)
    await budgets.settle(OTHER, "a", cents(FIVE, 8), NOW)
    assert [s.spent for s in await budgets.states(ACME, [FIVE, daily, MANY], NOW)] == [1, 2, 4]
    assert [s.spent for s in await budgets.states(OTHER, [FIVE, daily, MANY], NOW)] == [8, 0, 0]


async def test_a_raised_limit_goes_on_counting(budgets: Budgets) -> None:
    await budgets.settle(ACME, "a", cents(FIVE, 5_000_000), NOW)
    assert isinstance(await budgets.reserve(ACME, "h", cents(FIVE, 1), NOW, LIFE), Refused)
    (found,) = await budgets.states(ACME, [replace(FIVE, hard=6_000_000)], NOW)
    assert found.left == 1_000_000
    raised = await budgets.reserve(ACME, "h", cents(replace(FIVE, hard=6_000_000), 1), NOW, LIFE)
    assert not isinstance(raised, Refused)


async def test_a_budget_that_was_added_meanwhile_counts_what_is_settled(budgets: Budgets) -> None:
    await budgets.reserve(ACME, "h", cents(FIVE, 10, 1), NOW, LIFE)
    await budgets.settle(ACME, "h", [Claim(MANY, 3, 1)], NOW)
    assert await state(budgets, FIVE) == (0, 0, 0)
    assert await state(budgets, MANY) == (3, 0, 1)


async def test_a_soft_limit_refuses_nothing(budgets: Budgets) -> None:
    rule = BudgetRule("soft", "hour", soft=10)
    (found,) = await budgets.settle(ACME, "h", cents(rule, 1000), NOW)
    assert (found.spent, found.left) == (1000, None)
    assert not isinstance(await budgets.reserve(ACME, "i", cents(rule, 1000), NOW, LIFE), Refused)


async def test_nothing_claimed_is_nothing_set_aside(budgets: Budgets) -> None:
    assert await budgets.reserve(ACME, "h", [], NOW, LIFE) == ()


async def test_a_thousand_at_once_overrun_by_what_was_held_at_most(budgets: Budgets) -> None:
    rule = BudgetRule("thousand", "hour", hard=100_000)
    guess, real, most = 1000, 1100, 0

    async def call(n: int) -> bool:
        nonlocal most
        found = await budgets.reserve(ACME, f"h{n}", cents(rule, guess, 1), NOW, LIFE)
        if isinstance(found, Refused):
            return False
        most = max(most, found[0].spent + found[0].held)
        await asyncio.sleep(0)
        await budgets.settle(ACME, f"h{n}", cents(rule, real, 1), NOW)
        return True

    slots = asyncio.Semaphore(400)

    async def bounded(n: int) -> bool:
        async with slots:
            return await call(n)

    passed = sum(await asyncio.gather(*(bounded(n) for n in range(1000))))
    spent, held, requests = await state(budgets, rule)
    assert (spent, held, requests) == (passed * real, 0, passed)
    assert most <= 100_000
    # Each call under way may cost more than was set aside for it; all of them together were never more than fitted.
    assert 100_000 - guess < spent <= 100_000 // guess * real
