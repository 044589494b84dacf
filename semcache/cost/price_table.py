"""The price table that comes with genai-prices, as tariffs; nothing is fetched. The only door to that library here.

Importing it takes a fifth of a second, so it is imported by the first who asks. Knows nothing of overrides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version
from typing import TYPE_CHECKING

from semcache.cost.tariff import Rate, Tariff, rate_of

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices

_PER_CALL = 1000
"""Calls are priced by the thousand there."""


_OPENAIS = ("text-embedding-", "chatgpt-", "ft:gpt-")
"""Beginnings of names that are OpenAI's alone, which the table knows as its models but not as its names."""


@dataclass(frozen=True, slots=True)
class Dated:
    """The tariffs of a model: the last whose time has come holds, else the first."""

    first: Tariff
    later: tuple[tuple[Callable[[datetime], bool], Tariff], ...] = ()

    def at(self, moment: datetime) -> Tariff:
        """Give the tariff of a moment."""
        for is_active, tariff in reversed(self.later):
            if is_active(moment):
                return tariff
        return self.first


def table_version() -> str:
    """Name the edition of the table, without loading it."""
    return f"genai-prices {version('genai-prices')}"


def snapshot() -> DataSnapshot:
    """Load the table: a fifth of a second the first time."""
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - see above

    return get_snapshot()


def find(model: str, url: str = "") -> Dated | None:
    """Give the tariffs of a model at the API with this base URL; None: not in the table.

    An API that the table does not know is taken to charge what the model's own maker does.
    """
    table = snapshot()
    providers = table.providers
    served = next((one for one in providers if url and re.match(one.api_pattern, url)), None)
    if served is not None:
        found = served.find_model(model, all_providers=providers)
    else:
        found = _by_name(model, providers)
    return None if found is None else _dated(found)


def _by_name(model: str, providers: list[Provider]) -> ModelInfo | None:
    # Not through the library's own search: it remembers every name it did not find, and names come from strangers.
    for provider in providers:
        if provider.model_match is not None and provider.model_match.is_match(model):
            return provider.find_model(model, all_providers=providers)
    if model.lower().startswith(_OPENAIS):
        model = f"openai/{model}"
    maker, slash, rest = model.lower().partition("/")
    named = next((one for one in providers if slash and one.id == maker), None)
    return None if named is None else named.find_model(rest, all_providers=providers)


def _dated(model: ModelInfo) -> Dated | None:
    prices = model.prices
    if not isinstance(prices, list):
        tariff = _tariff(prices, model.id)
        return None if tariff is None else Dated(tariff)
    tariffs = [(one.constraint, _tariff(one.prices, model.id)) for one in prices]
    known = [(when, tariff) for when, tariff in tariffs if tariff is not None]
    if not known:
        return None
    return Dated(
        known[0][1], tuple((_always if when is None else when.active, tariff) for when, tariff in known)
    )


def _always(_: datetime) -> bool:
    return True


def _tariff(price: ModelPrice, model: str) -> Tariff | None:
    """Read one price; None when it says nothing of input tokens."""
    rates = {name: _rate(value) for name, value in price.__dict__.items() if value is not None}
    paid = rates.get("input_mtok")
    if paid is None:
        return None
    written = rates.get("cache_write_mtok", paid)
    call = rates.get("requests_kcount")
    return Tariff(
        input=paid,
        cached=rates.get("cache_read_mtok", paid),
        written=written,
        written_long=rates.get("cache_write_1h_mtok") or long_write(model, paid, written),
        output=rates.get("output_mtok"),
        reasoning=rates.get("output_reasoning_mtok"),
        call=0 if call is None else call.base // _PER_CALL,
    )


def long_write(model: str, paid: Rate, written: Rate) -> Rate:
    """Give the rate of what is written for an hour where no list has it: Anthropic asks twice the input's, others no more.

    Source: Anthropic's pricing page, "1-hour cache write tokens are 2 times the base input tokens price".
    """
    return paid.times(2) if "claude" in model.lower() else written


def _rate(value: Decimal | TieredPrices) -> Rate:
    if isinstance(value, Decimal):
        return Rate(rate_of(value))
    return Rate(rate_of(value.base), tuple((tier.start, rate_of(tier.price)) for tier in value.tiers))
