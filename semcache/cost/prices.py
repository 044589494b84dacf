"""What calls cost: an operator's own prices first, then the table that comes with genai-prices. Nothing is fetched.

Money is micro-USD (integers). A model that neither knows has no price, which is not a price of 0. The local engine is in no
table: it costs what the operator says, or nobody knows what. Safe to use from several threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from semcache.core import Usage
from semcache.cost.price_file import NOTHING, Overrides, read_prices
from semcache.cost.price_table import Dated, find, snapshot, table_version
from semcache.cost.tariff import MILLION

_LONGEST = 200
"""Characters of a model's name; longer ones are nobody's."""
_MINUTE = 60
"""Prices change at whole minutes, if at all."""
_KNOWN = 4096
"""Models remembered: their names come from clients."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What a million tokens of input and of output cost, in micro-USD, before any step for long prompts."""

    input: int
    output: int


class PriceBook:
    """Gives the price of calls.

    Args:
        override: the operator's price file, or None.
        urls: base URL of each upstream by name; says whose price list holds.
        local: names of what runs here.

    Raises:
        PolicyError: the file cannot be read or is not what it should be; says where.
    """

    def __init__(
        self,
        override: Path | None = None,
        urls: Mapping[str, str] | None = None,
        local: frozenset[str] = frozenset(),
        now: Callable[[], float] = time.time,
    ) -> None:
        self._overrides: Overrides = NOTHING if override is None else read_prices(override)
        self._urls = dict(urls or {})
        self._local = local
        self._now = now
        self._dated = lru_cache(_KNOWN)(self._find)
        self._rates = lru_cache(_KNOWN)(self._rates_at)
        own = f"+{self._overrides.digest}" if self._overrides.digest else ""
        self.version = f"{table_version()}{own}"
        """The edition of the prices: the table's, and a digest of the operator's file."""

    def load(self) -> None:
        """Load the table, so that nobody waits for it later: a fifth of a second, not on the event loop."""
        snapshot()

    def cost(self, model: str, usage: Usage, *, backend: str = "", at: float | None = None) -> int | None:
        """Give what a call cost in micro-USD, to the nearest; None when its price is not known.

        Args:
            model: as the upstream named it, or as it was asked for.
            usage: tokens billed.
            backend: name of the upstream; "" for whoever makes the model.
            at: when, in Unix seconds; None for now.
        """
        dated = self._dated(model, backend)
        if dated is None:
            return None
        tariff = dated.at(self._moment(at)) if dated.later else dated.first
        return tariff.cost(usage)

    def rates(self, model: str, backend: str = "") -> Rates | None:
        """Give what tokens of a model cost now, for estimates; None: not known. A microsecond once it was asked for."""
        return self._rates(model, backend, int(self._now() // _MINUTE))

    def embedding(self, tokens: int) -> int | None:
        """Give what embedding tokens cost in micro-USD; None unless the operator said what a million cost."""
        rate = self._overrides.embedding
        return None if rate is None else (max(0, tokens) * rate + MILLION // 2) // MILLION

    def micro_usd(self, model: str, usage: Usage | None) -> int | None:
        """Give what a call costs now at the list price of whoever makes the model; None: not known."""
        return None if usage is None else self.cost(model, usage)

    def _find(self, model: str, backend: str) -> Dated | None:
        if not model or len(model) > _LONGEST:
            return None
        is_local = backend in self._local
        own = self._overrides.tariff(model, is_local=is_local)
        if own is not None:
            return Dated(own)
        return None if is_local else find(model, self._urls.get(backend, ""))

    def _rates_at(self, model: str, backend: str, minute: int) -> Rates | None:
        dated = self._dated(model, backend)
        if dated is None:
            return None
        tariff = dated.at(self._moment(minute * _MINUTE)) if dated.later else dated.first
        if tariff.input is None:
            return None
        return Rates(tariff.input.base, 0 if tariff.output is None else tariff.output.base)

    def _moment(self, at: float | None) -> datetime:
        try:
            return datetime.fromtimestamp(self._now() if at is None else at, UTC)
        except (ValueError, OverflowError, OSError):
            return datetime.fromtimestamp(self._now(), UTC)


_whole_book = lru_cache(1)(PriceBook)


def micro_usd(model: str, usage: Usage | None) -> int | None:
    """Give what a call costs by the table alone; None: not known. See `PriceBook.micro_usd`."""
    return _whole_book().micro_usd(model, usage)
