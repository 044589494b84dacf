"""What was evicted comes back from the host, whole, in its place, and to its owner alone."""

from __future__ import annotations

import pytest

from semcache.engine.forward import Exactness
from semcache.engine.layers import PUBLIC, Layer, Owner
from tests.engine.scheduling.fake_network import FakeNetwork
from tests.engine.scheduling.stage import Stage, ask
from tests.engine.scheduling.test_answers import numbers


def of(owner: str, public: int, length: int) -> tuple[Layer, ...]:
    head = (Layer(public, PUBLIC),) if public else ()
    return (*head, Layer(length, Owner(owner, owner.encode())))


@pytest.mark.parametrize(
    ("exactness", "found"),
    [(Exactness(), 99), (Exactness(16, shares_generated=False), 32)],
    ids=["any cut", "grid"],
)
def test_an_evicted_prompt_is_copied_back_instead_of_computed(exactness: Exactness, found: int) -> None:
    stage = Stage(FakeNetwork(300, exactness), host_bytes=1 << 20)
    request = ask(numbers(100), max_tokens=8)
    stage.answer(request)
    for piece in (7, 20, 33):  # in parts, tails first
        stage.slots.forget(piece)
    stage.slots.evict_all()
    again = stage.answer(request)
    stage.assert_true(again)
    assert again.done.cached_tokens == found
    stage.slots.evict_all()
    stage.assert_true(stage.answer(ask((*numbers(50), 3, 4, 5), max_tokens=8)))


def test_a_copy_is_its_owner_s_alone() -> None:
    stage = Stage(FakeNetwork(300), host_bytes=1 << 20)
    stage.answer(ask(numbers(100), layers=of("a", 40, 100)))
    stage.slots.evict_all()
    other = stage.answer(ask(numbers(100), layers=of("b", 40, 100)))
    assert other.done.cached_tokens == 40
    stage.slots.evict_all()
    wholly = stage.answer(ask(numbers(100), layers=of("c", 0, 100)))
    assert wholly.done.cached_tokens == 0
    stage.slots.evict_all()
    own = stage.answer(ask(numbers(100), layers=of("a", 40, 100)))
    assert own.done.cached_tokens == 99
    for one in (other, wholly, own):
        stage.assert_true(one)


def test_a_pool_under_pressure_answers_right_with_a_second_tier() -> None:
    stage = Stage(FakeNetwork(128), host_bytes=1 << 20)
    for turn in range(60):
        asked = stage.answer(ask((*numbers(50, seed=turn % 4), turn % 7, 1), max_tokens=6))
        stage.assert_true(asked)
    assert stage.scheduler.counters.cached > 40 * 50
