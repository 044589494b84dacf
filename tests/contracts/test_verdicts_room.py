"""Verified answers where room is short, on Valkey and in the fake alike."""

from __future__ import annotations

import random

from semcache.core import (
    Completion,
    Entry,
    EntryId,
    ReviewStatus,
)
from semcache.ports import Selector
from tests.contracts.test_entry_store import is_live
from tests.contracts.verdicts import (
    QUOTA,
    Subject,
    act,
    at,
    changed,
    clock,
)
from tests.store.servers import ACME, cluster, entry, valkey

__all__ = ["at", "clock", "cluster", "valkey"]  # fixtures, used by name


async def test_an_unverified_answer_pushes_no_verified_one_out(at: Subject) -> None:
    for turn in range(QUOTA.entries + 5):
        made = entry(f"e{turn}")
        assert await at.store.put(made)
        if turn % 2:
            assert await at.verdicts.apply(made, changed(made), act())
    verified = [f"e{turn}" for turn in range(1, QUOTA.entries + 5, 2)]
    for turn in range(QUOTA.entries):
        assert await at.store.put(entry(f"f{turn}"))
    left = [one.id async for one in at.store.scan(ACME)]
    assert len(left) == QUOTA.entries
    assert set(verified) <= set(left)
    assert "f39" in left
    listed = [one.id for one in (await at.store.list_entries(Selector(ACME), limit=3)).entries]
    assert listed == ["f39", "f38", "f37"]


async def test_in_a_tenant_full_of_verified_answers_the_newcomer_goes(at: Subject) -> None:
    for turn in range(QUOTA.entries):
        assert await at.store.put(entry(f"e{turn}", status=ReviewStatus.APPROVED))
    newcomer = entry("new")
    assert not await at.store.put(newcomer)
    assert not await is_live(at.store, newcomer)
    assert (await at.store.counts(ACME)).entries == QUOTA.entries
    assert await at.store.put(entry("v", status=ReviewStatus.EDITED)), "verified ones follow each other"
    assert await at.store.get_many(ACME, [EntryId("e0")]) == [None]
    pages, cursor = [], ""
    while True:
        page = await at.store.list_entries(Selector(ACME), cursor, 7)
        pages += [one.id for one in page.entries]
        cursor = page.cursor
        if not cursor:
            break
    assert pages == ["v", *(f"e{turn}" for turn in range(QUOTA.entries - 1, 0, -1))]


async def test_bytes_crowd_out_unverified_answers_first(at: Subject) -> None:
    noise = random.Random(1).randbytes

    def big(name: str, **changes: object) -> Entry:
        return entry(name, completion=Completion(noise(60_000), None), **changes)

    assert await at.store.put(big("kept", status=ReviewStatus.APPROVED))
    for turn in range(9):
        assert await at.store.put(big(f"e{turn}"))
    assert {one.id async for one in at.store.scan(ACME)} == {"kept", *(f"e{turn}" for turn in range(4, 9))}
