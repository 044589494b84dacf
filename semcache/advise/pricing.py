"""What a logged request used and cost: as the log says, else guessed, else by list prices. Unknown is None, never 0."""

from __future__ import annotations

from collections.abc import Callable

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

    def listed(self, model: str, usage: Usage) -> int | None:
        """Give what tokens of a model cost by list, in micro-USD; None: not known."""
        return self._book.cost(model, usage) if model else None

    def lost(self, model: str) -> Callable[[int], int | None]:
        """Give what so many input tokens of a model cost more for not being read from its provider's prompt cache."""

        def price(tokens: int) -> int | None:
            full = self.listed(model, Usage(tokens, 0))
            read = self.listed(model, Usage(tokens, 0, cached_tokens=tokens))
            return None if full is None or read is None else max(0, full - read)

        return price

    def from_log(self, row: LogRow) -> bool:
        """Tell whether the log itself says what a request cost."""
        return bool(row.cost or ((row.from_cache or row.failed) and row.cost is not None))
