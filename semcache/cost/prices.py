"""What a call costs, by the price table that comes with genai-prices; nothing is fetched.

Money is micro-USD (integers). A model that the table does not know has no price, which is not a price of 0.
"""

from __future__ import annotations

from functools import lru_cache

from semcache.core import Usage

_MILLION = 1_000_000


@lru_cache(maxsize=1024)
def _per_million(model: str) -> tuple[int, int] | None:
    """Give micro-USD of a million prompt and of a million completion tokens; None: not in the table."""
    # Importing the table takes a fifth of a second: only who asks for a price pays it.
    from genai_prices import Usage as Tokens  # noqa: PLC0415 - see above
    from genai_prices import calc_price  # noqa: PLC0415 - see above

    try:
        found = calc_price(Tokens(input_tokens=_MILLION, output_tokens=_MILLION), model_ref=model)
    except LookupError:
        return None
    return int(found.input_price * _MILLION), int(found.output_price * _MILLION)


def micro_usd(model: str, usage: Usage | None) -> int | None:
    """Give what these tokens cost, rounded up; None when the model's price or the tokens are not known.

    The list price without discounts for cached tokens: for a cap it is better to count too much.
    """
    if usage is None or not model or len(model) > 200:
        return None
    prices = _per_million(model)
    if prices is None:
        return None
    cost = usage.prompt_tokens * prices[0] + usage.completion_tokens * prices[1]
    return -(-cost // _MILLION)
