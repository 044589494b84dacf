"""Real processes: replicas of semcache on one Valkey, started, killed and started again on the same data."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
import urllib.error
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semcache.errors import StoreError
from semcache.store.embedded import server_binary
from tests.e2e.running import Proxy
from tests.store.servers import command
from tests.trust.isolation.upstream import MANAGED
from tests.trust.isolation.world import TENANTS, State, Tenant, policy_of

_PATIENCE = 120.0


@dataclass
class Valkey:
    """One server with an append-only file; what dies and comes back is the same data."""

    home: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.home / 's'}"

    async def start(self) -> None:
        """Start, or start again, and wait until it has read its file."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "s").unlink(missing_ok=True)
        options = ["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec"]
        self.process = await asyncio.to_thread(
            subprocess.Popen,
            [str(server_binary()), *options, "--dir", str(self.home), "--unixsocket", str(self.home / "s")],
            stdout=subprocess.DEVNULL,
        )
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(StoreError):
                await command(self.url, "PING")
                return
            await asyncio.sleep(0.02)
        raise AssertionError("valkey did not come up")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass
class Replica:
    """One `semcache serve`; `is_up` while it may be asked, `stopped` when it was last told to go."""

    name: str
    proxy: Proxy
    workers: int = 1
    is_up: bool = False
    stopped: float = -1.0

    async def start(self) -> None:
        """Start, or start again on the same port and data, and wait until all workers are ready."""
        self.proxy.stderr.clear()
        await asyncio.to_thread(self.proxy.start)
        await self.until_well()
        self.is_up = True

    async def until_well(self, patience: float = _PATIENCE) -> None:
        """Wait until nothing is degraded in any worker."""
        await self._all_say(lambda state: bool(state["status"] == "ready"), patience)

    async def until_taken(self, generation: str, patience: float = _PATIENCE) -> None:
        """Wait until every worker has the policies of this generation."""
        await self._all_say(lambda state: bool(state["policy_generation"] == generation), patience)

    async def _all_say(self, check: Callable[[dict[str, Any]], bool], patience: float) -> None:
        """Wait for the word of each worker: they share a listener, and the busy one, which is late, seldom answers."""
        until, said = time.monotonic() + patience, dict[int, dict[str, Any]]()
        while len(said) < self.workers or not all(map(check, said.values())):
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                state = await asyncio.to_thread(self.proxy.ready_detail)
                said[state["worker"]] = state
            assert time.monotonic() < until, f"{self.name} did not come to it: {said}"
            await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """Kill every process of it, without a word."""
        self.is_up, self.stopped = False, time.monotonic()
        await asyncio.to_thread(self.proxy.kill)

    async def stop(self) -> int:
        """Ask it to end in order; gives its exit code."""
        self.is_up, self.stopped = False, time.monotonic()
        return await asyncio.to_thread(self.proxy.stop)

    def read_again(self) -> None:
        """Have it read its policies on purpose."""
        assert self.proxy.process is not None
        self.proxy.process.send_signal(signal.SIGHUP)


@dataclass
class Fleet:
    """All processes of a run in one folder."""

    folder: Path
    upstream: str
    valkey: Valkey = field(init=False)
    replicas: list[Replica] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.valkey = Valkey(self.folder / "valkey")
        self.policies.mkdir(parents=True)
        for tenant in TENANTS:
            self.write(tenant, State.BASE)
        self.config.write_text(
            f"default_upstream: main\nupstreams:\n  main: {{base_url: '{self.upstream}', "
            "api_key: 'env:TRUST_KEY', speaks: [openai.chat]}\n"
        )

    @property
    def policies(self) -> Path:
        return self.folder / "policies"

    @property
    def config(self) -> Path:
        return self.folder / "config.yaml"

    def write(self, tenant: Tenant, state: State) -> None:
        """Replace a tenant's policy file whole, or take it away."""
        file = self.policies / f"{tenant.name}.yaml"
        if state is State.REMOVED:
            file.unlink()
            return
        fresh = self.policies / f".{tenant.name}.new"
        fresh.write_text(policy_of(tenant, state), encoding="utf-8")
        fresh.replace(file)

    def replica(self, name: str, workers: int = 1) -> Replica:
        """Add a replica, not started yet."""
        arguments = ["--config", str(self.config), "--policies", str(self.policies)]
        arguments += ["--workers", str(workers)] if workers > 1 else []
        environment = {
            "SEMCACHE_STORE__URL": self.valkey.url,
            "SEMCACHE_LEDGER__ROWS": "off",
            # What is slow on a busy machine is no leak and no lost hit.
            "SEMCACHE_STORE__DEADLINE": "3",
            "SEMCACHE_ENCODER__DEADLINE": "3",
            "TRUST_KEY": MANAGED,
        }
        proxy = Proxy(self.folder / name / "data", arguments, environment)
        one = Replica(name, proxy, workers)
        self.replicas.append(one)
        return one

    def up(self) -> list[Replica]:
        """Give the replicas that may be asked."""
        return [one for one in self.replicas if one.is_up]

    def forget_output(self) -> None:
        """Let go of what the processes printed: a line a request."""
        for one in self.replicas:
            one.proxy.stdout.clear()

    async def close(self) -> None:
        """End everything."""
        for one in self.replicas:
            if one.proxy.process is not None and one.proxy.process.poll() is None:
                await one.kill()
            for reader in one.proxy.readers:
                await asyncio.to_thread(reader.join, 10)
        self.valkey.kill()


def free_of_telemetry() -> None:
    """Keep libraries of the children quiet."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
