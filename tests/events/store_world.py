"""A proxy whose store is a Valkey of its own behind a fault-injecting proxy: what the tests of store events share."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.conftest import answering
from tests.e2e.running import Proxy
from tests.events.asking import Asked, ask_all
from tests.events.faultproxy import FaultProxy, Faults, fault_proxy
from tests.events.valkey_node import ValkeyNode
from tests.fakes.upstream_server import ByRequest, UpstreamServer, in_thread

DEADLINE = 0.25
"""Seconds that the shipped settings give the store."""


@dataclass
class World:
    """One proxy, its upstream, its Valkey, and what stands between the last and the first."""

    proxy: Proxy
    upstream: UpstreamServer
    node: ValkeyNode
    between: FaultProxy
    at_start: list[Asked] = field(default_factory=list)
    degraded_at_start: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def fresh(self, count: int = 1) -> list[str]:
        """Give questions that nobody has asked yet, none like another."""
        return [f"Where does {_word(next(self.numbers))} grow?" for _ in range(count)]

    def ask(self, questions: list[str], clients: int = 1) -> list[Asked]:
        return ask_all(self.proxy.url, questions, clients=clients)

    def remembers(self, question: str) -> bool:
        return self.proxy.outcome(question) == "exact"

    def mend(self) -> None:
        """Take every fault away and wait until the cache works again."""
        self.between.target = self.node.address
        self.between.faults = Faults()
        self.between.accept()
        self.proxy.wait_until(lambda: self.proxy.ready_detail()["status"] == "ready", 30)
        self.proxy.wait_until(lambda: self.remembers("Does it work again?"), 30)

    @property
    def degraded(self) -> list[str]:
        return list(self.proxy.ready_detail()["degraded"])


def _word(number: int) -> str:
    """Spell a number so that no two look like one another to an encoder."""
    syllables = ("ba", "ke", "lu", "mo", "ni", "po", "ra", "su", "ti", "wo")
    return "".join(syllables[int(digit)] for digit in f"{number * 7919 % 100_000:05d}")


@contextlib.contextmanager
def world(
    folder: Path, *, began_without_store: bool = False, options: tuple[str, ...] = ()
) -> Iterator[World]:
    """Run all of it; the proxy can begin before there is any store."""
    node = ValkeyNode(folder / "node", *([options] if options else []))
    with fault_proxy(node.address) as between, in_thread(ByRequest(answering)) as upstream:
        if not began_without_store:
            node.start()
        else:
            between.refuse()
        store = f"redis://127.0.0.1:{between.address[1]}"
        proxy = Proxy(
            folder / "proxy" / "data",
            ["--upstream", upstream.url],
            {"SEMCACHE_STORE__URL": store, "SEMCACHE_LEDGER__ROWS": "off"},
        )
        proxy.start()
        made = World(proxy, upstream, node, between)
        try:
            if began_without_store:
                made.at_start = made.ask(made.fresh(20), clients=4)
                detail = proxy.ready_detail()
                made.degraded_at_start = [*detail["degraded"], *detail["starting"]]
                node.start()
            made.mend()
            yield made
        finally:
            proxy.stop()
            node.kill()


def every_request(proxy: Proxy, known: str, fresh: str) -> dict[str, int]:
    """Send one request of every kind that touches the store; gives their statuses."""
    hit = proxy.chat(known)
    told = {
        "chat": hit.status,
        "miss": proxy.chat(fresh).status,
        "stream": proxy.chat(known, stream=True).status,
        "near": proxy.chat(known.replace("Where does", "Where would")).status,
        "refresh": proxy.chat(known, {"cache-control": "no-cache"}).status,
        "tagged": proxy.chat(f"{fresh} Really?", {"semcache-tags": "kb"}).status,
    }
    feedback = json.dumps({"request": hit.headers.get("x-request-id", ""), "verdict": "right"}).encode()
    head = {"content-type": "application/json"}
    told["feedback"] = proxy.request("POST", "/semcache/feedback", feedback, head).status
    for path in ("/metrics", "/readyz", "/livez", "/v1/models"):
        told[path] = proxy.request("GET", path).status
    return told


def seconds_of(asked: list[Asked]) -> list[float]:
    return [one.seconds for one in asked]


def until(check: object, patience: float) -> float:
    """Wait for something to hold; gives how long it took.

    Raises:
        AssertionError: it did not.
    """
    assert callable(check)
    began = time.monotonic()
    while not check():
        assert time.monotonic() - began < patience, "waited in vain"
        time.sleep(0.02)
    return time.monotonic() - began
