"""Rows as a rich table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table

from engine_rig.rows import Row


def table_of(rows: Sequence[Row], title: str) -> Table:
    """Lay the rows out; ratios of a goal say whether it is kept."""
    table = Table(
        "figure", "server", "median", "range", "unit", "goal (floor, reach)", "kept", "notes", title=title
    )
    last = ""
    for row in rows:
        if last and row.figure != last:
            table.add_section()
        table.add_row("" if row.figure == last else row.figure, *_cells(row))
        last = row.figure
    return table


def _cells(row: Row) -> list[str]:
    goal = [str(row.goal), row.goal.verdict(row.middle)] if row.goal is not None else ["", ""]
    low, high = _number(min(row.samples)), _number(max(row.samples))
    return [row.server, _number(row.middle), f"{low} - {high}", row.unit, *goal, "; ".join(row.notes)]


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def plain(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Give the rows as JSON takes them."""
    return [
        asdict(row)
        | {"median": row.middle, "kept": row.goal.verdict(row.middle) if row.goal is not None else None}
        for row in rows
    ]
