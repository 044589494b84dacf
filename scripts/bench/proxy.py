"""What the proxy adds: pass-through, exact hit, semantic hit and miss against calling the upstream directly.

    .venv/bin/python scripts/bench/proxy.py [--quick] [--realtime] [--entries N] [--rounds N] [--json FILE]

One run starts an upstream that answers at once, a semcache with one worker in front of it and a load
driver, each in a process of its own: driver, upstream and the embedded Valkey on one core, semcache alone
on another. After the store is filled (by requests) every case is measured in turn with one connection
and with 32, and that round is repeated; figures are medians of the rounds, what is added or divided
is formed within a round first. `--realtime` runs the timed windows under round-robin priority, which
takes the neighbours of a shared machine out of the figures.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import Progress
from rich.table import Table
from rig import questions
from rig.driver import Ask, Driver, Seen, Window, ask
from rig.filling import fill
from rig.report import circumstances, console, headline, middle, quantile, save
from rig.serving import Semcache, cores, cpu_seconds, hurried, semcache, upstream

MANY = 32
REPEATED = 500
"""Stored questions that are asked again word for word."""
_RATE = 500
"""New questions laid ready a second; an encoder on one core makes some 250 vectors in that time."""


@dataclass(frozen=True)
class Case:
    """One way through the proxy. `expected` is the outcome of its replies; `direct` goes past the proxy."""

    name: str
    stream: bool
    expected: str
    asks: Callable[[int], list[Ask]]
    direct: bool = False
    cycle: bool = True

    @property
    def baseline(self) -> str:
        """Name of the case that goes to the upstream directly in the same wire mode."""
        return "direct, streamed" if self.stream else "direct"


@dataclass
class Samples:
    """What the windows of one case gave, a value a round."""

    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    cpu_one: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    cpu_store: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    wrong: int = 0


@dataclass
class Bench:
    """The running processes and what they gave so far."""

    driver: Driver
    proxy: Semcache
    upstream_port: int
    upstream_pid: int
    realtime: bool
    samples: dict[str, Samples] = field(default_factory=dict)

    def measure(self, case: Case, seconds: float) -> None:
        """One round of one case: one connection, then many."""
        found = self.samples.setdefault(case.name, Samples())
        alone, cpu, _ = self._window(case, 1, seconds)
        # A few odd outcomes (a late encoder, a busy one) are reported, but do not blur the times.
        times = list(alone.by_outcome.get(case.expected, alone.whole))
        found.p50.append(quantile(times, 0.5))
        found.p99.append(quantile(times, 0.99))
        found.first.append(quantile(list(alone.first), 0.5))
        found.cpu_one.append(cpu / max(1, alone.count))
        many, cpu, cpu_store = self._window(case, MANY, seconds)
        found.rate.append(many.count / many.wall)
        found.cpu.append(cpu / max(1, many.count))
        found.cpu_store.append(cpu_store / max(1, many.count))
        for seen in (alone, many):
            found.outcomes += seen.outcomes
            found.reasons += seen.reasons
            found.failed += seen.failed
            found.wrong += seen.wrong

    def _window(self, case: Case, connections: int, seconds: float) -> tuple[Seen, float, float]:
        """Give what the driver saw, and CPU seconds of semcache and of its store."""
        port = self.upstream_port if case.direct else self.proxy.port
        asks = case.asks(int(_RATE * seconds) + 2 * connections)
        window = Window(port, asks, connections, seconds, case.cycle)
        store = self.proxy.child("valkey-server")
        watched = [self.proxy.pid, *([store] if store else [])]
        with hurried([*watched, self.driver.pid, self.upstream_pid], self.realtime):
            before = [cpu_seconds(pid) for pid in watched]
            seen = self.driver.run(window)
            spent = [cpu_seconds(pid) - was for pid, was in zip(watched, before, strict=True)]
        return seen, spent[0], spent[1] if store else 0.0


def cases(entries: int) -> list[Case]:
    """All cases, baselines first; new questions are taken from iterators that never repeat."""
    again = questions.stored(entries)[:REPEATED]
    asked = questions.paraphrases(entries)
    new = questions.others(seed=1)
    off = "semcache-mode: off\r\n"
    embeddings = [ask(question, path="/v1/embeddings") for question in again]
    return [
        Case("direct", False, "none", _same(again), direct=True),
        Case("direct, streamed", True, "none", _same(again, stream=True), direct=True),
        Case("other path", False, "none", lambda _: embeddings),
        Case("mode off", False, "bypass", _same(again, headers=off)),
        Case("mode off, streamed", True, "bypass", _same(again, stream=True, headers=off)),
        Case("exact hit", False, "exact", _same(again)),
        Case("exact hit, streamed", True, "exact", _same(again, stream=True)),
        Case("semantic hit", False, "semantic", _near(asked, stream=False), cycle=False),
        Case("semantic hit, streamed", True, "semantic", _near(asked, stream=True), cycle=False),
        Case("miss", False, "miss", _far(new, stream=False), cycle=False),
        Case("miss, streamed", True, "miss", _far(new, stream=True), cycle=False),
    ]


def _same(texts: list[str], *, stream: bool = False, headers: str = "") -> Callable[[int], list[Ask]]:
    """The same questions in every window."""
    asks = [ask(text, stream=stream, headers=headers) for text in texts]
    return lambda _: asks


def _near(pairs: Iterator[tuple[str, str]], *, stream: bool) -> Callable[[int], list[Ask]]:
    """Paraphrases that nobody asked before; right is the answer to the stored question, or a fresh one."""
    return lambda amount: [
        Ask(ask(asked, stream=stream).request, (*ask(stored).tags, *ask(asked).tags))
        for asked, stored in itertools.islice(pairs, amount)
    ]


def _far(texts: Iterator[str], *, stream: bool) -> Callable[[int], list[Ask]]:
    """Questions that nobody asked before and that nothing stored is near to."""
    return lambda amount: [ask(text, stream=stream) for text in itertools.islice(texts, amount)]


def summary(case: Case, samples: dict[str, Samples]) -> dict[str, object]:
    """Medians of a case over its rounds, and what it adds to its baseline. Times in milliseconds."""
    own, base = samples[case.name], samples[case.baseline]
    added = [ours - theirs for ours, theirs in zip(own.p50, base.p50, strict=True)]
    slower = [ours / theirs for ours, theirs in zip(own.p50, base.p50, strict=True)]
    share = [ours / theirs for ours, theirs in zip(own.rate, base.rate, strict=True)]
    total = sum(own.outcomes.values())
    return {
        "p50_ms": 1e3 * middle(own.p50),
        "p50_ms_of_rounds": [round(1e3 * value, 4) for value in own.p50],
        "p99_ms": 1e3 * middle(own.p99),
        "first_byte_ms": 1e3 * middle(own.first),
        "added_ms": 1e3 * middle(added),
        "times_direct": middle(slower),
        "rate": middle(own.rate),
        "rate_of_rounds": [round(value, 1) for value in own.rate],
        "rate_of_direct": middle(share),
        "cpu_us": 1e6 * middle(own.cpu),
        "cpu_us_one_connection": 1e6 * middle(own.cpu_one),
        "store_cpu_us": 1e6 * middle(own.cpu_store),
        "as_expected": own.outcomes[case.expected] / max(1, total),
        "outcomes": dict(own.outcomes),
        "reasons": dict(own.reasons.most_common(8)),
        "requests": total,
        "failed": own.failed,
        "wrong": own.wrong,
    }


def table(found: dict[str, dict[str, object]]) -> Table:
    """Lay the summaries out."""
    columns = (
        ("p50 ms", "p50_ms", ".3f"),
        ("p99", "p99_ms", ".2f"),
        ("added p50", "added_ms", ".3f"),
        ("x direct", "times_direct", ".1f"),
        ("first byte", "first_byte_ms", ".3f"),
        (f"req/s at {MANY}", "rate", ",.0f"),
        ("of direct", "rate_of_direct", ".2f"),
        ("CPU us", "cpu_us", ",.0f"),
        ("CPU us at 1", "cpu_us_one_connection", ",.0f"),
        ("Valkey us", "store_cpu_us", ",.0f"),
        ("as meant", "as_expected", ".1%"),
        ("wrong", "wrong", "d"),
        ("failed", "failed", "d"),
    )
    shown = Table("case", *(title for title, _, _ in columns))
    for name, values in found.items():
        shown.add_row(name, *(format(values[key], form) for _, key, form in columns))
    return shown


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="What the proxy adds to a call.")
    parser.add_argument("--entries", type=int, default=10_000, help="answers stored before measuring")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a timed window")
    parser.add_argument("--realtime", action="store_true", help="timed windows under round-robin priority")
    parser.add_argument("--no-log", action="store_true", help="without the line that each request leaves")
    parser.add_argument("--only", default="", help="only cases whose name contains this (and the baselines)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for semcache")
    parser.add_argument("--quick", action="store_true", help="a few requests: does it run at all?")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.entries, chosen.rounds, chosen.seconds = 200, 1, 0.15
    return chosen


def main() -> None:
    """Start everything, fill, measure, print."""
    chosen = arguments()
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    environment = dict(pair.split("=", 1) for pair in chosen.env)
    if chosen.no_log:
        environment["SEMCACHE_LOG_REQUESTS"] = "false"
    helpers, own = cores()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-proxy-")))
        port, pid = stack.enter_context(upstream(helpers))
        url = f"http://127.0.0.1:{port}/v1"
        proxy = stack.enter_context(semcache(folder, "--upstream", url, environment=environment))
        proxy.settle(own, helpers)
        driver = stack.enter_context(Driver(helpers))
        bench = Bench(driver, proxy, port, pid, chosen.realtime)
        filled = fill(proxy, driver, chosen.entries)
        screen.print(f"{chosen.entries} answers stored by requests in {filled:.0f} s")
        wanted = [case for case in cases(chosen.entries) if case.direct or chosen.only in case.name]
        with Progress(transient=True, console=screen) as progress:
            turns = [case for _ in range(chosen.rounds) for case in wanted]
            for case in progress.track(turns, description="measuring"):
                bench.measure(case, chosen.seconds)
    found = {case.name: summary(case, bench.samples) for case in wanted}
    screen.print(table(found))
    setting = {name: str(value) for name, value in vars(chosen).items()}
    save(chosen.json, {"circumstances": facts, "setting": setting, "fill_seconds": filled, "cases": found})


if __name__ == "__main__":
    main()
