"""One soak: a proxy with its store, a scripted upstream, a load, and somebody who looks at what they hold."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from semcache.errors import StoreError
from semcache.store.embedded import embedded_url
from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import UpstreamServer, in_thread
from tests.store.servers import command
from tests.trust.soak.meters import Growth, Samples, judged, process_figures, quantile
from tests.trust.soak.traffic import KEYS, SCRIPT, Heard, Traffic

WARM = 1 / 3
"""Share of the time after which figures are judged: caches are full then, and quotas reached."""
_LOOKS = 600
_NEAR = str(4 << 20)
_POLICY = """
schema_version: 1
tenant: acme
access:
  keys: [{keys}]
  anonymous: never
  unknown_keys: reject
default_domain: chat
defaults: {{mode: semantic, threshold: 0.92, audit: {{enabled: false}}}}
domains: {{chat: {{}}}}
quotas: {{max_entries: {entries}, max_bytes: 64MiB}}
limits: {{concurrent_calls: 64, queue: 500}}
"""


@dataclass
class Soak:
    """What was seen of one."""

    samples: Samples
    heard: Heard
    since: float
    growths: list[Growth] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """What the proxy said on stderr that is no plain news."""
    stored: float = 0.0
    upstream_errors: int = 0

    @property
    def faults(self) -> list[str]:
        """What keeps it from being passed."""
        grown = [
            f"{one.name} grew by {one.grew:.1f} (at most {one.allowed:.1f}) around {one.middle:.1f}"
            for one in self.growths
            if not one.is_flat
        ]
        return [*grown, *self.heard.wrong, *self.said]


@contextlib.contextmanager
def rig(folder: Path, entries: int) -> Iterator[tuple[Proxy, UpstreamServer]]:
    """Run upstream and proxy, with a quota of so many entries."""
    policies = folder / "policies"
    policies.mkdir(parents=True)
    keys = ", ".join(
        f'{{name: k{n}, hash: "sha256:{hashlib.sha256(key.encode()).hexdigest()}"}}'
        for n, key in enumerate(KEYS)
    )
    (policies / "acme.yaml").write_text(_POLICY.format(keys=keys, entries=entries))
    settings = {
        "SEMCACHE_LOG_REQUESTS": "false",
        "SEMCACHE_STORE__NEAR_BYTES": _NEAR,
        # A machine that has other work must not turn hits into misses: what is measured is growth.
        "SEMCACHE_STORE__DEADLINE": "3",
        "SEMCACHE_ENCODER__DEADLINE": "3",
    }
    with in_thread(SCRIPT) as upstream:
        arguments = ("--upstream", upstream.url, "--policies", str(policies))
        with running(folder / "data", *arguments, every_script=True, **settings) as proxy:
            yield proxy, upstream


def soak(
    folder: Path,
    *,
    seconds: float,
    rate: float,
    entries: int,
    on_look: Callable[[float, dict[str, float], Heard], None] | None = None,
) -> Soak:
    """Load a proxy for so long, and judge what it holds.

    Args:
        folder: an empty one.
        seconds: how long.
        rate: requests a second.
        entries: quota of the tenant.
        on_look: hears of each look: seconds passed, figures, what came back so far.
    """
    with rig(folder, entries) as (proxy, upstream):
        traffic = Traffic(proxy.url, rate)
        samples = Samples()
        asyncio.run(_loaded(proxy, upstream, traffic, samples, seconds, on_look))
        found = Soak(samples, traffic.heard, seconds * WARM)
        found.growths = judged(samples, found.since)
        found.stored = proxy.metric("semcache_entries_stored_total")
        found.said = [line.strip() for line in proxy.stderr if re.search(r"error|Traceback|failed", line)][
            :10
        ]
        found.upstream_errors = len(upstream.errors)
    return found


async def _loaded(
    proxy: Proxy,
    upstream: UpstreamServer,
    traffic: Traffic,
    samples: Samples,
    seconds: float,
    on_look: Callable[[float, dict[str, float], Heard], None] | None,
) -> None:
    begun = time.monotonic()
    load = asyncio.create_task(traffic.run(seconds))
    while not load.done():
        await asyncio.wait({load}, timeout=max(0.5, seconds / _LOOKS))
        passed = time.monotonic() - begun
        upstream.requests.clear()
        try:
            figures = await _look(proxy, traffic.heard)
        except (TimeoutError, OSError, StoreError):
            # A machine that stands still for a while says nothing of what is held.
            traffic.heard.outcomes["looks missed"] += 1
            continue
        samples.add(passed, figures)
        if on_look is not None:
            on_look(passed, figures, traffic.heard)
    await load


async def _held(url: str) -> tuple[float, float]:
    """Give the MiB that the store's server uses, and how many of them are records with a number of their own.

    Those fill slowly: the last 20,000 hits and 5,000 decisions a tenant, however busy it is.
    """
    told = (await command(url, "INFO", "memory")).decode()
    used = re.search(r"used_memory:(\d+)", told)
    names = [b"sc:{acme}:qs", b"sc:{acme}:qo", *await command(url, "KEYS", "sc:{acme}:rd:*")]
    records = [await command(url, "MEMORY", "USAGE", name) or 0 for name in names]
    return int(used[1]) / 2**20 if used else 0.0, sum(records) / 2**20


async def _look(proxy: Proxy, heard: Heard) -> dict[str, float]:
    assert proxy.process is not None
    serving = process_figures(proxy.process.pid)
    held, records = await _held(embedded_url(proxy.data))
    store = process_figures(proxy.child("valkey-server").pid)
    page = (await asyncio.to_thread(proxy.request, "GET", "/metrics")).body.decode()
    gauges = {
        name: float(value) for name, value in re.findall(r"^(semcache_\w+) ([0-9.e+]+)$", page, re.MULTILINE)
    }
    return {
        "proxy MiB": serving["MiB"],
        "valkey MiB": store["MiB"] - records,
        "held MiB": held - records,
        "records MiB": records,
        "files": serving["files"],
        "threads": serving["threads"],
        "tasks": gauges.get("semcache_tasks", 0.0),
        "vectors": gauges.get("semcache_index_vectors", 0.0),
        "near": gauges.get("semcache_near_entries", 0.0),
        "p50 ms": 1000 * quantile(list(heard.times), 0.5),
        "p99 ms": 1000 * quantile(list(heard.times), 0.99),
    }
