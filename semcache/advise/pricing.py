"""What a logged request used and cost: as the log says, else guessed, else by list prices. Unknown is None, never 0."""

from __future__ import annotations

from semcache.advise.asked import usage_of
from semcache.advise.rows import LogRow
from semcache.cost.prices import PriceBook
from semcache.records import Usage


class Pricing:
    """Prices rows.

    Args:
        book: list prices, and the operator's own.
    """

    def __init__(self, book: PriceBook) -> None:
        self._book = book

    @property
    def version(self) -> str:
        """The edition of the prices."""
        return self._book.version

    def usage(self, row: LogRow) -> Usage:
        """Give the tokens of a row; guessed from its texts where the log does not say."""
        return usage_of(row)

    def cost(self, row: LogRow, usage: Usage) -> int | None:
        """Give what a request cost, in micro-USD; None: not known."""
        # Gateways log 0 for models whose price they do not know.
        if row.cost or row.from_cache or row.failed:
            return row.cost
        if not row.model:
            return None
        return self._book.cost(row.model, usage, at=row.at)

    def from_log(self, row: LogRow) -> bool:
        """Tell whether the log itself says what a request cost."""
        return bool(row.cost or ((row.from_cache or row.failed) and row.cost is not None))
