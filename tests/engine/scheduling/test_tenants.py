"""Limits of tenants in the pool, and what was warmed."""

from __future__ import annotations

from types import MappingProxyType

from semcache.engine.layers import Layer, Owner
from semcache.engine.prefix.shares import Share, Shares
from tests.engine.scheduling.fake_network import FakeNetwork
from tests.engine.scheduling.stage import Stage, ask
from tests.engine.scheduling.test_answers import numbers


def of(tenant: str, length: int) -> tuple[Layer, ...]:
    return (Layer(length, Owner(tenant, tenant.encode())),)


def test_a_tenant_never_passes_its_ceiling_and_is_answered_all_the_same() -> None:
    shares = Shares(400, tenants=MappingProxyType({"a": Share(ceiling=100)}))
    stage = Stage(FakeNetwork(400), shares=shares)
    for seed in range(12):
        asked = stage.submit(
            ask((seed, *numbers(60 + 8 * seed, seed=seed)), choices=1 + seed % 3, layers=of("a", 61))
        )
        while stage.scheduler.has_work:
            stage.step()
            assert stage.tree.held.get("a", 0) <= 100
        stage.assert_true(asked)
    assert stage.tree.held["a"] > 40
    free = stage.answer(ask(numbers(150), layers=of("b", 150)))
    stage.assert_true(free)
    assert stage.tree.held["b"] > 150


def test_what_is_computed_ahead_is_named_to_the_tree() -> None:
    stage = Stage(FakeNetwork(400))
    stage.answer(ask(numbers(50), max_tokens=0, background=True))
    stage.answer(ask(numbers(50), max_tokens=4))
    assert len(stage.warmed) == 1
