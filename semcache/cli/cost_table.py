"""The tables of `semcache report cost`: what was used, and what it cost. Knows no store."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from semcache.cost.report import Book, By, Group, digits_of, grouped, money_text, total

_WIDEST = 1000
_TOTAL = "total"


def print_costs(console: Console, book: Book, by: Sequence[By], head: str) -> None:
    """Print the sum in words, then both tables, the total last."""
    whole = total(book)
    groups = grouped(book, by) if by else ()
    console.print(sum_in_words(whole, head), markup=False, soft_wrap=True)
    for title, table in (("Use", use_table(groups, whole, by)), ("Money", money_table(groups, whole, by))):
        console.print(f"\n[bold]{title}[/bold]")
        _print(console, table)
    if whole.sums.unpriced:
        console.print(
            f"\n{whole.sums.unpriced:,} without a known price are in no sum of money: docs/prices.md says how to state them",
            markup=False,
            soft_wrap=True,
        )


def sum_in_words(whole: Group, head: str) -> str:
    """Say what was paid, what it would have cost, and what reuse saved."""
    if whole.has_no_price:
        return f"{head}: {whole.sums.requests:,} requests, none of which has a price"
    share = "" if whole.saved_share is None else f" ({whole.saved_share:.1%})"
    lost = "saved" if (whole.saved or 0) >= 0 else "lost"
    return (
        f"{head}: paid {money_text(whole.paid)}, without caches it would have been {money_text(whole.without_caches)}; "
        f"{lost} {money_text(abs(whole.saved or 0))}{share}, net of what stood beside {money_text(whole.net)}"
    )


def use_table(groups: Sequence[Group], whole: Group, by: Sequence[By]) -> Table:
    """Lay out requests and tokens."""
    table = _table(by, ("requests", "hits", "input", "cached", "output", "saved tokens", "no price"))
    for group in (*groups, whole):
        told = group.sums
        table.add_row(
            *_names(group, by),
            f"{told.requests:,}",
            _share(group.hit_ratio),
            f"{told.input:,}",
            _share(group.cached_share),
            f"{told.output:,}",
            f"{told.saved_input + told.saved_output:,}",
            f"{told.unpriced:,}" if told.unpriced else "",
            style=_style(group),
        )
    return table


def money_table(groups: Sequence[Group], whole: Group, by: Sequence[By]) -> Table:
    """Lay out what was paid, the three savings apart, and what stood beside."""
    columns = (
        "paid",
        "response cache",
        "provider cache",
        "local prefix",
        "without caches",
        "beside",
        "net",
        "charged",
    )
    table = _table(by, columns)
    rows = [_amounts(group) for group in (*groups, whole)]
    digits = [digits_of(column) for column in zip(*rows, strict=True)]
    for group, amounts in zip((*groups, whole), rows, strict=True):
        cells = [money_text(micro, digits=most) for micro, most in zip(amounts, digits, strict=True)]
        table.add_row(*_names(group, by), *cells, style=_style(group))
    return table


def _amounts(group: Group) -> tuple[int | None, ...]:
    return (
        group.paid,
        group.by_response,
        group.by_provider,
        group.by_local,
        group.without_caches,
        group.beside,
        group.net,
        None if group.has_no_price and not group.sums.charged else group.sums.charged,
    )


def _table(by: Sequence[By], columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for one in by or (None,):
        table.add_column("" if one is None else one.value.replace("_", " "), overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _names(group: Group, by: Sequence[By]) -> list[str]:
    if not group.names:
        return [_TOTAL, *[""] * (len(by) - 1)]
    return [escape(_plain(name)) or "(none)" for name in group.names]


def _style(group: Group) -> str:
    return "" if group.names else "bold"


def _plain(name: str) -> str:
    """Leave no control in a name that somebody else chose: a terminal would carry it out."""
    return "".join(char if char.isprintable() else "\ufffd" for char in name)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _print(console: Console, table: Table) -> None:
    """Print a table as wide as it needs to be: a number that was cut would be another number."""
    needed = console.measure(table, options=console.options.update_width(_WIDEST)).maximum
    console.width = max(console.width, needed)
    console.print(table)
