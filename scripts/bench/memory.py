"""Memory of the serving process and of its store: empty, with one encoder or two, and with entries.

    .venv/bin/python scripts/bench/memory.py [--quick] [--entries N] [--json FILE]

Resident memory (RSS) counts shared pages in full, the proportional share (PSS) divides them by those
who share. Entries are stored by asking for them (answers of 0.75 kB, questions of 14 tokens), so
what a process keeps in its near cache is included; then the proxy is started again over the same
data, when it holds the index alone. Bytes an entry in the store are what Valkey itself reports.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import redis
from rich.table import Table
from rig.driver import Driver
from rig.filling import fill
from rig.report import circumstances, console, headline, save
from rig.serving import Memory, Semcache, cores, memory_of, semcache, upstream

from semcache.store.embedded import embedded_url

_SETTLE = 2.0
"""Seconds after which background work of a start or a fill is over."""
_LATIN_ONLY = {"SEMCACHE_ENCODER__PRELOAD": "false"}


@dataclass(frozen=True)
class State:
    """Memory at one moment; `used` is what Valkey says that it uses, bytes; `vectors` in the index."""

    name: str
    process: Memory
    store: Memory
    used: int
    vectors: int
    peak: float


def state(name: str, proxy: Semcache) -> State:
    """Measure now, after a moment of quiet."""
    time.sleep(_SETTLE)
    store = proxy.child("valkey-server")
    assert store is not None, "the store is gone"
    client = redis.Redis.from_url(embedded_url(proxy.data))
    used = client.info("memory")["used_memory"]
    client.close()
    vectors = int(proxy.readiness()["vectors"])
    return State(name, memory_of(proxy.pid), memory_of(store), used, vectors, peak_of(proxy.pid))


def peak_of(pid: int) -> float:
    """Give the most that a process ever held, MiB resident."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def empty(folder: Path, url: str) -> list[State]:
    """Just started: with the encoder of Latin script alone, and with both."""
    found = []
    with semcache(folder / "latin", "--upstream", url, environment=_LATIN_ONLY) as proxy:
        found.append(state("empty, Latin encoder", proxy))
    with semcache(folder / "both", "--upstream", url) as proxy:
        found.append(state("empty, both encoders", proxy))
    return found


def full(folder: Path, url: str, entries: int) -> list[State]:
    """With entries: after they were stored, and after another start over the same data."""
    found = []
    helpers, own = cores()
    with semcache(folder / "full", "--upstream", url) as proxy, Driver(helpers) as driver:
        found.append(state("before filling", proxy))
        proxy.settle(own, helpers)
        fill(proxy, driver, entries)
        found.append(state(f"{entries} entries stored", proxy))
    with semcache(folder / "full", "--upstream", url) as proxy:
        found.append(state(f"{entries} entries, started again", proxy))
    return found


def table(states: list[State]) -> Table:
    """Memory at each moment."""
    shown = Table("MiB", "RSS", "PSS", "anonymous", "peak RSS", "Valkey RSS", "Valkey used", "vectors")
    for each in states:
        process = each.process
        figures = (process.rss, process.pss, process.anonymous, each.peak, each.store.rss, each.used / 2**20)
        shown.add_row(each.name, *(f"{value:.0f}" for value in figures), str(each.vectors))
    return shown


def each_entry(before: State, after: State, entries: int) -> dict[str, float]:
    """Bytes that an entry added, in the process and in the store."""
    return {
        "process, anonymous": (after.process.anonymous - before.process.anonymous) * 2**20 / entries,
        "process, RSS": (after.process.rss - before.process.rss) * 2**20 / entries,
        "Valkey, used": (after.used - before.used) / entries,
        "Valkey, RSS": (after.store.rss - before.store.rss) * 2**20 / entries,
    }


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description="Memory, empty and with entries.")
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="100 entries and nothing else")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    entries = 100 if chosen.quick else chosen.entries
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    helpers, _ = cores()
    with tempfile.TemporaryDirectory(prefix="bench-memory-") as name, upstream(helpers) as (port, _):
        url = f"http://127.0.0.1:{port}/v1"
        states = [] if chosen.quick else empty(Path(name), url)
        states += full(Path(name), url, entries)
    screen.print(table(states))
    before, stored, again = states[-3:]
    costs = {
        "stored by this process": each_entry(before, stored, entries),
        "read at the start": each_entry(before, again, entries),
    }
    shown = Table("bytes an entry", *costs["read at the start"])
    for way, figures in costs.items():
        shown.add_row(way, *(f"{value:,.0f}" for value in figures.values()))
    screen.print(shown)
    save(
        chosen.json,
        {
            "circumstances": facts,
            "entries": entries,
            "states": [asdict(each) for each in states],
            "bytes": costs,
        },
    )


if __name__ == "__main__":
    main()
