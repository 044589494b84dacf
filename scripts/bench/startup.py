"""How long from an empty folder to the first answer, and where the time goes.

    .venv/bin/python scripts/bench/startup.py [--quick] [--cold] [--from-nothing] [--runs N] [--json FILE]

The data directory is new each time. Measured: with the local engine and with an upstream (that answers
at once), each with the user's cache of converted models as it is (warm). `--cold` also measures with that
cache empty: models are downloaded and converted. `--from-nothing` clones the checkout into a temporary
folder, where nothing is installed, and runs ./scripts/serve there: virtual environment, packages, models,
first answer (with pip's cache as it is; `--no-pip-cache` without it).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.table import Table
from rig.report import circumstances, console, headline, middle, save
from rig.serving import ROOT, Semcache, upstream

_PATIENCE = 900.0
_QUESTION = "What is a semantic cache?"
_FORGOTTEN = ("PYTHONPATH", "VIRTUAL_ENV")
"""What would make a clone use this checkout's code."""
_STEPS = (
    ("python and venv", re.compile(r"creating \.venv")),
    ("torch", re.compile(r"installing torch")),
    ("other packages", re.compile(r"installing the other")),
    ("installed", re.compile(r"semcache\S*\s+installed")),
)
_ENCODERS = ("all-MiniLM-L6-v2", "multilingual-e5-small")
_ENGINE = "SmolLM2-135M-Instruct"
Phases = dict[str, float]
"""Seconds since the start at which each thing was done."""


def first_answer(port: int, model: str) -> str:
    """Ask one question and wait for the whole answer; gives the outcome."""
    body = {"model": model, "max_tokens": 16, "messages": [{"role": "user", "content": _QUESTION}]}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        answer = json.load(reply)
        assert answer["choices"][0]["message"]["content"], "an empty answer"
        return str(reply.headers["semcache-outcome"])


class Watch(threading.Thread):
    """Notes when files appear below a data directory; `seen` has seconds since `began`."""

    def __init__(self, data: Path, wanted: Mapping[str, Sequence[str]], began: float) -> None:
        super().__init__(daemon=True)
        self._data = data
        self._wanted = dict(wanted)
        self._began = began
        self._over = threading.Event()
        self.seen: Phases = {}

    def run(self) -> None:
        while self._wanted and not self._over.wait(0.02):
            for name, paths in list(self._wanted.items()):
                if all((self._data / path).exists() for path in paths):
                    self.seen[name] = time.perf_counter() - self._began
                    del self._wanted[name]

    def stop(self) -> None:
        self._over.set()
        self.join()


@contextmanager
def started(
    folder: Path, arguments: Sequence[str], environment: Mapping[str, str], command: Sequence[str] | None
) -> Iterator[Semcache]:
    """Run a proxy over a data directory that does not exist yet, without any model linked there."""
    proxy = Semcache(folder / "data", arguments, environment)
    if command is not None:
        proxy.command = command
    try:
        proxy.start(_PATIENCE)
        yield proxy
    finally:
        proxy.stop()


def once(
    arguments: Sequence[str], model: str, environment: Mapping[str, str], command: Sequence[str] | None = None
) -> Phases:
    """Start in an empty folder, ask, stop; gives when each phase was done."""
    with tempfile.TemporaryDirectory(prefix="bench-start-") as name:
        models = [
            f"models/{each}/semcache-model.json" for each in (*_ENCODERS, *([] if arguments else [_ENGINE]))
        ]
        wanted = {"models there": models, "store starts": ["valkey/s"]}
        watch = Watch(Path(name) / "data", wanted, time.perf_counter())
        watch.start()
        with started(Path(name), arguments, environment, command) as proxy:
            watch.stop()
            phases = {**watch.seen, **_told(proxy)}
            phases = dict(sorted(phases.items(), key=lambda item: item[1]))
            outcome = first_answer(proxy.port, model)
            phases["first answer"] = time.perf_counter() - proxy.began
            assert outcome == "miss", outcome
            proxy.wait_ready()
            phases["everything ready"] = time.perf_counter() - proxy.began
            return phases


def _told(proxy: Semcache) -> Phases:
    """Read the phases off what the proxy said."""
    phases: Phases = {}
    for name, pattern in _STEPS:
        at = next((seconds for seconds, line in proxy.marks if pattern.search(line)), None)
        if at is not None:
            phases[f"begins: {name}" if name != "installed" else name] = at
    engine = [seconds for seconds, line in proxy.marks if "loading the local model" in line]
    if engine:
        phases["engine begins to load"] = engine[0]
    phases["takes requests"] = next(seconds for seconds, line in proxy.marks if "ready on" in line)
    return phases


def clone(into: Path) -> Path:
    """Clone the checkout (its last commit) into an empty folder."""
    target = into / "checkout"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(target)], check=True)
    return target


def from_nothing(pip_cache: bool) -> Phases:
    """The whole way: clone, ./scripts/serve, first answer of the local engine."""
    with tempfile.TemporaryDirectory(prefix="bench-nothing-") as name:
        checkout = clone(Path(name))
        environment = {"SEMCACHE_MODEL_CACHE": str(Path(name) / "cache")}
        if not pip_cache:
            environment["PIP_NO_CACHE_DIR"] = "1"
        kept = {variable: os.environ.pop(variable) for variable in _FORGOTTEN if variable in os.environ}
        try:
            return once((), "local", environment, [str(checkout / "scripts" / "serve")])
        finally:
            os.environ.update(kept)


def table(found: dict[str, list[Phases]]) -> Table:
    """Seconds at which each phase was done, medians over the runs."""
    latest: dict[str, float] = {}
    for run in itertools.chain(*found.values()):
        latest |= {name: max(latest.get(name, 0.0), at) for name, at in run.items()}
    names = sorted(latest, key=lambda name: latest[name])
    shown = Table("seconds since the start", *names, "runs")
    for case, runs in found.items():
        cells = [middle([run[name] for run in runs if name in run]) for name in names]
        shown.add_row(case, *("-" if math.isnan(cell) else f"{cell:.1f}" for cell in cells), str(len(runs)))
    return shown


def main() -> None:
    """Measure what was asked for and print."""
    parser = argparse.ArgumentParser(description="From an empty folder to the first answer.")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cold", action="store_true", help="also with an empty cache of converted models")
    parser.add_argument("--from-nothing", action="store_true", help="also a clone with nothing installed")
    parser.add_argument("--no-pip-cache", action="store_true", help="for --from-nothing")
    parser.add_argument("--quick", action="store_true", help="one start, with an upstream only")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    found: dict[str, list[Phases]] = {}
    with upstream(None) as (port, _), screen.status("starting"):
        url = ("--upstream", f"http://127.0.0.1:{port}/v1")
        runs = 1 if chosen.quick else chosen.runs
        found["upstream, models cached"] = [once(url, "m", {}) for _ in range(runs)]
        if not chosen.quick:
            found["local engine, models cached"] = [once((), "local", {}) for _ in range(runs)]
        if chosen.cold:
            found["local engine, no model cached"] = [_cold()]
        if chosen.from_nothing:
            found["clone, nothing installed"] = [from_nothing(not chosen.no_pip_cache)]
    screen.print(table(found))
    save(chosen.json, {"circumstances": facts, "seconds": found})


def _cold() -> Phases:
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as cache:
        return once((), "local", {"SEMCACHE_MODEL_CACHE": cache})


if __name__ == "__main__":
    main()
