"""A client's process, asked one thing at a time; and the rig: a proxy, the scripted upstream behind it, all clients."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.lanes import CHAT_ONLY, Lane
from tests.clients.upstream.world import World
from tests.e2e.running import Proxy
from tests.e2e.tenants import policy
from tests.fakes.upstream_server import UpstreamServer

KEY = "sk-clients"
MANAGED = "sk-managed"
PATIENCE = 60.0
"""Seconds that any answer may take on a busy machine before the client counts as stuck."""


@dataclass
class Client:
    """One lane's program."""

    lane: Lane
    process: subprocess.Popen[str]
    complaints: Path
    versions: dict[str, str]

    def do(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return self.read()

    def read(self) -> dict[str, Any]:
        """Wait for the next line; a client that never answers is stopped, and the test told."""
        assert self.process.stdout is not None
        watch = threading.Timer(PATIENCE, self.process.kill)
        watch.start()
        try:
            line = self.process.stdout.readline()
        finally:
            watch.cancel()
        if not line:
            raise AssertionError(f"{self.lane.name} ended:\n{self.complaints.read_text()[-3000:]}")
        found: dict[str, Any] = json.loads(line)
        return found

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def start(lane: Lane, complaints: Path) -> Client:
    """Start a lane's program; it says its versions first."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with complaints.open("w") as errors:
        process = subprocess.Popen(
            lane.command(),
            cwd=complaints.parent,
            env={
                **kept,
                "PYTHONIOENCODING": "utf-8",
                "NO_PROXY": "*",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
        )
    client = Client(lane, process, complaints, {})
    client.versions = client.read()
    return client


@dataclass(frozen=True)
class Heard:
    """What came of one question: what the client saw, and what it took."""

    seen: dict[str, Any]
    outcomes: list[str]
    """Of the requests that it made, as the proxy recorded them."""
    plain: int
    """Calls of the upstream for answers ..."""
    revisions: int
    """... and for revisions."""

    @property
    def outcome(self) -> str:
        return ", ".join(self.outcomes)

    def __getattr__(self, name: str) -> Any:
        return self.seen[name]


@dataclass
class Clients:
    """The clients that were asked for so far; each starts once."""

    folder: Path
    running: dict[str, Client] = field(default_factory=dict)

    def of(self, lane: Lane) -> Client:
        known = self.running.get(lane.program)
        if known is None or known.process.poll() is not None:
            known = self.running[lane.program] = start(lane, self.folder / f"{lane.program}.err")
        return known

    def stop(self) -> None:
        for client in self.running.values():
            client.stop()


def job_of(lane: Lane, origin: str, question: str, headers: dict[str, str], **job: Any) -> dict[str, Any]:
    """Say what is to be asked, with all that is not said as usual."""
    return {
        "kind": lane.argument,
        "origin": origin,
        "key": KEY,
        "model": "plain",
        "question": question,
        "headers": headers,
        "stream": False,
        "tools": False,
        # The question, the tool's call and what the tool gave.
        "told": False,
        "schema": False,
        "timeout": 30.0,
        "retries": 0,
        "leave_after": 0,
        **job,
    }


@dataclass
class Rig:
    """One proxy, one upstream, and a client for each lane that was asked for."""

    proxy: Proxy
    server: UpstreamServer
    world: World
    clients: Clients

    def client(self, lane: Lane) -> Client:
        return self.clients.of(lane)

    def ask(self, lane: Lane, namespace: str, question: str, *, requests: int = 1, **job: Any) -> Heard:
        """Have a client ask, and wait until the proxy has written down what it did (in how many requests)."""
        client = self.client(lane)
        plain, revisions, known = self.world.plain, self.world.revisions, self.records()
        seen = client.do(self.job(lane, namespace, question, **job))
        outcomes = self._outcomes(known, requests)
        return Heard(seen, outcomes, self.world.plain - plain, self.world.revisions - revisions)

    def job(
        self, lane: Lane, namespace: str, question: str, *, direct: bool = False, **job: Any
    ) -> dict[str, Any]:
        """Say what is to be asked; `direct`: of the upstream, without the proxy."""
        own = {
            "semcache-namespace": f"{lane.name} {lane.backend} {namespace}",
            "semcache-upstream": lane.backend,
        }
        headers = {**own, **job.pop("headers", {})}
        return job_of(lane, self.server.origin if direct else self.proxy.url, question, headers, **job)

    def records(self) -> int:
        return len(self.proxy.stdout)

    def _outcomes(self, known: int, requests: int) -> list[str]:
        until = time.monotonic() + 10.0
        while len(found := self._written(known)) < requests:
            assert time.monotonic() < until, "the proxy wrote down nothing"
            time.sleep(0.01)
        return found

    def _written(self, known: int) -> list[str]:
        lines = [json.loads(line) for line in self.proxy.stdout[known:] if line.startswith("{")]
        return [line["outcome"] for line in lines if "outcome" in line and not _is_beside(line["route"])]

    def wait_until(self, check: Any, patience: float = 10.0) -> None:
        self.proxy.wait_until(check, patience)


UPSTREAMS = {
    "openai": ("protocol: openai", "/v1"),
    "anthropic": ("protocol: anthropic", ""),
    "ollama": ("protocol: ollama", ""),
    "gemini": ("protocol: gemini", ""),
    CHAT_ONLY: ("protocol: openai, speaks: [openai.chat]", "/v1"),
}
"""By name: what it speaks, and where its paths begin."""
DOMAINS = {
    "dear": "{usage_on_hit: original}",
    "tooled": "{store: {tool_calls: true}}",
    "shaky": "{drafts: {min_trials: 1000}}",
}
"""Domains, each with a model of its name."""


def _is_beside(route: str) -> bool:
    """A request that asks for no answer: some clients look a model up first."""
    return route == "other"


def write_files(folder: Path, server: UpstreamServer) -> tuple[str, ...]:
    """Write configuration and policy; gives the arguments of a proxy."""
    rules = "".join(f'    - {{models: ["{name}"], domain: {name}}}\n' for name in DOMAINS)
    text = policy(
        "house",
        KEY,
        domains="".join(f"  {name}: {knobs}\n" for name, knobs in DOMAINS.items()),
        rules=rules,
        defaults="  draft_threshold: 0.5\n  risk: {budget: 0.1}\n",
        more="models: [plain, dear, tooled, shaky, claude-sonnet-4-5, gemini-2.5-flash]\nclassifier: {enabled: false}\n"
        "costs: {budgets: [{name: spent, window: month, labels: {project: spent}, requests: 1}]}\n",
    )
    (folder / "policies").mkdir(parents=True)
    (folder / "policies" / "house.yaml").write_text(text, encoding="utf-8")
    config = (
        "default_upstream: openai\nupstreams:\n"
        + "".join(
            f"  {name}: {{{kind}, base_url: '{server.origin}{base}', api_key: 'env:TEST_MANAGED_KEY', "
            "first_byte_timeout: 3, breaker_threshold: 1000}\n"
            for name, (kind, base) in UPSTREAMS.items()
        )
        +
        # Busy machines are slow; what happens by lateness has tests of its own.
        "encoder: {deadline: 5}\nstore: {deadline: 5}\n"
    )
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    return ("--config", str(folder / "config.yaml"), "--policies", str(folder / "policies"))
