"""Whatever fails and whoever leads: each alarm is told as raised and over in turn, and the shelf says what was told last."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.alarming.hysteresis import Place
from semcache.alarming.looking import read
from semcache.alarming.rules import DAY
from tests.alarming.world import ACME, RULES, World

METHODS = ("lead", "load", "save", "put", "raised")
PARTS = ("shelf", "book", "budgets", "evidence")

events = st.one_of(
    st.tuples(st.just("look"), st.integers(0, 2)),
    st.tuples(st.just("spend"), st.integers(0, 400)),
    st.tuples(st.just("unpriced"), st.integers(0, 3)),
    st.tuples(st.just("break"), st.sampled_from(METHODS)),
    st.tuples(st.just("away"), st.sampled_from(PARTS)),
    st.tuples(st.just("mend"), st.just(0)),
    st.tuples(st.just("stop"), st.integers(0, 2)),
    st.tuples(st.just("wait"), st.sampled_from([30, 200, 4000, int(DAY)])),
)


class Play:
    """Three workers, and what befalls them."""

    def __init__(self) -> None:
        self.world = World()
        self.workers = [self.world.worker(name) for name in "abc"]

    async def go_on(self, what: str, how: object) -> None:
        world = self.world
        match what, how:
            case "look", int(which):
                await self.workers[which].look()
            case "stop", int(which):
                await self.workers[which].alarms.stop()
            case "spend", int(money) if not world.budgets.away:
                await world.spend(money)
            case "unpriced", int(count):
                world.traffic(0, count + 1, unpriced=count)
            case "break", str(method):
                world.shelf.broken = {*world.shelf.broken, method}
            case "away", str(part):
                getattr(world, part).away = True
            case "wait", int(seconds):
                world.clock.at += seconds
            case "mend", _:
                self.mend()

    def mend(self) -> None:
        self.world.shelf.broken = set()
        for part in PARTS:
            getattr(self.world, part).away = False

    def told(self) -> dict[Place, list[bool]]:
        """Each alarm's changes in order, whoever told them."""
        posts = [(one.at, at, one) for worker in self.workers for at, one in enumerate(worker.posts.sent)]
        places: dict[Place, list[bool]] = defaultdict(list)
        for _, _, alarm in sorted(posts, key=lambda post: post[:2]):
            places[alarm.kind, alarm.subject].append(alarm.is_raised)
        return places


async def play(story: list[tuple[str, object]]) -> None:
    scene = Play()
    for what, how in story:
        await scene.go_on(what, how)
    scene.mend()
    scene.world.clock.at += 1000
    await scene.workers[0].look(3)
    told = scene.told()
    for states in told.values():
        assert states[0]
        # A leader that could not write down what it knew leaves the next one to find out anew: told twice that it is
        # raised, but never that it is over.
        assert all(before or after for before, after in pairwise(states))
    standing = {(one.kind, one.subject) for one in await scene.world.shelf.raised()}
    assert standing == {place for place, states in told.items() if states[-1]}
    known = read(scene.world.shelf.known.get(ACME, ""), RULES)
    assert standing == {place for place, level in known.levels.items() if level.is_raised}


@settings(max_examples=150, deadline=None)
@given(st.lists(events, max_size=60))
def test_what_is_told_is_what_stands(story: list[tuple[str, object]]) -> None:
    asyncio.run(play(story))
