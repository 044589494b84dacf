"""The shelf on a real server: what lies there, for how long, and what a flush leaves of it."""

from __future__ import annotations

import pytest

from semcache.errors import StoreError
from semcache.ports import Selector
from semcache.store.embedded import ValkeyChild
from semcache.store.keys import Keys
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore
from semcache.store.warm_shelf import WarmShelf
from tests.store.servers import ACME, command, free_port

KEY = Keys().base(ACME) + b"warm"


async def test_a_flush_removes_the_text_itself_in_the_same_step(store: RedisStore, lone: ValkeyChild) -> None:
    shelf = WarmShelf(lone.url, LinkRules(deadline=5.0))
    assert await shelf.write(ACME, 0, b"secret words")
    assert 13 * 86_400_000 < int(await command(lone.url, "PTTL", KEY)) <= 14 * 86_400_000
    await store.delete(Selector(ACME, tag="some"))
    assert await command(lone.url, "GET", KEY) == b"0:secret words"
    await store.delete(Selector(ACME))
    assert await command(lone.url, "GET", KEY) is None
    await shelf.aclose()


async def test_a_value_of_another_count_is_none(lone: ValkeyChild) -> None:
    shelf = WarmShelf(lone.url, LinkRules(deadline=5.0))
    for value in (b"1:new", b"no count", b":", b""):
        await command(lone.url, "SET", KEY, value)
        assert await shelf.read(ACME) is None
    await shelf.aclose()


async def test_faults_have_names(lone: ValkeyChild) -> None:
    with pytest.raises(StoreError) as failed:
        WarmShelf("http://nowhere", LinkRules())
    assert failed.value.kind == "config"
    gone = WarmShelf(f"redis://127.0.0.1:{free_port()}", LinkRules())
    for call in (
        gone.read(ACME),
        gone.tenants(),
        gone.epoch(ACME),
        gone.write(ACME, 0, b""),
        gone.lease("a", 1),
    ):
        with pytest.raises(StoreError):
            await call
    await gone.aclose()
    shelf = WarmShelf(lone.url, LinkRules(deadline=5.0))
    await command(lone.url, "LPUSH", KEY, "x")
    with pytest.raises(StoreError):
        await shelf.read(ACME)
    await shelf.aclose()
