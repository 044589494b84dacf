"""What a draft cost and saved: tokens as the backend counted them, money, and time. Pure.

Knows no prices: money comes in. A count that a backend does not give is 0, money or time that nobody knows is None.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from semcache.core import Completion, Entry, Usage

_MOST = 2**53


def prediction_tokens(body: bytes) -> tuple[int, int]:
    """Read from an answer how many tokens of its prediction the backend took, and how many it did not.

    Source: `usage.completion_tokens_details` of the chat completion object.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return 0, 0
    usage = document.get("usage") if isinstance(document, dict) else None
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    if not isinstance(details, dict):
        return 0, 0
    return (
        _count(details.get("accepted_prediction_tokens")),
        _count(details.get("rejected_prediction_tokens")),
    )


def plain_usage(used: Usage, rejected: int) -> Usage:
    """Give what a predicted answer would have used without its prediction: rejected tokens are billed as written."""
    return Usage(used.prompt_tokens, max(0, used.completion_tokens - rejected), used.cached_tokens)


def difference(plain: int | None, spent: int | None) -> int | None:
    """Give what was saved; None where either is not known."""
    return None if plain is None or spent is None else plain - spent


def seconds_saved(entry: Entry, taken: float) -> float | None:
    """Give the time saved against making the answer drafted from; None where nobody measured that."""
    return entry.seconds - taken if entry.seconds > 0 else None


def with_usage(completion: Completion, used: Usage | None) -> Completion:
    """Give an answer with what it used, where its own stream did not say."""
    if completion.usage is not None or used is None:
        return completion
    return replace(completion, usage=used)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else 0
