"""The tokens of texts, guessed, and the prices of models, as weighing a draft needs them.

Knows no price list: a function gives money for tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson

from semcache.core import Draft, JsonObject, Usage
from semcache.decide.revision.worth import Prices
from semcache.tokens import tokens_of

Price = Callable[[str, Usage | None], int | None]
"""Gives the micro-USD of tokens of a model; None: not known."""
_SAMPLE, _TIMES = 10_000, 100
"""Tokens that are priced to learn what a million cost: a million at once would be in the dear step for long prompts."""


def prices_of(price: Price, model: str) -> Prices | None:
    """Give what a model's tokens cost; None: not known."""
    read, wrote = price(model, Usage(_SAMPLE, 0)), price(model, Usage(0, _SAMPLE))
    return None if read is None or wrote is None else Prices(read * _TIMES, wrote * _TIMES)


def original_tokens(draft: Draft, text: str) -> int:
    """Give the tokens of a draft's answer; guessed where it was itself revised, and its count is of the edit."""
    used = draft.entry.completion.usage
    counted = 0 if used is None or draft.entry.origin else used.completion_tokens
    return counted or tokens_of(text)


def tokens_before(messages: Sequence[JsonObject]) -> int:
    """Guess the tokens of what stands before a request's last message."""
    # Messages that were read from JSON are whole Unicode here: others go past the cache.
    return tokens_of(orjson.dumps(messages[:-1]).decode()) if len(messages) > 1 else 0
