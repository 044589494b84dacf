"""The cache breaks in every way it can; requests go on. Real processes, really killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import namespace_of
from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import UpstreamServer


@pytest.fixture(scope="module")
def broken(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy that tests may break: each finds it as whole as it was before the one that broke it last."""
    with running(tmp_path_factory.mktemp("faults") / "data", "--upstream", upstream.url) as started:
        yield started


@pytest.fixture
def own(broken: Proxy, request: pytest.FixtureRequest) -> Proxy:
    broken.wait_until(lambda: broken.ready_detail()["status"] == "ready", 30)
    broken.namespace = namespace_of(request)
    return broken


@pytest.mark.event(21)
def test_valkey_killed(own: Proxy, upstream: UpstreamServer) -> None:
    assert own.outcome("Before the fall?") == "miss"
    own.child("valkey-server").kill()
    time.sleep(0.1)
    replies = [own.chat(f"During the fall {number}?") for number in range(5)]
    assert {reply.status for reply in replies} == {200}
    own.wait_until(lambda: own.outcome("After the fall?") == "exact", patience=20)
    own.wait_until(lambda: own.outcome("Before the fall?") == "exact", patience=20)
    assert own.metric("semcache_cache_faults_total") >= 1


@pytest.mark.event(22)
def test_valkey_frozen(own: Proxy, upstream: UpstreamServer) -> None:
    own.chat("Before the frost?")
    valkey = own.child("valkey-server")
    valkey.suspend()
    try:
        began = time.monotonic()
        replies = [own.chat(f"In the frost {number}?") for number in range(10)]
        took = time.monotonic() - began
        assert {reply.status for reply in replies} == {200}
        assert took < 10 * 0.6
        time.sleep(2.2)
        assert own.outcome("Before the frost?") == "miss"
        assert own.request("GET", "/livez").status == 200
        ready = own.request("GET", "/readyz")
        assert (ready.status, "store" in ready.json()["degraded"]) == (200, True)
    finally:
        valkey.resume()
    own.wait_until(lambda: own.ready_detail()["status"] == "ready", patience=20)
    own.wait_until(lambda: own.outcome("After the frost?") == "exact")


@pytest.mark.event(23)
def test_valkey_read_only(own: Proxy) -> None:
    import redis

    own.chat("Before it was read-only?")
    store = redis.Redis(unix_socket_path=str(own.data / "valkey" / "s"))
    store.config_set("min-replicas-to-write", "1")
    reply = own.chat("Can this be written?")
    assert reply.status == 200
    assert "stored" not in reply.headers["cache-status"]
    assert own.outcome("Before it was read-only?") == "exact"
    store.config_set("min-replicas-to-write", "0")
    own.wait_until(lambda: own.outcome("Can this be written?") == "exact")
    store.close()


@pytest.mark.event(25)
def test_the_store_is_flushed_while_the_proxy_runs(own: Proxy) -> None:
    import redis

    before = own.ready_detail()["vectors"]
    own.chat("Will this be flushed?")
    own.wait_until(lambda: own.ready_detail()["vectors"] > before)
    store = redis.Redis(unix_socket_path=str(own.data / "valkey" / "s"))
    store.flushall()
    store.close()
    own.wait_until(lambda: own.outcome("Will this be flushed at all?") == "miss")
    own.wait_until(lambda: own.outcome("Will this be flushed at all?") == "exact")


@pytest.mark.event(30)
def test_no_encoder_at_all(upstream: UpstreamServer, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "semcache-model.json").write_text("{")
    proxy = Proxy(
        tmp_path / "data",
        ["--upstream", upstream.url],
        {"SEMCACHE_ENCODER__LATIN": str(broken), "SEMCACHE_ENCODER__MULTILINGUAL": str(broken)},
    )
    proxy.start()
    try:
        assert proxy.outcome("Without an encoder?") == "miss"
        proxy.wait_until(lambda: proxy.outcome("Without an encoder?") == "exact")
        assert proxy.outcome("Without any encoder?") == "miss"
        assert "encoder" in proxy.ready_detail()["degraded"]
    finally:
        proxy.stop()


def test_an_encoder_that_is_always_late(upstream: UpstreamServer, tmp_path: Path) -> None:
    proxy = Proxy(tmp_path / "data", ["--upstream", upstream.url], {"SEMCACHE_ENCODER__DEADLINE": "0.000001"})
    proxy.start()
    try:
        assert proxy.outcome("A late one?") == "miss"
        proxy.wait_until(lambda: proxy.outcome("A late one?") == "exact")
        reply = proxy.chat("Another late one?")
        assert reply.status == 200
        assert proxy.metric("semcache_cache_faults_total") >= 1
    finally:
        proxy.stop()


@pytest.mark.event(43)
def test_nothing_is_left_behind(upstream: UpstreamServer, tmp_path: Path) -> None:
    with running(tmp_path / "data", "--upstream", upstream.url) as proxy:
        children = [proxy.child("valkey-server")]
        assert proxy.stop(signal.SIGTERM) == 0
        for child in children:
            assert not child.is_running()


@pytest.mark.event(27)
def test_killed_without_mercy_it_starts_again_with_everything_acknowledged(
    upstream: UpstreamServer, tmp_path: Path
) -> None:
    with running(tmp_path / "data", "--upstream", upstream.url) as proxy:
        for number in range(20):
            proxy.chat(f"Remember number {number}?")
        assert proxy.process is not None
        proxy.process.kill()
        proxy.process.wait()
        time.sleep(0.5)
        proxy.stderr.clear()
        proxy.start()
        proxy.wait_until(lambda: proxy.ready_detail()["status"] == "ready")
        assert [proxy.outcome(f"Remember number {number}?") for number in range(20)] == ["exact"] * 20
