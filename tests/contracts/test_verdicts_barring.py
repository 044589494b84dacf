"""Questions that verdicts bar from an answer, on Valkey and in the fake alike."""

from __future__ import annotations

import pytest

from semcache.core import (
    EntryId,
    ExactKey,
)
from semcache.errors import StoreError
from semcache.ports import Selector
from semcache.review_port import Pair
from semcache.review_rules import AUTHOR, WHOLE
from semcache.store.lua_verdict import MOST_BARRED
from tests.contracts.test_entry_store import born
from tests.contracts.verdicts import (
    OTHER,
    Subject,
    act,
    at,
    changed,
    clock,
    seen,
)
from tests.store.servers import ACME, cluster, entry, same, valkey

__all__ = ["at", "clock", "cluster", "valkey"]  # fixtures, used by name


async def test_barred_questions_come_with_every_read(at: Subject) -> None:
    made = entry()
    assert await at.store.put(made)
    pair = Pair(made.key, "aa" * 12)
    assert await at.verdicts.bar(ACME, made.id, pair, act("bar"))
    assert not await at.second.bar(ACME, made.id, pair, act("bar"))
    await at.store.put(entry("e2"))
    expected = {"aa" * 12}
    by_key, _ = await at.store.lookup(ACME, made.key, [""])
    none, by_id, plain = await at.store.get_many(ACME, [EntryId("none"), made.id, EntryId("e2")])
    scanned = {one.id: one async for one in at.store.scan(ACME)}
    listed = {one.id: one for one in (await at.store.list_entries(Selector(ACME))).entries}
    named = (await at.store.list_entries(Selector(ACME, ids=(made.id,)))).entries[0]
    shown = await at.store.show(ACME, made.id)
    assert none is None
    for found in (by_key, by_id, scanned["e1"], listed["e1"], named, shown, await seen(at, made)):
        assert found is not None
        assert found.barred == expected
    for found in (plain, scanned["e2"], listed["e2"]):
        assert found is not None
        assert found.barred == frozenset()
    assert len((await at.verdicts.log(ACME)).lines) == 1, "what was so already is not written again"


async def test_barred_questions_outlive_their_entry(at: Subject) -> None:
    made = entry()
    assert await at.store.put(made)
    assert await at.verdicts.bar(ACME, made.id, Pair(made.key, "aa"), act("bar"))
    assert await at.store.delete(Selector(ACME)) == 1
    assert await at.verdicts.bar(ACME, made.id, Pair(made.key, "bb"), act("bar")), "though it is gone"
    again = await born(at.store, entry("e2", key=made.key))
    assert await at.store.put(again)
    (found,) = await at.store.get_many(ACME, [again.id])
    assert found is not None
    assert found.barred == {"aa", "bb"}
    assert (await at.store.lookup(OTHER, made.key, [""]))[0] is None


async def test_a_verdict_bars_and_unbars(at: Subject) -> None:
    made = entry()
    assert await at.store.put(made)
    assert await at.verdicts.bar(ACME, made.id, Pair(made.key, WHOLE), act("bar"))
    found = await seen(at, made)
    assert await at.verdicts.apply(found, changed(found), act(), bar=("aa", AUTHOR), unbar=(WHOLE, "zz"))
    found = await seen(at, made)
    assert found.barred == {"aa", AUTHOR}
    moved = changed(found, key=ExactKey("moved"))
    assert await at.verdicts.apply(found, moved, act("narrow"), bar=("bb",))
    live = await at.store.get_exact(ACME, ExactKey("moved"))
    assert live is not None
    assert live.barred == {"aa", "bb", AUTHOR}
    assert await at.store.get_exact(ACME, made.key) is None


async def test_with_too_many_barred_questions_the_entry_is_barred_for_good(at: Subject) -> None:
    made = entry()
    assert await at.store.put(made)
    many = [f"{turn:024x}" for turn in range(MOST_BARRED)]
    assert await at.verdicts.apply(made, changed(made), act("bar"), bar=many)
    found = await seen(at, made)
    assert found.barred == set(many)
    assert await at.verdicts.bar(ACME, made.id, Pair(made.key, AUTHOR), act("bar"))
    assert await at.verdicts.bar(ACME, made.id, Pair(made.key, "ff" * 12), act("bar"))
    assert not await at.verdicts.bar(ACME, made.id, Pair(made.key, "ee" * 12), act("bar"))
    found = await seen(at, made)
    assert found.barred == {*many, AUTHOR, WHOLE}
    assert await at.verdicts.apply(found, changed(found), act("unbar"), unbar=(WHOLE, many[0]))
    assert WHOLE in (await seen(at, made)).barred, "who knows which others there were"


@pytest.mark.parametrize("asked", ["", "+", "x" * 129, "a\nb", "\ud800"])
async def test_odd_questions_are_refused(at: Subject, asked: str) -> None:
    made = entry()
    assert await at.store.put(made)
    with pytest.raises(StoreError) as refused:
        await at.verdicts.bar(ACME, made.id, Pair(made.key, asked), act("bar"))
    assert refused.value.kind == "invalid"
    with pytest.raises(StoreError):
        await at.verdicts.apply(made, changed(made), act(), unbar=(asked,))
    assert same(await seen(at, made), made)
