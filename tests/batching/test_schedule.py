"""What begins alike is computed once: one request at a time has to do it, and the others wait for it."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.batching.lines import Item
from semcache.batching.marks import marks_of
from semcache.batching.schedule import Schedule


def item(index: int, *texts: str) -> Item:
    messages = [{"role": "user", "content": text + "." * 600} for text in texts]
    marks = marks_of({"model": "m", "messages": messages})
    return Item(index, index + 1, 0, 0, f"r{index}", marks, b"")


def test_the_second_of_a_group_waits_for_the_first() -> None:
    schedule = Schedule([item(0, "head", "a"), item(1, "head", "b"), item(2, "head", "c")])
    first = schedule.take()
    assert first is not None
    assert schedule.take() is None
    schedule.done(first, answered=True)
    assert [schedule.take(), schedule.take()].count(None) == 0
    assert schedule.is_empty


def test_after_a_failure_another_one_leads() -> None:
    schedule = Schedule([item(0, "head", "a"), item(1, "head", "b"), item(2, "head", "c")])
    first = schedule.take()
    assert first is not None
    schedule.done(first, answered=False)
    assert schedule.take() is not None
    assert schedule.take() is None


def test_few_groups_are_begun_at_a_time_and_loners_are_none() -> None:
    groups = [item(2 * n + k, f"head {n}", str(k)) for n in range(5) for k in range(2)]
    loners = [item(100 + n, f"alone {n}") for n in range(3)]
    schedule, taken = Schedule([*groups, *loners], leaders=2), list[Item]()
    while (one := schedule.take()) is not None:
        taken.append(one)
    assert sum(one.index < 100 for one in taken) == 2
    assert sum(one.index >= 100 for one in taken) == 3


def test_in_the_order_of_the_file_nobody_waits() -> None:
    items = [item(n, "head", str(n)) for n in range(5)]
    schedule = Schedule(items, by_prefix=False)
    assert [schedule.take() for _ in items] == items


cases = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=25)


@given(cases, st.integers(1, 6), st.integers(0, 2**16))
def test_everything_goes_out_once_and_every_beginning_is_computed_once(
    prompts: list[list[str]], at_once: int, seed: int
) -> None:
    """Whatever is under way never computes a shared beginning that another one computes at the same time."""
    schedule = Schedule([item(n, *texts) for n, texts in enumerate(prompts)])
    chance, running, seen = random.Random(seed), list[Item](), list[int]()
    computed: list[tuple[str, ...]] = []
    known: set[tuple[str, ...]] = set()
    while running or not schedule.is_empty:
        while len(running) < at_once and (one := schedule.take()) is not None:
            running.append(one)
            seen.append(one.index)
            texts = prompts[one.index]
            computed += [head for n in range(1, len(texts) + 1) if (head := tuple(texts[:n])) not in known]
        assert running
        one = running.pop(chance.randrange(len(running)))
        known |= {tuple(prompts[one.index][:n]) for n in range(1, len(prompts[one.index]) + 1)}
        schedule.done(one, answered=True)
    assert sorted(seen) == list(range(len(prompts)))
    assert len(computed) == len(set(computed))


@pytest.mark.parametrize("count", [1000])
def test_groups_go_out_together(count: int) -> None:
    items = [item(n, f"document {n % 10} " * 200, str(n)) for n in range(count)]
    random.Random(1).shuffle(items)
    schedule, order = Schedule(items), list[int]()
    while (one := schedule.take()) is not None:
        order.append(one.index % 10)
        schedule.done(one, answered=True)
    changes = sum(a != b for a, b in pairwise(order))
    assert len(order) == count
    assert changes == 9
