"""What `semcache eval` shows: progress on stderr, tables of shares with their intervals on stdout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich import progress as bars
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand

from semcache.evaluate.runs import Watcher
from semcache.evaluate.tally import OURS, Record, wilson

_JSON = "--json"


class Progress(Watcher):
    """A bar a file on a terminal, a line a file elsewhere; always on stderr."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: bars.TaskID | None = None

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def loading(self) -> None:
        """Say what the wait is for."""
        self._say("loading the encoders, starting a store")

    def begins(self, file: str, total: int) -> None:
        """Begin a bar."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(escape(file), total=total)
        if not self._console.is_terminal:
            self._say(f"{file}: {total} rows")

    def advance(self) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.advance(self._task)

    def _say(self, text: str) -> None:
        self._console.print(f"[bold]semcache[/bold]  {escape(text)}", soft_wrap=True)


def json_with_value() -> type[TyperCommand]:
    """Give a command class for which `--json` alone means `--json -`."""

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, with_value(args))

    return Command


def with_value(arguments: Sequence[str]) -> list[str]:
    """Put `-` behind a `--json` that names no file; files of rows (.jsonl) are never meant to be written."""
    out: list[str] = []
    for number, argument in enumerate(arguments):
        out.append(argument)
        if argument != _JSON:
            continue
        follower = arguments[number + 1] if number + 1 < len(arguments) else ""
        is_option = follower.startswith("-") and follower != "-"
        if not follower or is_option or follower.endswith(".jsonl"):
            out.append("-")
    return out


def pair_table(records: Iterable[Record], *, categories: bool) -> list[Table]:
    """Lay pairs out: shares with intervals, then what the gate objected to."""
    shown = [record for record in _named(records) if categories or not record["category"]]
    shares = Table(box=None, pad_edge=False, header_style="bold")
    for name in (
        "file",
        "category",
        "judge",
        "good",
        "served",
        "traps",
        "served",
        "drafts",
        "p50 ms",
        "p99 ms",
    ):
        shares.add_column(name, justify="left" if name in ("file", "category", "judge") else "right")
    for record in shown:
        shares.add_row(
            escape(record["file"]),
            escape(record["category"] or "all"),
            record["judge"],
            str(record["n_same"]),
            _share(record["served_same"], record["n_same"]),
            str(record["n_trap"]),
            _share(record["served_trap"], record["n_trap"]),
            str(record["draft_same"] + record["draft_trap"]) if record["judge"] == OURS else "-",
            *_times(record),
        )
    return [shares, _reasons(record for record in shown if record["judge"] == OURS)]


def _reasons(records: Iterable[Record]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("file", "category", "pairs", "not served because", "vetoes"):
        table.add_column(name, overflow="fold")
    for record in records:
        for side, name in (("same", "good"), ("trap", "traps")):
            table.add_row(
                escape(record["file"]),
                escape(record["category"] or "all"),
                name,
                _counts(record[f"reasons_{side}"]),
                _counts(record[f"vetoes_{side}"]),
            )
    return table


def stream_table(records: Iterable[Record]) -> Table:
    """Lay streams out."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = (
        "file",
        "judge",
        "queries",
        "hits",
        "hit rate",
        "wrong",
        "wrong per hit",
        "per request",
        "p50 ms",
        "p99 ms",
    )
    for name in columns:
        table.add_column(name, justify="left" if name in ("file", "judge") else "right")
    for record in _named(records):
        table.add_row(
            escape(record["file"]),
            record["judge"],
            str(record["n"]),
            str(record["hits"]),
            _share(record["hits"], record["n"]),
            str(record["wrong"]),
            _share(record["wrong"], record["hits"]),
            _share(record["wrong"], record["n"], interval=False),
            *_times(record),
        )
    return table


def learn_table(records: Iterable[Record]) -> Table:
    """Lay out what evidence made of streams: a row an allowance and pass, standing of the domain with most labels."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = (
        "file",
        "evidence",
        "budget",
        "pass",
        "hits",
        "equal texts",
        "wrong",
        "wrong per hit by meaning",
    )
    for name in (*columns, "state", "cut", "labels", "wrong ones"):
        table.add_column(name, justify="left" if name in ("file", "evidence", "state") else "right")
    for record in _named(records):
        for way in record.get("learn", {}).get("ways", ()):
            for number, one in enumerate(way["passes"], 1):
                table.add_row(escape(record["file"]), *_learnt(way, number, one))
    return table


def _learnt(way: Record, number: int, one: Record) -> tuple[str, ...]:
    domains = one.get("domains", {}).values()
    most = max(domains, key=lambda domain: domain["would_be"], default=None)
    standing = ("-",) * 4
    if most is not None:
        cut = "-" if most["cut"] is None else f"{most['cut']:g}"
        standing = (most["state"], cut, str(most["labels"]), str(most["wrong_labels"]))
    return (
        way["way"],
        "-" if way["budget"] is None else f"{100 * way['budget']:g} %",
        str(number),
        _share(one["hits"], one["n"]),
        "-" if one["exact"] is None else str(one["exact"]),
        str(one["wrong"]),
        _share(one["wrong"], one["hits"] - (one["exact"] or 0)),
        *standing,
    )


def _named(records: Iterable[Record]) -> list[Record]:
    """Name files without their folders, where that is enough to tell them apart."""
    known = list(records)
    files = {record["file"] for record in known}
    if len({Path(file).name for file in files}) < len(files):
        return known
    return [{**record, "file": Path(record["file"]).name} for record in known]


def tell_bound(text: str) -> None:
    """Say on stderr which bound was not held."""
    typer.echo(f"not held: {text}", err=True)


def _share(part: int, whole: int, *, interval: bool = True) -> str:
    if not whole:
        return "-"
    low, high = wilson(part, whole)
    tail = f" ({100 * low:.1f}-{100 * high:.1f})" if interval else ""
    return f"{100 * part / whole:.1f} %{tail}"


def _times(record: Record) -> tuple[str, str]:
    times = record.get("decision_ms") or {}
    return _number(times.get("p50")), _number(times.get("p99"))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "-"
