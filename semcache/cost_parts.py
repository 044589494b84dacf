"""What the parts that watch over money are built from. Builders only; `app` puts them in."""

from __future__ import annotations

from collections.abc import Callable

from semcache.core import Usage
from semcache.cost.prices import PriceBook
from semcache.settings import Settings


def price_book(settings: Settings) -> PriceBook:
    """Give the prices that hold here.

    Raises:
        PolicyError: the operator's price file is not what it should be.
    """
    urls = {name: upstream.base_url for name, upstream in settings.all_upstreams.items()}
    local = frozenset({settings.engine.name} if settings.runs_engine else ())
    return PriceBook(settings.prices, urls, local)


def pricing(book: PriceBook) -> Callable[[str, Usage, str], int | None]:
    """Give what prices the tokens of a model at an upstream, for reply headers."""

    def price(model: str, usage: Usage, backend: str) -> int | None:
        return book.cost(model, usage, backend=backend)

    return price
