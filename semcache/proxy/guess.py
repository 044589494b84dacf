"""The tokens of a call whose upstream did not say, guessed from what was sent and what came. Pure.

An upstream counts at the end of an answer; a client that leaves before it would else never be counted at all.
"""

from __future__ import annotations

from typing import Any

import orjson

from semcache.asking.calls import text_of
from semcache.core import ChatRequest, Entry, JsonObject, Usage
from semcache.dialects.closing import EMBEDDING
from semcache.tokens import tokens_of

_A_SECOND = 50
"""Output tokens that a model may well have made in a second of which nothing was seen."""
_REVISED = "draft:"
_LIMITS = ("max_completion_tokens", "max_tokens")


def guessed(request: ChatRequest, *, events: int, body: int, seconds: float, said: str = "") -> Usage:
    """Guess what a call used.

    Args:
        request: what was sent; its whole body counts as input.
        events: of a stream, those that came: about one a token.
        body: bytes of a whole answer that came.
        seconds: waited for an answer of which nothing came.
        said: the text of an answer that came whole and could be read.
    """
    prompt = input_tokens(request.body)
    if request.exact_only == EMBEDDING:
        return Usage(prompt, 0)  # vectors are no tokens
    if said:
        return Usage(prompt, max(events, tokens_of(said)))
    if events or body:
        return Usage(prompt, max(events, body // 4))
    return Usage(prompt, min(int(seconds * _A_SECOND), output_limit(request.body) or 4096))


def avoided(entry: Entry, request: ChatRequest) -> Usage | None:
    """Give what the call would have used that a hit saved: what the stored answer once did; None where nobody knows.

    The count of an answer that was revised from another is of the edit, which the call would not have been: guessed then.
    """
    if not entry.origin.startswith(_REVISED):
        return entry.completion.usage
    return Usage(input_tokens(request.body), tokens_of(text_of(entry.completion)))


def input_tokens(body: JsonObject) -> int:
    """Guess the input tokens of a request: its messages, tools and whatever else it brings."""
    try:
        return tokens_of(orjson.dumps(body, default=str).decode())
    except (TypeError, ValueError):
        # Half a surrogate pair: no text, but it was sent.
        return tokens_of(repr(body))


def output_limit(body: JsonObject) -> int | None:
    """Give the most output tokens that a request allows, over all its choices; None where it does not say."""
    limit = next((found for name in _LIMITS if (found := _count(body.get(name)))), None)
    return None if limit is None else limit * (_count(body.get("n")) or 1)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 2**31 else None
