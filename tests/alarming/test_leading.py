"""Several workers and one shelf: who looks, who goes on, and what a shelf that is away costs."""

from __future__ import annotations

import pytest

from semcache.alarming.rules import DAY
from semcache.evidence_port import Alarm
from tests.alarming.world import ACME, World, low_for


async def test_one_of_all_workers_looks_and_the_others_show() -> None:
    world = World()
    first, second = world.worker("a"), world.worker("b")
    await world.spend(600)
    await first.look()
    await second.look()
    assert first.told == [("budget", "team 50%", True)]
    assert second.told == []
    assert second.tell.alarms == first.tell.alarms != ()
    assert second.tell.used == [("acme", "team", 0.6)]


async def test_another_leader_goes_on_where_the_last_one_stopped() -> None:
    world = World()
    first, second = world.worker("a"), world.worker("b")
    await world.spend(600)
    await first.look()
    await low_for(world, first, 0.9)
    await second.look()
    assert second.told == []
    await first.alarms.stop()
    await low_for(world, second, 0.4)
    assert first.told == [("budget", "team 50%", True)]
    # What was low for almost an hour under the first is an alarm soon after.
    assert second.told == [("hit_ratio_low", "", True)]


async def test_a_leader_that_was_away_reads_what_another_knew() -> None:
    world = World()
    first, second = world.worker("a"), world.worker("b")
    await first.look()
    world.clock.at += 1000
    await world.spend(600)
    await second.look()
    assert second.told == [("budget", "team 50%", True)]
    world.clock.at += 1000
    await first.look()
    assert first.told == []
    assert [alarm.subject for alarm in first.tell.alarms] == ["team 50%"]


@pytest.mark.parametrize("part", ["book", "budgets", "evidence"])
async def test_a_part_that_fails_does_not_stop_the_others(part: str) -> None:
    world = World()
    worker = world.worker("a")
    await worker.look()
    getattr(world, part).away = True
    await world.spend(600) if part != "budgets" else None
    world.evidence.alarms[ACME, "chat"] = Alarm(world.clock.at, "closed")
    world.evidence.words[ACME, "chat"][1, "exact"] = 1
    world.traffic(0, 200, unpriced=3)
    await worker.look(2)
    expected = {
        ("price_unknown", "m", True): "book",
        ("budget", "team 50%", True): "budgets",
        ("bound_broken", "chat", True): "evidence",
    }
    assert set(worker.told) == {change for change, source in expected.items() if source != part}
    assert worker.tell.faults
    getattr(world, part).away = False
    if part == "budgets":
        await world.spend(600)
    await worker.look(2)
    assert set(worker.told) == set(expected)


async def test_a_change_that_cannot_be_written_down_comes_later_and_once() -> None:
    world = World()
    worker = world.worker("a")
    await worker.look()
    world.shelf.broken = {"put"}
    await world.spend(600)
    await worker.look(5)
    assert worker.told == []
    assert worker.tell.changes == []
    assert worker.tell.faults["shelf"] == 5
    world.shelf.broken = set()
    await worker.look(3)
    assert worker.told == [("budget", "team 50%", True)]


async def test_what_is_known_need_not_be_saved_to_be_remembered() -> None:
    world = World()
    worker = world.worker("a")
    world.shelf.broken = {"save"}
    await world.spend(600)
    await worker.look(5)
    assert worker.told == [("budget", "team 50%", True)]
    assert worker.tell.faults["shelf"] == 5
    world.shelf.broken = set()
    await worker.look()
    assert "team 50%" in world.shelf.known[ACME]


async def test_what_a_leader_left_behind_is_over_in_its_time() -> None:
    world = World()
    world.evidence.words[ACME, "chat"][1, "exact"] = 1
    world.evidence.alarms[ACME, "chat"] = Alarm(world.clock.at, "closed")
    first, second = world.worker("a"), world.worker("b")
    await second.look()
    world.shelf.broken = {"save"}
    await second.alarms.stop()
    await world.spend(600)
    await first.look()
    assert len(await world.shelf.raised()) == 2
    world.shelf.known.clear()
    world.shelf.broken = set()
    await first.alarms.stop()
    world.clock.at += DAY
    # Nothing is known of them but what the shelf says.
    await second.look(3)
    assert await world.shelf.raised() == ()
    assert [one[2] for one in second.told[-2:]] == [False, False]


async def test_a_shelf_that_was_emptied_is_filled_again_and_nobody_is_told() -> None:
    world = World()
    worker = world.worker("a")
    await world.spend(600)
    await worker.look(2)
    world.shelf.standing.clear()
    world.shelf.listed.clear()
    await worker.look()
    assert [one.subject for one in await world.shelf.raised()] == ["team 50%"]
    assert [one.subject for one in worker.tell.alarms] == ["team 50%"]
    assert len(worker.told) == 1


@pytest.mark.parametrize("broken", ["lead", "load", "raised"])
async def test_a_shelf_that_is_away_costs_nothing_but_time(broken: str) -> None:
    world = World()
    worker = world.worker("a")
    world.shelf.broken = {broken}
    await world.spend(600)
    await worker.look(3)
    world.shelf.broken = set()
    await worker.look()
    assert worker.told == [("budget", "team 50%", True)]
    assert worker.tell.faults


async def test_a_store_that_is_away_altogether() -> None:
    world = World()
    worker = world.worker("a")
    for part in (world.shelf, world.book, world.budgets, world.evidence):
        part.away = True
    await worker.look(3)
    await worker.alarms.stop()
    assert worker.told == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"v": 2}', '{"v": 1, "levels": 7, "trail": [], "grown": "x"}']
)
async def test_what_another_release_left_begins_anew(text: str) -> None:
    world = World()
    world.shelf.known[ACME] = text
    worker = world.worker("a")
    await world.spend(600)
    await worker.look()
    assert worker.told == [("budget", "team 50%", True)]
