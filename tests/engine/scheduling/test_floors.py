"""A floor keeps what was computed; before a user's request that would fit fails for it, it gives way."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from semcache.engine.forward import Exactness
from semcache.engine.layers import PUBLIC, Layer, Owner
from semcache.engine.prefix.eviction import RESERVE
from semcache.engine.prefix.shares import Share, Shares
from semcache.engine.scheduling.planning import Limits
from tests.engine.scheduling.fake_network import FakeNetwork
from tests.engine.scheduling.stage import Stage, ask
from tests.engine.scheduling.test_answers import numbers

NEVER = 10**9
HEAD, FLOOR, SLOTS = 30, 10, 72
WITHHELD = HEAD + FLOOR
"""What a floor of 10 tokens keeps where they stand on a public beginning of 30."""


def of(tenant: str, length: int, public: int = 0) -> tuple[Layer, ...]:
    head = (Layer(public, PUBLIC),) if public else ()
    return (*head, Layer(length, Owner(tenant, tenant.encode())))


def staged(slots: int = SLOTS, tail: int = 4, floors: tuple[str, ...] = ("a",), grid: int = 1) -> Stage:
    """A pool in which each of `floors` has computed what it may keep, behind one public beginning."""
    shares = Shares(slots, tenants=MappingProxyType(dict.fromkeys(floors, Share(floor=FLOOR))))
    network = FakeNetwork(slots, Exactness(grid, shares_generated=grid == 1), end_every=NEVER)
    stage = Stage(network, limits=Limits(chunk=8, budget=16, tail=tail), shares=shares)
    for seed, tenant in enumerate(floors):
        prompt = (*numbers(HEAD), *numbers(FLOOR, seed=20 + seed))
        stage.answer(ask(prompt, max_tokens=0, layers=of(tenant, WITHHELD, HEAD)))
    return stage


def given_up(stage: Stage) -> int:
    return dict(stage.tree.counts().evictions).get(RESERVE, 0)


@pytest.mark.parametrize(
    ("prompt", "answer"), [(32, 2), (35, 1), (41, 1), (8, 50), (70, 3), (72, 0), (1, 72)]
)
def test_a_request_that_fits_alone_is_answered_and_takes_no_more_than_it_needs(
    prompt: int, answer: int
) -> None:
    stage = staged()
    asked = stage.answer(ask(numbers(prompt, seed=3), max_tokens=answer, layers=of("c", prompt)))
    stage.assert_true(asked)
    missing = prompt + max(answer - 1, 0) - (SLOTS - WITHHELD)
    assert given_up(stage) == min(missing, FLOOR)
    assert stage.tree.held.get("a", 0) == max(FLOOR - missing, 0)
    assert stage.tree.held.get("", 0) == min(HEAD, WITHHELD - missing)


def test_with_a_grid_it_is_answered_too() -> None:
    stage = staged(grid=8)
    asked = stage.answer(ask(numbers(50, seed=3), max_tokens=20, layers=of("c", 50)))
    stage.assert_true(asked)
    assert given_up(stage) > 0


def test_a_floor_holds_while_the_request_fits_beside_it() -> None:
    for length in range(1, SLOTS - WITHHELD + 1):
        stage = staged(tail=32)
        asked = stage.answer(ask(numbers(length, seed=3), max_tokens=33 - length, layers=of("c", length)))
        stage.assert_true(asked)
        assert (stage.tree.held[""], stage.tree.held["a"]) == (HEAD, FLOOR)
        assert given_up(stage) == 0


def test_requests_that_fit_one_after_another_leave_the_floor_alone() -> None:
    stage = staged()
    asked = [
        stage.submit(ask(numbers(12, seed=seed), max_tokens=18, layers=of("cde"[seed % 3], 12)))
        for seed in range(9)
    ]
    stage.run()
    for one in asked:
        stage.assert_true(one)
    assert (stage.tree.held[""], stage.tree.held["a"]) == (HEAD, FLOOR)
    assert given_up(stage) == 0


def test_what_floors_keep_is_no_room_for_those_that_wait() -> None:
    """Nobody begins on slots that cannot be had: who did would be preempted at once, again and again."""

    def preempted(floor: int) -> int:
        shares = Shares(200 + floor, tenants=MappingProxyType({"a": Share(floor=floor)}))
        stage = Stage(FakeNetwork(200 + floor, end_every=NEVER), limits=Limits(tail=8), shares=shares)
        if floor:
            stage.answer(ask(numbers(floor), max_tokens=0, layers=of("a", floor)))
        asked = [
            stage.submit(ask(numbers(20, seed=3 + seed), max_tokens=60, layers=of("c", 20)))
            for seed in range(40)
        ]
        stage.run()
        for one in asked:
            stage.assert_true(one)
        assert stage.tree.held.get("a", 0) == floor
        return stage.scheduler.counters.preemptions

    assert preempted(100) < 2 * preempted(0)


def test_the_least_valuable_of_all_floors_goes_first() -> None:
    stage = staged(slots=100, floors=("a", "b", "d"))
    for _ in range(5):
        again = (*numbers(HEAD), *numbers(FLOOR, seed=21))
        stage.answer(ask(again, max_tokens=0, layers=of("b", WITHHELD, HEAD)))
    prompt = 100 - HEAD - FLOOR - 2
    stage.assert_true(stage.answer(ask(numbers(prompt, seed=3), max_tokens=1, layers=of("c", prompt))))
    assert given_up(stage) == 2 * FLOOR - 2
    # A prompt's last token is always computed, so of b's that one alone was never reused, like all of the others'.
    assert stage.tree.held["b"] == FLOOR - 1
    assert stage.tree.held.get("a", 0) + stage.tree.held.get("d", 0) == 3


def test_a_tenant_in_need_gives_its_own_before_another_s_floor() -> None:
    stage = staged(slots=82, floors=("a", "b"))
    stage.assert_true(stage.answer(ask(numbers(42, seed=3), max_tokens=1, layers=of("b", 42))))
    assert stage.tree.held["a"] == FLOOR
    assert given_up(stage) == 0


def test_what_is_being_read_is_never_given_up() -> None:
    stage = staged()
    prompt = (*numbers(HEAD), *numbers(FLOOR, seed=20), 1)
    owner = stage.submit(ask(prompt, max_tokens=25, layers=of("a", WITHHELD, HEAD)))
    stage.step()
    other = stage.submit(ask(numbers(60, seed=3), max_tokens=10, layers=of("c", 60)))
    while not owner.is_over:
        assert given_up(stage) == 0
        assert stage.tree.held["a"] >= FLOOR
        stage.step()
    stage.run()
    stage.assert_true(owner)
    stage.assert_true(other)
    assert owner.done.cached_tokens == WITHHELD
    assert given_up(stage) > 0


def test_work_in_the_background_never_takes_from_a_floor() -> None:
    stage = staged()
    asked = stage.answer(
        ask(numbers(50, seed=3), max_tokens=0, background=True, layers=of("c", 50)),
    )
    assert (
        asked.error
        == "work in the background needs more memory for keys and values than the engine can spare"
    )
    assert (stage.tree.held[""], stage.tree.held["a"]) == (HEAD, FLOOR)
    assert given_up(stage) == 0
    stage.assert_true(stage.answer(ask(numbers(50, seed=3), max_tokens=1, layers=of("c", 50))))


def test_what_cannot_fit_fails_still_and_the_next_is_answered() -> None:
    stage = staged()
    asked = stage.answer(ask(numbers(40, seed=3), max_tokens=60, layers=of("c", 40)))
    assert asked.error == "the request needs more memory for keys and values than the engine has"
    stage.assert_true(stage.answer(ask(numbers(60, seed=4), max_tokens=13, layers=of("c", 60))))


def test_on_command_everything_goes_floors_and_what_they_stand_on() -> None:
    stage = staged(slots=100, floors=("a", "b"))
    assert stage.slots.evict_all() == HEAD + 2 * FLOOR
    assert stage.tree.tokens == 0
