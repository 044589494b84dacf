"""Writes saved figures into docs/risk.md, each kind between its own marks; the text around them stays."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Figures = dict[str, Any]
_MAIN = (
    ("runs", "runs", "{:,.0f}"),
    ("runs_within_budget", "runs within budget", "{:.1%}"),
    ("bound_kept", "bound kept", "{:.1%}"),
    ("wrong_per_hit", "wrong per hit", "{:.2%}"),
    ("worst_window_p95", "worst window", "{:.2%}"),
    ("would_be_hits_until_open", "would-be hits until open", "{:,.0f}"),
    ("hit_rate", "served", "{:.1%}"),
    ("oracle_hit_rate", "oracle", "{:.1%}"),
    ("given_up", "given up", "{:.1%}"),
    ("given_up_second_half", "second half", "{:.1%}"),
    ("labels_per_would_be_hit", "labelled", "{:.1%}"),
    ("runs_ever_alarmed", "runs alarmed", "{:.1%}"),
)
_OTHERS = (
    ("runs_within_budget", "runs within budget", "{:.1%}"),
    ("wrong_per_hit", "wrong per hit", "{:.2%}"),
    ("hit_rate", "served", "{:.1%}"),
)
_CHANGE = (
    ("days_over", "days over budget", "{:.1f}"),
    ("hits_over", "hits", "{:,.0f}"),
    ("wrong_over", "wrong", "{:,.0f}"),
    ("audits_over", "audits", "{:,.0f}"),
    ("runs_within_budget", "runs within budget", "{:.1%}"),
)
_OURS = "this bound"


def publish(saved: Path, page: Path) -> None:
    """Write all tables."""
    figures = json.loads(saved.read_text())
    text = page.read_text()
    for name, table in _tables(figures).items():
        marked = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not marked.search(text):
            raise SystemExit(f"{page.name} has no marks for {name}")
        text = marked.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)
    page.write_text(text)


def _tables(figures: Figures) -> dict[str, str]:
    found, tests, facts = figures["worlds"], figures["tests"], figures["circumstances"]
    drifting = {world: rules for world, rules in found.items() if "days_over" in rules[_OURS]}
    where = (
        f"{facts['date'][:10]}, commit {facts['commit']}, {facts['cores']} cores of {facts['processor']}, Python "
        f"{facts['python']}; {figures['cpu_seconds']:,.0f} s of processor time."
    )
    return {
        "where": where,
        "worlds": _rows("world", ((world, rules[_OURS]) for world, rules in found.items()), _MAIN),
        "others": _beside(found),
        "change": _rows(
            "world, rule",
            ((f"{world}, {rule}", of) for world, rules in drifting.items() for rule, of in rules.items()),
            _CHANGE,
        ),
        **{name: _plain(rows) for name, rows in tests.items()},
    }


def _rows(head: str, rows: Iterable[tuple[str, Figures]], columns: Sequence[tuple[str, str, str]]) -> str:
    lines = [[name, *(_cell(of, key, form) for key, _, form in columns)] for name, of in rows]
    return _laid([head, *(title for _, title, _ in columns)], lines)


def _beside(found: Figures) -> str:
    """The rules of others beside ours: of each world within budget / wrong per hit / served."""
    rules = list(next(iter(found.values())))
    lines = [
        [world, *(" / ".join(_cell(of[rule], key, form) for key, _, form in _OTHERS) for rule in rules)]
        for world, of in found.items()
    ]
    return _laid(["world", *rules], lines)


def _plain(rows: dict[str, dict[str, float]]) -> str:
    names = list(next(iter(rows.values())))
    lines = [[name, *(f"{of[key]:,.4g}" for key in names)] for name, of in rows.items()]
    return _laid(["", *(name.replace("_", " ") for name in names)], lines)


def _cell(of: Figures, key: str, form: str) -> str:
    value = of.get(key)
    return "-" if value is None or math.isnan(value) else form.format(value)


def _laid(title: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [title, ["---"] * len(title), *rows])
