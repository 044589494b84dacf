"""Writes the table of docs/ledger.md from the columns: `python -m tests.cost.fields` prints it."""

from __future__ import annotations

import sys

from semcache.cost.row_fields import COLUMNS

HEAD = ("| column | | meaning |", "|---|---|---|")


def table() -> str:
    """Give the table, without an end of line."""
    return "\n".join([*HEAD, *(f"| `{one.name}` | {one.kind.value} | {one.text} |" for one in COLUMNS)])


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
