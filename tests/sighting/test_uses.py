"""What served answers saved, added up and told to the store."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from semcache.core import Directives, EntryId, TenantId
from semcache.errors import StoreError
from semcache.sighting.uses import UseRules, Uses
from semcache.store.worth import made_for
from tests.sighting.scene import ACME, Scene, answered, draft

Told = list[tuple[TenantId, Mapping[EntryId, float]]]


class Shelf:
    def __init__(self) -> None:
        self.told: Told = []
        self.fault: StoreError | None = None

    async def use(self, tenant: TenantId, uses: Mapping[EntryId, float]) -> None:
        if self.fault:
            raise self.fault
        self.told.append((tenant, dict(uses)))


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


async def test_hits_and_drafts_are_added_up_and_told_once(shelf: Shelf) -> None:
    scene, uses = Scene(), Uses(shelf.use)
    hit, other = scene.equal(worth=40.0), scene.equal(id=EntryId("e2"), worth=8.0)
    for _ in range(3):
        uses.on_served(scene.step(hit), hit, "r1")
    uses.on_served(scene.step(other), other, "r2")
    near = draft(scene)
    uses.on_decided(scene.step(near))
    assert uses.watching(scene.step(hit), hit, "r1", keep=None) is None  # type: ignore[arg-type]  # handed on as it is
    await uses.flush()
    await uses.flush()
    assert shelf.told == [(ACME, {EntryId("e1"): 120.0, EntryId("e2"): 8.0})]
    uses.on_revised(scene.step(near), near, answered("x"), "r3")
    await uses.flush()
    (_, told) = shelf.told[1]
    assert told == {EntryId("e1"): 0.5 * made_for(near.entry)}


async def test_what_nobody_may_remember_is_not_counted(shelf: Shelf) -> None:
    scene, uses = Scene(), Uses(shelf.use)
    hit = scene.equal()
    uses.on_served(scene.step(hit, directives=Directives(no_store=True)), hit, "r1")
    await uses.flush()
    assert shelf.told == []


async def test_what_waits_is_bounded_and_lost_without_the_store(shelf: Shelf) -> None:
    scene, uses = Scene(), Uses(shelf.use, UseRules(waiting=2))
    hits = [scene.equal(id=EntryId(f"e{n}"), worth=1.0) for n in range(5)]
    for hit in (*hits, hits[0]):
        uses.on_served(scene.step(hit), hit, "r1")
    shelf.fault = StoreError("away")
    await uses.flush()
    shelf.fault = None
    await uses.flush()
    assert shelf.told == []
    for hit in (*hits, hits[0]):
        uses.on_served(scene.step(hit), hit, "r1")
    await uses.flush()
    assert shelf.told == [(ACME, {EntryId("e0"): 2.0, EntryId("e1"): 1.0})]
