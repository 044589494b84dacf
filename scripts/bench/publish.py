"""Writes figures that the other scripts saved into docs/measurements.md, each between its own marks.

    .venv/bin/python scripts/bench/publish.py FILE.json ...

What kind of figures a file holds is told by what is in it. Text outside the marks stays as it is.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rig.report import console, middle, wilson
from rig.serving import ROOT

PAGE = ROOT / "docs" / "measurements.md"
Figures = dict[str, Any]


class Goal(NamedTuple):
    """What was aimed at: `floor` must hold, `reach` is the aim; `up` when more is better."""

    what: str
    others: str
    floor: float
    reach: float
    form: str
    case: str
    key: str
    up: bool = False

    def row(self, measured: float) -> list[str]:
        """Give the goal's row with what was measured and a verdict."""
        sign = 1 if self.up else -1
        if sign * measured >= sign * self.reach:
            verdict = "reached"
        else:
            verdict = "floor held" if sign * measured >= sign * self.floor else "**missed**"
        aim = f"{self.floor:{self.form}} → {self.reach:{self.form}}"
        return [self.what, self.others, aim, f"{measured:{self.form}}", verdict]


GOALS = (
    Goal("other path, added p50 ms", "0.6-2.3; 13.5", 0.8, 0.25, ".2f", "other path", "added_ms"),
    Goal("other path, requests/s", "231-1,764; 68", 1900, 6000, ",.0f", "other path", "rate", up=True),
    Goal("chat past the cache, added p50 ms", "", 0.8, 0.25, ".2f", "mode off", "added_ms"),
    Goal("chat past the cache, requests/s", "", 1900, 6000, ",.0f", "mode off", "rate", up=True),
    Goal("exact hit, p50 ms", "0.65; 9.8", 0.4, 0.15, ".2f", "exact hit", "p50_ms"),
    Goal("exact hit, requests/s", "1,328; 104", 5300, 12000, ",.0f", "exact hit", "rate", up=True),
    Goal(
        "exact hit streamed, whole, p50 ms", "1.5; 90-100", 0.5, 0.2, ".2f", "exact hit, streamed", "p50_ms"
    ),
    Goal("semantic hit, p50 ms", "8.1-10.7; 27", 6, 4, ".1f", "semantic hit", "p50_ms"),
    Goal("miss with cache on, added p50 ms", "14-36", 6, 4.5, ".1f", "miss", "added_ms"),
)
_MEMORY = (
    Goal("process, Latin encoder, MiB", "250-330", 250, 120, ".0f", "Latin encoder", "rss"),
    Goal("process, both encoders, MiB", "", 250, 120, ".0f", "both encoders", "rss"),
    Goal("an entry in a process that read it at its start, bytes", "2,000-8,000", 2500, 2500, ",.0f", "", ""),
    Goal("an entry in the process that stored it, bytes", "", 2500, 2500, ",.0f", "", ""),
)
_GOAL_TITLE = ("", "best complete proxy; LiteLLM", "goal: floor → reach", "measured", "")


def markdown(title: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay a table out."""
    lines = [title, ["---"] * len(title), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def circumstances(figures: Figures) -> str:
    """Say where and when, in one line."""
    facts = figures["circumstances"]
    return (
        f"{facts['date'][:10]}, commit {facts['commit']}, {facts['cores']} cores of {facts['processor']}, "
        f"Python {facts['python']}, load at the start {facts['load']}."
    )


def proxy(figures: Figures) -> str:
    """Times, rates and goals."""
    setting, cases = figures["setting"], figures["cases"]
    ways = "under real-time priority" if setting["realtime"] == "True" else "under ordinary priority"
    intro = (
        f"{circumstances(figures)} {setting['entries']} entries (stored in {figures['fill_seconds']:.0f} s), medians of "
        f"{setting['rounds']} rounds with windows of {setting['seconds']} s {ways}."
    )
    title = (
        "case", "p50 ms", "p99", "added p50", "first byte", "req/s at 32", "CPU µs a request", "at 1", "Valkey µs",
        "as meant",
    )  # fmt: skip
    rows = [
        [
            name, f"{case['p50_ms']:.3f}", f"{case['p99_ms']:.2f}", f"{case['added_ms']:.3f}",
            f"{case['first_byte_ms']:.3f}", f"{case['rate']:,.0f}", f"{case['cpu_us']:,.0f}",
            f"{case['cpu_us_one_connection']:,.0f}", f"{case['store_cpu_us']:,.0f}", f"{case['as_expected']:.1%}",
        ]
        for name, case in cases.items()
    ]  # fmt: skip
    goals = [goal.row(cases[goal.case][goal.key]) for goal in GOALS]
    return "\n\n".join((intro, markdown(_GOAL_TITLE, goals), markdown(title, rows)))


def startup(figures: Figures) -> str:
    """Seconds since the start, a phase a column."""
    runs = figures["seconds"]
    latest: dict[str, float] = {}
    for run in (run for each in runs.values() for run in each):
        latest |= {name: max(latest.get(name, 0.0), at) for name, at in run.items()}
    names = sorted(latest, key=lambda name: latest[name])
    rows = []
    for case, each in runs.items():
        cells = [[run[name] for run in each if name in run] for name in names]
        rows.append([case, *(f"{middle(cell):.1f}" if cell else "-" for cell in cells), str(len(each))])
    return "\n\n".join((circumstances(figures), markdown(("seconds until", *names, "runs"), rows)))


def memory(figures: Figures) -> str:
    """Memory by state, bytes an entry, goals."""
    states, each = figures["states"], figures["bytes"]
    rows = [
        [
            state["name"],
            *(f"{state['process'][key]:.0f}" for key in ("rss", "pss", "anonymous")),
            *(f"{value:.0f}" for value in (state["peak"], state["store"]["rss"], state["used"] / 2**20)),
        ]
        for state in states
    ]
    title = ("MiB", "RSS", "PSS", "anonymous", "peak RSS", "Valkey RSS", "Valkey used")
    costs = [[name, *(f"{value:,.0f}" for value in figures.values())] for name, figures in each.items()]
    latin, both, read, stored = _MEMORY
    goals = [
        latin.row(next(s["process"]["rss"] for s in states if "Latin" in s["name"])),
        both.row(next(s["process"]["rss"] for s in states if "both" in s["name"])),
        read.row(each["read at the start"]["process, RSS"]),
        stored.row(each["stored by this process"]["process, RSS"]),
    ]
    of_entries = markdown(("bytes an entry", *next(iter(each.values()))), costs)
    return "\n\n".join(
        (circumstances(figures), markdown(_GOAL_TITLE, goals), markdown(title, rows), of_entries)
    )


def wrong_hits(figures: Figures) -> str:
    """Shares served by file, judgement and threshold."""
    rows = []
    thresholds: dict[str, None] = {}
    for name, tallies in figures["files"].items():
        for tally in sorted((t for t in tallies if t["category"] == ""), key=lambda t: not t["same"]):
            for way in ("with gate", "threshold alone"):
                label = "good" if tally["same"] else "traps"
                row = [name.removesuffix(".jsonl"), f"{label} ({tally['pairs']})", way]
                for threshold in figures["thresholds"]:
                    thresholds[f"{threshold:.2f}"] = None
                    row.append(_share(tally["served"].get(f"{way} {threshold}", 0), tally["pairs"]))
                rows.append(row)
    table = markdown(("file", "pairs", "judged by", *thresholds), rows)
    return "\n\n".join((circumstances(figures), table))


def _share(served: int, pairs: int) -> str:
    low, high = wilson(served, pairs)
    return f"{100 * served / pairs:.1f} ({100 * low:.1f}-{100 * high:.1f})" if pairs else "-"


KINDS: dict[str, tuple[str, Callable[[Figures], str]]] = {
    "cases": ("proxy", proxy),
    "seconds": ("startup", startup),
    "states": ("memory", memory),
    "files": ("wrong_hits", wrong_hits),
}
"""By the key that only such figures have: name of the marks, and who lays them out."""


def placed(page: str, name: str, text: str) -> str:
    """Put a text between the marks of that name.

    Raises:
        ValueError: the page has no such marks.
    """
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marks.search(page):
        raise ValueError(f"the page has no marks for {name}")
    return marks.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page)


def main() -> None:
    """Place every file's figures."""
    parser = argparse.ArgumentParser(description="Write saved figures into the page of measurements.")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args()
    page = chosen.page.read_text(encoding="utf-8")
    for path in chosen.files:
        figures = json.loads(path.read_text(encoding="utf-8"))
        name, lay_out = next(kind for key, kind in KINDS.items() if key in figures)
        page = placed(page, name, lay_out(figures))
        console().print(f"{path.name}: {name}")
    chosen.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
