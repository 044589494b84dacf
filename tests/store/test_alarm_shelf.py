"""What only the shelf in Redis can meet: values that another release wrote, or somebody else, and replies of no shape."""

from __future__ import annotations

import uuid

import pytest

from semcache.core import TenantId
from semcache.cost_port import AlarmKind, CostAlarm
from semcache.errors import StoreError
from semcache.store.alarm_shelf import RedisAlarmShelf
from semcache.store.embedded import ValkeyChild
from semcache.store.link import LinkRules
from tests.store.servers import command, valkey

__all__ = ["valkey"]

LOW = CostAlarm("acme", AlarmKind.HIT_RATIO_LOW, "", True, 100.0, 160.5, float("nan"), 0.05, "low")
ODD = (
    b"",
    b"{",
    b"[]",
    b'["nope","s","t",true,1,1,1,1]',
    b'["budget","s","t",true,1,1,1]',
    b'["budget","s","t",true,1,1,"x",1]',
    b"\xff",
)


async def test_unreadable_values_are_left_out(valkey: ValkeyChild) -> None:
    prefix = uuid.uuid4().hex
    shelf = RedisAlarmShelf(valkey.url, LinkRules(deadline=5.0), prefix)
    await shelf.put([LOW])
    for at, value in enumerate(ODD):
        await command(valkey.url, "HSET", f"{prefix}:{{acme}}:alr", f"odd{at}", value)
        await command(valkey.url, "LPUSH", f"{prefix}:{{acme}}:all", value)
    found = await shelf.alarms(TenantId("acme"))
    # A value that is no number is written as 0: it would be unreadable to everybody.
    assert [(one.kind, one.value) for one in found] == [(LOW.kind, 0.0)]
    assert await shelf.raised() == found
    await shelf.aclose()


async def test_keys_of_another_kind_are_a_fault_of_the_store(valkey: ValkeyChild) -> None:
    prefix = uuid.uuid4().hex
    shelf = RedisAlarmShelf(valkey.url, LinkRules(deadline=5.0), prefix)
    for name in ("{acme}:alr", "{!}:alarm-known", "{!}:alarm-tenants"):
        await command(valkey.url, "SET", f"{prefix}:{name}", "x")
    for work in (
        shelf.alarms(TenantId("acme")),
        shelf.load(),
        shelf.raised(),
        shelf.put([LOW]),
        shelf.save({"a": "b"}),
    ):
        with pytest.raises(StoreError):
            await work
    await shelf.aclose()


async def test_a_server_that_is_away_is_named(tmp_path: object) -> None:
    shelf = RedisAlarmShelf(f"unix://{tmp_path}/none", LinkRules(deadline=1.0))
    with pytest.raises(StoreError) as caught:
        await shelf.lead("w", 1)
    assert caught.value.kind == "down"
    await shelf.aclose()
