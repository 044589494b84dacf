"""A store that remembers for its only user: no way to the server for what is plain, all ways as soon as anything is not."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, cast

import pytest

from semcache.core import EntryId, Epochs, ExactKey, ReviewStatus
from semcache.evaluate.sole import SoleStore
from semcache.ports import Selector
from semcache.store.packing import Quota
from semcache.store.redis_store import RedisStore
from tests.fakes.entry_store import FakeEntryStore
from tests.store.servers import ACME, WallClock, entry

Doing = Callable[[SoleStore], Coroutine[Any, Any, Any]]


def made(quota: Quota | None = None, most: int = 100) -> tuple[SoleStore, FakeEntryStore]:
    clock = WallClock()
    inner = FakeEntryStore(clock)
    return SoleStore(cast("RedisStore", inner), clock, quota, most), inner


async def test_reads_of_what_was_put_need_no_server() -> None:
    sole, inner = made()
    one = entry()
    assert await sole.put(one)
    assert (await sole.lookup(ACME, one.key, ["", "x"])) == (one, Epochs())
    assert await sole.get_many(ACME, [one.id]) == [one]
    assert await sole.get_exact(ACME, ExactKey("ff" * 32)) is None
    assert await sole.epochs(ACME, [""]) == Epochs()
    assert inner.calls == ["put"]


async def test_what_is_not_remembered_any_more_is_read() -> None:
    sole, inner = made(most=1)
    one = entry()
    other = replace(one, id=EntryId("b2"), key=ExactKey("ab" * 32))
    assert await sole.put(one)
    assert await sole.put(other)
    first, second = await sole.get_many(ACME, [one.id, other.id])
    assert (first.id if first else None, second) == (one.id, other)
    assert (await sole.get_exact(ACME, one.key)) is not None
    assert inner.calls[2:] == ["get_many", "lookup"]


@pytest.mark.parametrize(
    "doing",
    [
        lambda sole: sole.delete(Selector(ACME, tag="t")),
        lambda sole: sole.tidy(),
        lambda sole: sole.put(entry(status=ReviewStatus.APPROVED)),
        lambda sole: sole.put(entry()),
        lambda sole: sole.put(replace(entry(), id=EntryId("c3"), expires_at=0.0)),
    ],
    ids=["delete", "tidy", "judged", "again", "refused"],
)
async def test_what_a_server_decides_by_itself_ends_the_trust(doing: Doing) -> None:
    sole, inner = made()
    assert await sole.put(entry())
    assert sole.is_trusted
    await doing(sole)
    assert not sole.is_trusted
    inner.calls.clear()
    await sole.lookup(ACME, entry().key, [])
    await sole.get_many(ACME, [entry().id])
    await sole.epochs(ACME, [""])
    assert inner.calls == ["lookup", "get_many", "epochs"]


@pytest.mark.parametrize("quota", [Quota(entries=5, bytes=1 << 30), Quota(entries=100, bytes=4_000)])
async def test_half_a_quota_ends_it_too(quota: Quota) -> None:
    sole, _ = made(quota)
    for number in range(6):
        assert await sole.put(replace(entry(), id=EntryId(f"a{number}"), key=ExactKey(f"{number:064x}")))
    assert not sole.is_trusted
