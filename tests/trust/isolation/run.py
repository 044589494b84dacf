"""The run: many asks at once, acts among them, and now and then something breaks; every reply is judged as it comes."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import aiohttp

from tests.fakes.upstream_server import ByRequest, UpstreamServer
from tests.trust.isolation.acts import ACTS, Acts
from tests.trust.isolation.asking import drawn
from tests.trust.isolation.client import Client
from tests.trust.isolation.events import Events
from tests.trust.isolation.fleet import Fleet, Replica, free_of_telemetry
from tests.trust.isolation.model import HITS, Book, Leak, Reply, Withdrawal
from tests.trust.isolation.upstream import Stamping
from tests.trust.isolation.world import Ask, Size, exact_of

_SHARE_OF_ACTS = 0.02
_SHARE_OF_LEAVING = 0.005
_LAST = 60
_MOST = 20
"""Leaks after which there is nothing more to learn."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does.

    Attributes:
        operations: how many at least, all kinds together; asking goes on until all events are over.
        seed: of all that is drawn.
        size: how many tenants' namespaces, users and so on take part.
        events: what breaks or is changed, spread over the run; see `events.KINDS`.
        connections: asks under way at once.
    """

    operations: int
    seed: int
    size: Size
    events: tuple[str, ...]
    connections: int = 48


@dataclass
class Tally:
    """What happened, counted."""

    operations: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    expected: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    """Connections that broke with a process that was killed."""
    missed: list[str] = field(default_factory=list)
    """Some of the hits that should have been and were not."""
    leaks: list[Leak] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    last: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST))
    """The last replies."""
    done: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST * 10))
    """The last acts."""
    happened: list[str] = field(default_factory=list)
    """All events, and from when to when."""
    seconds: float = 0.0
    calls: int = 0
    latest: float = 0.0

    def recall(self, tier: str) -> float:
        """Give the share of expected hits that were hits."""
        return self.found[tier] / self.expected[tier] if self.expected[tier] else 1.0


Progress = Callable[[int], None]


def nobody(_: int) -> None:
    """Look at no progress."""


async def run(plan: Plan, folder: Path, progress: Progress = nobody) -> Tally:
    """Run a plan in an empty folder. Stops early where much leaked."""
    free_of_telemetry()
    book, asks = Book(frozenset({"one", "three"})), {}
    stamping = Stamping(book, asks)
    async with UpstreamServer(ByRequest(stamping)) as server:
        fleet = Fleet(folder, server.url)
        try:
            return await _Run(plan, book, asks, stamping, fleet, server, progress).all()
        finally:
            await fleet.close()


@dataclass
class _Run:
    plan: Plan
    book: Book
    asks: dict[int, Ask]
    stamping: Stamping
    fleet: Fleet
    server: UpstreamServer
    progress: Progress
    tally: Tally = field(default_factory=Tally)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    done: int = 0
    happening: asyncio.Task[None] | None = None

    async def all(self) -> Tally:
        """Start everything, do everything, sum up."""
        await self.fleet.valkey.start()
        one, two = self.fleet.replica("one"), self.fleet.replica("two", workers=2)
        await asyncio.gather(one.start(), two.start())
        acts = Acts(self.book, self.fleet.valkey.url, self.fleet.folder / "journal")
        events = Events(self.fleet, self.book, self.tally, Random(f"{self.plan.seed}:events"))
        # Shorter than the servers keep a connection: none is used while it is being closed.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=2.0)
        began = time.monotonic()
        async with aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=60)
        ) as session:
            client = Client(session)
            happening = self.happening = asyncio.create_task(events.happen(self.plan.events, self._share))
            asking = [
                asyncio.create_task(self._ask_on(client, acts, session)) for _ in range(self.plan.connections)
            ]
            try:
                await asyncio.gather(*asking)
                if len(self.tally.leaks) < _MOST:
                    await happening
            finally:
                for task in (*asking, happening):
                    task.cancel()
                await asyncio.gather(*asking, happening, return_exceptions=True)
                await acts.aclose()
        self.tally.seconds = time.monotonic() - began
        self.tally.calls, self.tally.latest = self.stamping.calls, self.book.latest
        self.tally.faults += self.stamping.wrong + [repr(error) for error in self.server.errors]
        return self.tally

    def _is_over(self) -> bool:
        return self.happening is None or self.happening.done()

    def _share(self) -> float:
        return self.done / self.plan.operations

    async def _ask_on(self, client: Client, acts: Acts, session: aiohttp.ClientSession) -> None:
        for number in self.numbers:
            if len(self.tally.leaks) >= _MOST or (number >= self.plan.operations and self._is_over()):
                return
            by = Random(f"{self.plan.seed}:{number}:kind")
            while not self.fleet.up():  # noqa: ASYNC110 - processes come up, no event of this loop
                await asyncio.sleep(0.02)
            kind = by.random()
            if kind < _SHARE_OF_ACTS:
                await self._act(number, by, acts, session)
            elif kind < _SHARE_OF_ACTS + _SHARE_OF_LEAVING:
                await client.leave(self._drawn(number), by.choice(self.fleet.up()))
                self.tally.operations["hang up"] += 1
            else:
                await self._ask(number, by.choice(self.fleet.up()), client, acts)
            self.done += 1
            if self.done % 500 == 0:
                self.fleet.forget_output()
            self.progress(self.done)

    def _drawn(self, number: int) -> Ask:
        ask = self.asks[number] = drawn(self.plan.seed, number, self.plan.size)
        self.book.sent[number] = time.monotonic()
        return ask

    async def _act(self, number: int, by: Random, acts: Acts, session: aiohttp.ClientSession) -> None:
        kind = by.choices(tuple(ACTS), tuple(ACTS.values()))[0]
        came = await acts.act(kind, by, self.fleet.up(), session)
        self.tally.operations["act"] += 1
        self.tally.acts[f"{kind}: {came.partition(' ')[0]}"] += 1
        self.tally.done.append(f"{number} {time.monotonic():.3f} act {kind}: {came}")

    async def _ask(self, number: int, replica: Replica, client: Client, acts: Acts) -> None:
        ask = self._drawn(number)
        reply = await client.ask(ask, replica)
        self.tally.operations[f"ask {ask.dialect}"] += 1
        if isinstance(reply, str):
            if replica.stopped >= self.book.sent[number]:
                self.tally.broken += 1
            else:
                self.tally.faults.append(
                    f"{number} {self.book.sent[number]:.3f}: the connection to {replica.name} broke by itself: {reply}; "
                    f"it wrote {''.join(replica.proxy.stderr[-5:])!r}"
                )
            return
        self._judge(reply)
        acts.seen(reply)

    def _judge(self, reply: Reply) -> None:
        number, tally = reply.ask.number, self.tally
        tally.last.append(
            f"{number} {reply.replica} {reply.status} {reply.outcome} {reply.stamp} {reply.ask}"
        )
        tally.outcomes[reply.outcome or str(reply.status)] += 1
        found = self.book.leaks(reply)
        tally.leaks += found
        if found:
            tally.done.append(f"{number} {time.monotonic():.3f} leaked {reply.stamp} of {reply.entry}")
        if self.book.refused(reply):
            tally.faults.append(f"refused although its key holds at {replica_of(reply)}: {reply.ask}")
        if reply.status not in (200, 401):
            tally.statuses[str(reply.status)] += 1
            tally.faults.append(f"{number}: status {reply.status} at {replica_of(reply)}")
            return
        expected = self.book.expects(reply) if reply.status == 200 else ""
        if expected:
            tally.expected[expected] += 1
            hit = reply.outcome == "exact" if expected == "exact" else reply.outcome in HITS
            tally.found[expected] += hit
            if not hit and len(tally.missed) < 200:
                tally.missed.append(
                    f"{expected} not {reply.outcome} ({reply.reason}) at {replica_of(reply)}: {reply.ask}"
                )
        self._replaced(reply)
        self.book.keep(reply)

    def _replaced(self, reply: Reply) -> None:
        """A new answer that was asked for takes the place of the one before."""
        rules = self.book.rules(reply.ask, reply.began, reply.ended)
        exact = exact_of(reply.ask, rules[0]) if len(rules) == 1 else None
        if reply.ask.no_cache and reply.stored and exact is not None:
            self.book.begin(
                Withdrawal("replaced", reply.began, reply.ended, at=reply.replica), (exact, reply.ask.dialect)
            )


def replica_of(reply: Reply) -> str:
    """Say where and when a reply was given."""
    return f"{reply.replica} ({reply.began:.3f} to {reply.ended:.3f})"


__all__ = ["Plan", "Tally", "run"]
