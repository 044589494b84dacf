"""Lint on live traffic: a bounded queue, a thread that works it off within a small share of a core, and a flush a minute.

Under load only some conversations are looked at, but then all of their prompts, and each counts for those left out. Knows
neither wire nor Redis. Prompts stay in memory for as long as the linter compares them, and go nowhere else.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from semcache.core import JsonObject, Labels
from semcache.cost_port import DAY, LintFinding, LintShelf
from semcache.errors import StoreError
from semcache.linting.linter import Linter, Price
from semcache.linting.prompt import prompt_of
from semcache.linting.rules import LintRules
from semcache.ports import Clock

Pricing = Callable[[str, float], Price | None]
"""Gives what lost tokens of a model cost at a time (Unix seconds)."""

_MOST_LEFT_OUT = 1024
_SYSTEM = ("system", "developer")
_LOOKED_AT = 512


def live_rules() -> LintRules:
    """Bounds of a linter that runs beside a proxy: some tens of megabytes."""
    return LintRules(families=500, characters=6_000_000, talks=3_000, turns=60_000)


@dataclass(frozen=True, slots=True)
class WatchRules:
    """Bounds of a watch: `waiting` requests; a `share` of a core, in bursts of at most `burst` seconds; seconds between flushes."""

    waiting: int = 256
    share: float = 0.02
    burst: float = 0.002
    every: float = 60.0
    linter: LintRules = field(default_factory=live_rules)


@dataclass(frozen=True, slots=True)
class _Seen:
    body: JsonObject
    at: float
    tenant: str
    model: str
    labels: Labels
    weight: int


class LintWatch:
    """Takes requests as they come and finds what keeps their beginnings from being reused.

    Args:
        shelf: where findings go.
        clock: time.
        worker: name of this process, that of no other.
        pricing: what lost tokens cost.
        rules: bounds.
    """

    def __init__(
        self,
        shelf: LintShelf,
        clock: Clock,
        worker: str,
        pricing: Pricing | None = None,
        rules: WatchRules | None = None,
    ) -> None:
        self._shelf = shelf
        self._clock = clock
        self._worker = worker
        self._pricing = pricing
        self._rules = rules or WatchRules()
        self._linter = Linter(self._rules.linter)
        self._feeding = threading.Lock()
        self._waiting: deque[_Seen] = deque()
        self._stopped = threading.Event()
        self._weight = 1
        self._quiet = 0
        self.dropped = 0
        """Requests that found no room to wait."""
        self.left_out = 0
        """Requests of conversations that are not looked at under this load."""
        self.faults = 0
        """Flushes that the store refused, and prompts that could not be compared."""

    def seen(self, body: JsonObject, at: float, tenant: str, model: str, labels: Labels = ()) -> None:
        """Take note of a request, which nobody may change afterwards; never waits. One too many is dropped and counted."""
        weight = self._weight
        if weight > 1 and _draw(body, tenant) % weight:
            self.left_out += 1
        elif len(self._waiting) >= self._rules.waiting:
            self.dropped += 1
        else:
            self._waiting.append(_Seen(body, at, tenant, model, labels, weight))

    async def run(self) -> None:
        """Work requests off and write findings down until cancelled; what the store refuses, the next flush says again."""
        thread = threading.Thread(target=self._work, name="semcache-lint", daemon=True)
        thread.start()
        try:
            while True:
                await asyncio.sleep(self._rules.every)
                await self.flush()
        finally:
            self._stopped.set()

    async def flush(self) -> None:
        """Write down what was found today and yesterday. Store faults are counted, not raised."""
        found = await asyncio.to_thread(self._found)
        if not found:
            return
        try:
            await self._shelf.put(self._worker, found)
        except StoreError:
            self.faults += 1

    def work_off(self, seconds: float) -> float:
        """Work requests off for about so many seconds of CPU time, and give how many it took; for the thread, and for tests."""
        begun = time.thread_time()
        spent = 0.0
        while self._waiting and spent < seconds:
            self._feed(self._waiting.popleft())
            spent = time.thread_time() - begun
        return spent

    def _work(self) -> None:
        rules = self._rules
        pause = rules.burst / rules.share
        while not self._stopped.wait(pause):
            self._pace()
            pause = max(rules.burst, self.work_off(rules.burst)) / rules.share

    def _pace(self) -> None:
        """Look at fewer conversations while the queue is long, and at more again when it stays empty."""
        if len(self._waiting) > self._rules.waiting * 3 // 4:
            self._weight, self._quiet = min(_MOST_LEFT_OUT, self._weight * 2), 0
        elif len(self._waiting) > self._rules.waiting // 8:
            self._quiet = 0
        else:
            self._quiet += 1
            if self._quiet >= 50 and self._weight > 1:
                self._weight, self._quiet = self._weight // 2, 0

    def _feed(self, seen: _Seen) -> None:
        with self._feeding:
            try:
                price = self._pricing(seen.model, seen.at) if self._pricing is not None else None
                prompt = prompt_of(seen.body)
                self._linter.feed(
                    prompt, seen.at, seen.tenant, seen.model, seen.labels, price, weight=seen.weight
                )
            except Exception:  # noqa: BLE001  what clients send is hostile, and no prompt may end the thread
                self.faults += 1

    def _found(self) -> tuple[LintFinding, ...]:
        yesterday = int(self._clock.now() // DAY) - 1
        with self._feeding:
            self._linter.forget(yesterday)
            return tuple(finding for finding in self._linter.findings() if finding.day >= yesterday)


def _draw(body: JsonObject, tenant: str) -> int:
    """Give a number that is the same for all prompts of one conversation: that of its first message."""
    return crc32(f"{tenant}\x00{_first_words(body)}".encode("utf-8", "surrogatepass"))


def _first_words(body: JsonObject) -> str:
    for name in ("messages", "input", "prompt"):
        value = body.get(name)
        if isinstance(value, str):
            return value[:_LOOKED_AT]
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict) and item.get("role") not in _SYSTEM:
                return _begin(item.get("content"))
    return ""


def _begin(content: Any) -> str:
    """Give the first words of a content, which may be a list of parts."""
    first = content[0] if isinstance(content, list) and content else content
    text = first.get("text") if isinstance(first, dict) else first
    return text[:_LOOKED_AT] if isinstance(text, str) else ""
