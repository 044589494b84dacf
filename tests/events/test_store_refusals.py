"""Events 23, 24 and 25: a store that refuses, is full of odd things, evicts, is flushed, or is put back to an older state."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator

import pytest

from semcache.store.redis_store import RedisStore, StoreRules
from tests.events.resp_liar import lying
from tests.events.store_world import World, every_request, until, world
from tests.events.valkey_node import ValkeyNode
from tests.store.servers import WallClock

ERRORS = [
    "LOADING Valkey is loading the dataset in memory",
    "READONLY You can't write against a read only replica.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "NOAUTH Authentication required.",
    "MOVED 1234 10.0.0.1:6379",
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "MISCONF Errors writing to the AOF file: No space left on device",
    "BUSY Valkey is busy running a script.",
    "NOSCRIPT No matching script.",
    "ERR unknown command",
    "",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("refusals")) as made:
        yield made


@pytest.fixture
def at(built: World) -> Iterator[World]:
    yield built
    built.mend()


def refused(statuses: dict[str, int]) -> dict[str, int]:
    """Give what was answered with a fault of our own; that feedback cannot be taken now is told honestly, by 503."""
    honest = {("feedback", 503)}
    return {
        name: status for name, status in statuses.items() if status >= 500 and (name, status) not in honest
    }


@pytest.mark.event(23)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.split(" ")[0] or "nothing")
def test_whatever_the_server_refuses_the_request_goes_on(at: World, error: str) -> None:
    with lying(error) as liar:
        at.between.target = ("127.0.0.1", liar.port)
        at.between.cut_all()
        for _ in range(2):
            known, fresh = at.fresh(2)
            assert refused(every_request(at.proxy, known, fresh)) == {}
        assert liar.commands
        at.between.target = at.node.address
        at.between.cut_all()


@pytest.mark.event(23)
def test_a_read_only_server_serves_what_it_has_and_drops_what_is_new(at: World) -> None:
    kept, fresh = at.fresh(2)
    at.ask([kept])
    until(lambda: at.remembers(kept), 5)
    before = at.proxy.metric("semcache_cache_faults_total")
    at.node.do("REPLICAOF", "127.0.0.1", at.node.port + 1)
    try:
        at.ask([fresh])
        assert not at.remembers(fresh)
        assert at.remembers(kept)
        assert at.proxy.metric("semcache_cache_faults_total") > before, "counted"
    finally:
        at.node.do("REPLICAOF", "NO", "ONE")
    until(lambda: at.remembers(fresh), 10)


@pytest.mark.event(23)
def test_a_full_server_serves_what_it_has_and_drops_what_is_new(at: World) -> None:
    kept, fresh = at.fresh(2)
    at.ask([kept])
    until(lambda: at.remembers(kept), 5)
    at.node.do("CONFIG", "SET", "maxmemory", "1")
    try:
        assert refused(every_request(at.proxy, kept, fresh)) == {}
        assert not at.remembers(fresh)
    finally:
        at.node.do("CONFIG", "SET", "maxmemory", "0")
    until(lambda: at.remembers(fresh), 10)


@pytest.mark.event(23)
def test_a_password_that_is_asked_for_suddenly(at: World) -> None:
    (fresh,) = at.fresh()
    at.node.do("CONFIG", "SET", "requirepass", "secret")
    at.between.cut_all()
    try:
        assert refused(every_request(at.proxy, fresh, f"{fresh} Really?")) == {}
        assert not at.remembers(fresh)
    finally:
        with at.node.client(password="secret") as client:
            client.config_set("requirepass", "")
    until(lambda: at.remembers(fresh), 15)


@pytest.mark.event(23)
def test_a_key_of_a_wrong_type_anywhere_fails_no_request(at: World) -> None:
    known, fresh = at.fresh(2)
    every_request(at.proxy, known, fresh)
    entry = at.proxy.chat(known).headers["semcache-entry"]
    time.sleep(0.5)
    kinds = one_of_each_kind(at.node, entry)
    assert len(kinds) >= 15, kinds
    for turn, (name, kind) in enumerate(sorted(kinds.items())):
        spoil(at.node, name, kind)
        found = every_request(at.proxy, known, f"{fresh} Or so, {turn}?")
        assert refused(found) == {}, name
        at.node.do("DEL", name)
    assert at.proxy.request("GET", "/livez").status == 200


def one_of_each_kind(node: ValkeyNode, entry: str) -> dict[bytes, str]:
    """Give one key of each kind that the proxy keeps, those of this entry where there are many, and those to come."""
    chosen: dict[bytes, tuple[bytes, str]] = {}
    for name, kind in node.keys().items():
        part = name.split(b":", 2)[2]
        group = part.split(b":")[0]
        if group not in chosen or entry.encode() in part:
            chosen[group] = (name, kind)
    found = dict(chosen.values())
    base = b"sc:{default}:"
    for part in (b"ep", b"d:" + entry.encode(), b"al", b"ah", b"v:" + entry.encode(), b"warm"):
        found.setdefault(base + part, "none")
    with node.client() as client:
        exact = [name for name in client.scan_iter(base + b"k:*") if client.get(name) == entry.encode()]
    for name in exact:
        found[name] = "string"
        for other in (b"x:", b"b:"):
            found.setdefault(name.replace(b":k:", b":" + other, 1), "none")
    return found


def spoil(node: ValkeyNode, name: bytes, kind: str) -> None:
    node.do("DEL", name)
    if kind == "list":
        node.do("SET", name, "odd")
    else:
        node.do("RPUSH", name, "odd", "odder")


@pytest.mark.event(24)
def test_an_evicted_entry_gives_its_place_to_the_next_and_its_vector_goes(at: World) -> None:
    one, other, asked = (f"How {word} I renew my fishing licence?" for word in ("do", "can", "should"))
    at.proxy.chat(one)
    at.proxy.wait_until(lambda: at.proxy.outcome(one) == "exact")
    at.proxy.chat(other, {"cache-control": "no-cache"})
    at.proxy.wait_until(lambda: at.proxy.outcome(other) == "exact")
    looking = {"cache-control": "no-store"}
    at.proxy.wait_until(lambda: at.proxy.outcome(asked, looking) == "semantic")
    before = at.proxy.ready_detail()["vectors"]
    for left in (1, 0):
        served = at.proxy.chat(asked, looking)
        assert served.headers["semcache-outcome"] == "semantic"
        at.node.do("DEL", f"sc:{{default}}:e:{served.headers['semcache-entry']}")
        after = at.proxy.chat(asked, looking)
        assert after.headers["semcache-outcome"] == ("semantic" if left else "miss")
        assert after.headers.get("semcache-entry") != served.headers["semcache-entry"]
    assert at.proxy.ready_detail()["vectors"] == before - 2


@pytest.mark.slow
@pytest.mark.event(24)
def test_a_store_that_evicts_fails_no_request_and_is_told_of(at: World) -> None:
    used = int(at.node.client().info("memory")["used_memory"])
    at.node.do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", used + 150_000)
    try:
        for _ in range(6):
            known, fresh = at.fresh(2)
            assert refused(every_request(at.proxy, known, fresh)) == {}
            assert {one.status for one in at.ask(at.fresh(40), clients=4)} == {200}
        assert int(at.node.client().info("stats")["evicted_keys"]) > 0
        assert asyncio.run(evicts(at.node)) == "allkeys-lru"
    finally:
        at.node.do("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")


async def evicts(node: ValkeyNode) -> str:
    """Ask as a worker does when it starts and each minute; what it hears it logs."""
    store = RedisStore(node.url, WallClock(), StoreRules())
    try:
        return await store.evicts()
    finally:
        await store.aclose()


@pytest.mark.event(25)
def test_flushed_by_somebody_nothing_of_before_is_served(at: World) -> None:
    kept = at.fresh(4)
    at.ask(kept)
    until(lambda: all(map(at.remembers, kept)), 5)
    at.node.do("FLUSHALL")
    time.sleep(1.0)
    looking = {"cache-control": "no-store"}
    assert {at.proxy.outcome(question, looking) for question in kept} == {"miss"}
    until(lambda: at.proxy.ready_detail()["vectors"] == 0, 5)
    until(lambda: at.remembers(kept[0]), 5)


@pytest.mark.slow
@pytest.mark.event(25)
def test_put_back_to_an_older_state_it_is_read_anew_and_told_of(at: World) -> None:
    before, after = at.fresh(2)
    at.ask([before])
    until(lambda: at.remembers(before), 5)
    vectors = at.proxy.ready_detail()["vectors"]
    backup = at.node.home.with_name("backup")
    at.node.kill()
    shutil.copytree(at.node.home / "appendonlydir", backup)
    at.node.start()
    at.mend()
    more = at.fresh(8)
    at.ask([after, *more])
    until(lambda: all(map(at.remembers, [after, *more])), 5)
    at.node.kill()
    shutil.rmtree(at.node.home / "appendonlydir")
    shutil.move(backup, at.node.home / "appendonlydir")
    at.node.start()
    time.sleep(1.0)
    until(lambda: at.remembers(before), 15)
    looking = {"cache-control": "no-store"}
    assert {at.proxy.outcome(question, looking) for question in (after, *more)} == {"miss"}
    until(lambda: at.proxy.ready_detail()["vectors"] <= vectors + 1, 10)
    until(lambda: any("older state" in line for line in at.proxy.stderr), 5)
