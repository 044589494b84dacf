"""Sums in memory: totals stay right, whatever anybody names anything, and memory stays bounded."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.cost.cells import OTHER, CellLimits, Cells
from semcache.cost_port import CostKey, CostSums

KEY = CostKey("acme", 20_000, "gpt-5", "openai", "miss", "k1", "search", "prod", "retail", "sum up")
ONE = CostSums(requests=1, cost=7, by_provider=-2)


def cells(**limits: int) -> tuple[Cells, Counter[str]]:
    folded: Counter[str] = Counter()

    def fold(why: str) -> None:
        folded[why] += 1

    return Cells(fold, CellLimits(**limits)), folded


def test_sums_add_up_by_key_and_are_taken_once() -> None:
    found, folded = cells()
    other = replace(KEY, task="translate")
    for key in (KEY, other, KEY):
        found.add(key, ONE)
    assert len(found) == 2
    assert found.take() == {KEY: CostSums(requests=2, cost=14, by_provider=-4), other: ONE}
    assert found.take() == {}
    assert not folded


def test_what_was_taken_is_not_added_to() -> None:
    found, _ = cells()
    given_ = replace(ONE)
    found.add(KEY, given_)
    taken = found.take()
    found.add(KEY, ONE)
    assert taken == {KEY: ONE}
    assert given_ == ONE


def test_a_days_keys_are_bounded() -> None:
    found, folded = cells(keys=3)
    for turn in range(10):
        found.add(replace(KEY, task=f"t{turn}"), ONE)
    found.add(replace(KEY, task="t1"), ONE)
    taken = found.take()
    bare = CostKey("acme", 20_000, OTHER, "openai", "miss", OTHER, OTHER, OTHER, OTHER, OTHER)
    assert {key.task: sums.requests for key, sums in taken.items()} == {"t0": 1, "t1": 2, "t2": 1, OTHER: 7}
    assert bare in taken
    assert folded == {"keys": 7}
    # What is known stays known after it was taken; another tenant and another day have room of their own.
    for key in (
        replace(KEY, task="t2"),
        replace(KEY, tenant="x", task="t9"),
        replace(KEY, day=20_001, task="t9"),
    ):
        found.add(key, ONE)
        assert found.take() == {key: ONE}


def test_made_up_models_leave_room_for_real_ones() -> None:
    found, folded = cells(models=4, doubtful=2)
    for turn in range(10):
        found.add(replace(KEY, model=f"made-up-{turn}"), replace(ONE, unpriced=1))
        found.add(replace(KEY, model=f"failed-{turn}"), replace(ONE, errors=1))
    for turn in range(6):
        found.add(replace(KEY, model=f"real-{turn}"), ONE)
    models = Counter({key.model: sums.requests for key, sums in found.take().items()})
    assert models == {"made-up-0": 1, "failed-0": 1, **{f"real-{turn}": 1 for turn in range(4)}, OTHER: 20}
    assert folded == {"models": 20}
    # Their labels are kept.
    found.add(replace(KEY, model="made-up-8"), replace(ONE, unpriced=1))
    assert [key for key in found.take() if key.model == OTHER] == [replace(KEY, model=OTHER)]


def test_a_known_model_may_fail() -> None:
    found, folded = cells(models=4, doubtful=1)
    found.add(replace(KEY, model="x"), replace(ONE, unpriced=1))
    found.add(KEY, ONE)
    found.add(KEY, replace(ONE, errors=1, unpriced=1))
    found.add(replace(KEY, task="another"), replace(ONE, errors=1, unpriced=1))
    assert {key.model for key in found.take()} == {"x", "gpt-5"}
    assert not folded


def test_names_are_short_and_unicode() -> None:
    found, _ = cells()
    found.add(replace(KEY, model="m" * 500, task="\ud800名", project="名" * 200), ONE)
    found.add(replace(KEY, model="m" * 100, task="?名", project="名" * 100), ONE)
    assert found.take() == {
        replace(KEY, model="m" * 100, task="?名", project="名" * 100): CostSums(
            requests=2, cost=14, by_provider=-4
        )
    }


def test_what_waits_is_bounded_while_the_store_is_away() -> None:
    found, folded = cells(waiting=5)
    for turn in range(100):
        found.add(replace(KEY, task=f"t{turn}"), ONE)
    assert len(found) == 6
    assert sum(sums.requests for sums in found.take().values()) == 100
    assert folded == {"waiting": 95}


def test_all_tenants_and_days_together_are_bounded() -> None:
    found, folded = cells(known=10)
    for turn in range(40):
        found.add(replace(KEY, tenant=f"t{turn % 4}", task=f"{turn}"), ONE)
    assert len(found) <= 14
    assert sum(sums.requests for sums in found.take().values()) == 40
    assert folded == {"keys": 30}
    # Days that are over make room.
    found.add(replace(KEY, day=20_005), ONE)
    found.take()
    found.add(replace(KEY, day=20_005, task="new"), ONE)
    assert replace(KEY, day=20_005, task="new") in found.take()


_words = st.text(max_size=3)


@given(
    st.lists(
        st.builds(CostKey, _words, st.integers(0, 3), _words, _words, _words, _words, _words), max_size=60
    )
)
def test_no_sum_is_lost(keys: list[CostKey]) -> None:
    found, _ = cells(keys=5, models=3, doubtful=1, waiting=8, known=12)
    for turn, key in enumerate(keys):
        found.add(key, CostSums(requests=1, cost=turn, unpriced=turn % 2))
    taken = found.take()
    assert sum(sums.requests for sums in taken.values()) == len(keys)
    assert sum(sums.cost for sums in taken.values()) == sum(range(len(keys)))
    assert Counter(key.tenant for key in keys).keys() == {key.tenant for key in taken}


@pytest.mark.parametrize("takers", [1])
def test_adding_and_taking_from_two_threads(takers: int) -> None:
    found, _ = cells()
    total, done = 0, threading.Event()

    def adding() -> None:
        for turn in range(20_000):
            found.add(replace(KEY, task=str(turn % 7)), ONE)
        done.set()

    thread = threading.Thread(target=adding)
    thread.start()
    while not done.is_set():
        total += sum(sums.requests for sums in found.take().values())
    thread.join()
    assert total + sum(sums.requests for sums in found.take().values()) == 20_000
