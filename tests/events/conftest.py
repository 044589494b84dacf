"""One proxy for the events of the network: tenants with keys, upstreams of three protocols, short deadlines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.running import Proxy, calm_policies, running
from tests.e2e.tenants import BETA, policy
from tests.events.answers import answering
from tests.events.faultproxy import FaultProxy, Faults, fault_proxy
from tests.fakes.upstream_server import ByRequest, UpstreamServer, in_thread

IDLE, HEAD, WRITE = 1, 2, 1
"""Seconds: between two parts of a reply, until its head, until a client takes something."""


@pytest.fixture(scope="package")
def upstream() -> Iterator[UpstreamServer]:
    with in_thread(ByRequest(answering)) as server:
        yield server


@pytest.fixture(scope="package")
def between(upstream: UpstreamServer) -> Iterator[FaultProxy]:
    """What stands between the proxy and its upstream `broken`."""
    with fault_proxy(("127.0.0.1", upstream.port)) as started:
        yield started


def configured(upstream: UpstreamServer, between: FaultProxy) -> dict[str, Any]:
    limits = {"connect_timeout": 4, "first_byte_timeout": HEAD, "idle_timeout": IDLE}
    origin = upstream.origin
    return {
        "default_upstream": "main",
        "upstreams": {
            "main": {"base_url": upstream.url, **limits, "first_byte_timeout": 10},
            "hurried": {"base_url": upstream.url, **limits},
            "messages": {
                "base_url": origin,
                "protocol": "anthropic",
                "speaks": ["anthropic.messages"],
                **limits,
            },
            "ollama": {"base_url": origin, "protocol": "ollama", "speaks": ["ollama.chat"], **limits},
            "broken": {"base_url": f"http://127.0.0.1:{between.address[1]}/v1", **limits},
            "nameless": {"base_url": "http://no-such-host.invalid/v1", **limits},
            "secure": {"base_url": f"https://127.0.0.1:{between.address[1]}/v1", **limits},
            "narrow": {"base_url": upstream.url, "max_connections": 2, "max_concurrent": 2, "max_queue": 2}
            | limits
            | {"queue_seconds": 1},
        },
    }


@pytest.fixture(scope="package")
def proxy(
    upstream: UpstreamServer, between: FaultProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("events")
    config = folder / "semcache.yaml"
    config.write_text(json.dumps(configured(upstream, between)))
    policies = calm_policies(folder / "policies")
    (policies / "beta.yaml").write_text(policy("beta", BETA))
    limits = {
        "SEMCACHE_LIMITS__HEADER_SECONDS": "2",
        "SEMCACHE_LIMITS__BODY_SECONDS": "2",
        "SEMCACHE_LIMITS__WRITE_SECONDS": str(WRITE),
        "SEMCACHE_LIMITS__BODY_BYTES": str(1 << 20),
    }
    arguments = ("--config", str(config), "--policies", str(policies))
    with running(folder / "data", *arguments, **limits) as started:
        yield started


@pytest.fixture(autouse=True)
def fresh(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test begins with an upstream that is well and was not asked yet; what stands in between breaks nothing."""
    wanted = request.fixturenames
    if "upstream" in wanted or "proxy" in wanted:
        server: UpstreamServer = request.getfixturevalue("upstream")
        server.requests.clear()
        server.script = ByRequest(answering)
    if "between" in wanted or "proxy" in wanted:
        request.getfixturevalue("between").faults = Faults()
    if "proxy" in wanted:
        proxy: Proxy = request.getfixturevalue("proxy")
        proxy.namespace = request.node.nodeid.encode("ascii", "replace").decode()[-200:]
        yield
        # Whatever was done to it: it serves, and nobody it should not have answered got an answer.
        proxy.namespace += "-after"
        server.script = ByRequest(answering)
        proxy.wait_until(lambda: proxy.chat("Is everything all right?").status == 200)
    else:
        yield
